import type { Command } from "commander";
import { silentLogger } from "../../../base/logger.ts";
import { Bridge } from "../../../bridge/bridge.ts";
import { RECOVERY_TIMEOUT_MS } from "../../../client/link/recovery-budget.ts";
import { openStdioTransport } from "../../../transport/stdio.ts";
import { endWith } from "../outcome/end-with.ts";
import { asFailure, OWN_FAILURE_STATUS } from "../outcome/failure.ts";
import { targetTransports } from "../target/target-transports.ts";
import { type TargetOptions, withTarget } from "../target/target-options.ts";

const TIMEOUT_MS = 10_000;

const EXAMPLES = `
The program that starts it sees one server that never goes away: a lost connection is replaced, and running commands go
on. It ends with 255 and a line on stderr if the server cannot be reached again within 50 s.

An entry of Codex's environments.toml:
  [[environments]]
  id = "build"
  program = "exec-server"
  args = ["bridge", "--stdio", "--url", "ws://build.example:8765", "--token-file", "/home/me/build.token"]

Examples:
  exec-server bridge --stdio -H build
  exec-server bridge --stdio --url wss://build.example:8443 --token-file build.token
`;

/** Adds `bridge`. */
export function define(program: Command): void {
  const command = program
    .command("bridge")
    .summary("serve on stdin and stdout by means of a server elsewhere")
    .description("Serve on stdin and stdout by means of a server elsewhere, and reconnect to it when needed.")
    .usage("--stdio [OPTIONS]")
    .requiredOption("--stdio", "serve on stdin and stdout")
    .addHelpText("after", EXAMPLES);
  withTarget(command).action(async () => {
    await endWith(await bridge(command.optsWithGlobals<TargetOptions>()));
  });
}

/** Resolves with the exit status. */
async function bridge(options: TargetOptions): Promise<number> {
  const stopping = new AbortController();
  const stop = new Promise<void>((resolve) => {
    for (const signal of ["SIGTERM", "SIGINT", "SIGHUP"] as const)
      process.once(signal, () => {
        stopping.abort();
        resolve();
      });
  });
  try {
    const opened = await Bridge.open(
      openStdioTransport(),
      {
        ...(await targetTransports(options)),
        connectTimeoutMs: TIMEOUT_MS,
        initializeTimeoutMs: TIMEOUT_MS,
        recoveryTimeoutMs: RECOVERY_TIMEOUT_MS,
        logger: silentLogger,
      },
      stopping.signal,
    );
    void stop.then(() => opened.close());
    const error = await opened.ended;
    if (error !== undefined) throw error;
    return 0;
  } catch (error) {
    if (stopping.signal.aborted) return 0;
    throw asFailure(error, OWN_FAILURE_STATUS) ?? error;
  }
}

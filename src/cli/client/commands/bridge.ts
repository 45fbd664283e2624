import type { Command } from "commander";
import { silentLogger } from "../../../base/logger.ts";
import { Bridge } from "../../../bridge/bridge.ts";
import { RECOVERY_TIMEOUT_MS } from "../../../client/link/recovery-budget.ts";
import { openStdioTransport } from "../../../transport/stdio.ts";
import { setAction, withOwnStatus } from "../outcome/end-with.ts";
import { untilInterrupted } from "../outcome/until-interrupted.ts";
import { targetTransports } from "../target/target-transports.ts";
import { type TargetOptions, withTarget } from "../target/target-options.ts";

const TIMEOUT_MS = 10_000;

const EXAMPLES = `
The program that starts it sees one server that never goes away: a lost connection is replaced, and commands keep
running. It ends with 255 and a line on stderr if it cannot reach the server again within 50 s.

An entry of Codex's environments.toml:
  [[environments]]
  id = "build"
  program = "exec-server"
  args = ["bridge", "--stdio", "-H", "build"]

Examples:
  exec-server bridge --stdio -H build
  exec-server bridge --stdio --url wss://build.example:8443 --token-file build.token
`;

/** Adds `bridge`. */
export function define(program: Command): void {
  const command = program
    .command("bridge")
    .summary("connect a client on stdin and stdout to a server elsewhere")
    .description("Connect a client on stdin and stdout to a server elsewhere, and reconnect when needed.")
    .usage("--stdio [OPTIONS]")
    .requiredOption("--stdio", "serve on stdin and stdout")
    .addHelpText("after", EXAMPLES);
  setAction(withTarget(command), withOwnStatus(bridge));
}

/** Resolves with the exit status. A signal that ends it is not an error. */
function bridge(options: TargetOptions): Promise<number> {
  return untilInterrupted(async (signal) => {
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
        signal,
      );
      const close = (): void => void opened.close();
      if (signal.aborted) close();
      signal.addEventListener("abort", close);
      const error = await opened.ended;
      if (error !== undefined) throw error;
    } catch (error) {
      if (!signal.aborted) throw error;
    }
    return 0;
  });
}

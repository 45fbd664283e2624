import { setTimeout } from "node:timers/promises";
import type { Command } from "commander";
import { isRunning } from "../../../client/files/local/temporary-names.ts";
import type { Host } from "../../../client/host/host.ts";
import { Failure, usageFailure } from "../../shared/failure.ts";
import { print } from "../../shared/standard-streams.ts";
import { setAction } from "../outcome/end-with.ts";
import { findOwn } from "../target/own-server/connect-own.ts";
import { requireExtension } from "../target/connect-target.ts";
import { resolveTarget } from "../target/resolve-target.ts";
import { type TargetOptions, withTarget } from "../target/target-options.ts";

const EXAMPLES = `
The next command starts the server again. It also ends by itself when nothing has used it for ten minutes.

Status: 0, also if it was not running; 1 if something still runs there.

Examples:
  exec-server stop
  exec-server stop --force
`;
const DEADLINE_MS = 20_000;
const POLL_MS = 20;

/** Adds `stop`. */
export function define(program: Command): void {
  const command = program
    .command("stop")
    .summary("stop your own server on this machine")
    .description("Stop your own server on this machine. While processes run there, this needs --force.")
    .option("--force", "stop the server and everything that runs there")
    .addHelpText("after", EXAMPLES);
  setAction(withTarget(command), stop);
}

async function stop({ force, ...options }: TargetOptions & { readonly force?: boolean }): Promise<void> {
  const target = await resolveTarget(options);
  if (target.kind !== "own")
    throw usageFailure(
      "'stop' stops only your own server, but -H, --url or the environment names another one",
    );
  const host = await findOwn({ clientName: "exec-server-cli" });
  if (host === undefined) {
    await print("not running\n");
    return;
  }
  await using _host = host;
  requireExtension(host, target, "server/status");
  const { pid, runningProcesses } = await host.request("server/status", null);
  if (runningProcesses > 0 && force !== true) {
    const some = runningProcesses === 1 ? "a process still runs" : `${runningProcesses} processes still run`;
    throw new Failure(`${some}: see 'exec-server ps', or use --force to end everything`);
  }
  await end(pid, host);
  await print(`stopped (pid ${pid})\n`);
}

/** The number cannot be another program's: as long as the connection is there, so is its server. */
async function end(pid: number, host: Host): Promise<void> {
  if (host.state !== "connected") throw new Failure("the server is stopping by itself right now");
  process.kill(pid, "SIGTERM");
  const deadline = Date.now() + DEADLINE_MS;
  while (isRunning(pid)) {
    if (Date.now() > deadline) throw new Failure(`the server does not stop; run 'kill -9 ${pid}'`);
    await setTimeout(POLL_MS);
  }
}

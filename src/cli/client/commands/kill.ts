import type { ExitReport } from "../../../client/routes/process-events.ts";
import { type Command, Option } from "commander";
import { within } from "../../../base/deadlines.ts";
import type { Host } from "../../../client/host/host.ts";
import { knownExit } from "../../../client/process/known-exit.ts";
import type { SignalName } from "../../../protocol/process.ts";
import { endWith } from "../outcome/end-with.ts";
import { asFailure, Failure } from "../outcome/failure.ts";
import { attachByName, connectNamed } from "../kept/attach.ts";
import { parseSignal } from "../kept/parse-signal.ts";
import { parseDurationArgument } from "../arguments.ts";
import { complain } from "../print/complain.ts";
import { print } from "../print/output.ts";
import { type TargetOptions, withTarget } from "../target/target-options.ts";

interface KillOptions extends TargetOptions {
  readonly signal?: SignalName;
  readonly timeout: number;
}

const DEFAULT_TIMEOUT_MS = 2_000;
/** Time for the end to be known after everything was killed. */
const END_DEADLINE_MS = 10_000;

const EXAMPLES = `
Without --signal, a process is asked to end with SIGTERM and killed after --timeout, together with everything that it
has started. With --signal it is only sent that signal.

Status: 0, or 1 if a process is not known, or has ended and cannot get a signal.

Examples:
  exec-server kill web
  exec-server kill --timeout 30s database
  exec-server kill --signal HUP web
`;

/** Adds `kill`. */
export function define(program: Command): void {
  const command = program
    .command("kill")
    .summary("end kept processes, or send them a signal")
    .description("End kept processes, or send them a signal.")
    .usage("[OPTIONS] NAME...")
    .argument("<name...>", "kept processes; OWNER/NAME for someone else's")
    .option("-s, --signal <SIGNAL>", "send only this signal: HUP, INT, USR1, KILL…", parseSignal)
    .addOption(
      new Option("--timeout <DURATION>", "time to end before it is killed")
        .argParser(parseDurationArgument)
        .default(DEFAULT_TIMEOUT_MS, "2s"),
    )
    .addHelpText("after", EXAMPLES);
  withTarget(command).action(async (names: string[]) => {
    await endWith(await killAll(names, command.optsWithGlobals<KillOptions>()));
  });
}

/** All at once: each may take its time. A name that fails does not stop the others. */
async function killAll(names: readonly string[], options: KillOptions): Promise<number> {
  await using host = await connectNamed(names, options);
  const results = await Promise.allSettled(names.map((name) => killOne(host, name, options)));
  let status = 0;
  for (const result of results) {
    if (result.status === "fulfilled") {
      await print(`${result.value}\n`);
      continue;
    }
    const failure = asFailure(result.reason, 1);
    if (failure === undefined) throw result.reason;
    complain(failure.message);
    status = Math.max(status, failure.exitCode ?? 1);
  }
  return status;
}

/** Resolves with what was done. */
async function killOne(host: Host, name: string, { signal, timeout }: KillOptions): Promise<string> {
  const process = await attachByName(host, name, { mode: "control" });
  const earlier = await knownExit(process);
  if (earlier !== undefined) {
    const ended = endText(earlier);
    if (signal !== undefined) throw new Failure(`${name} has ended already (${ended}); nothing was sent`);
    if (process.isClosed) return `${name}: had ended already, ${ended}`;
    await process.terminate({ timeoutMs: timeout });
    await within(process.closed, timeout + END_DEADLINE_MS, () => stillHeld(name));
    return `${name}: had ended already, ${ended}; what it left on its output was ended`;
  }
  if (signal !== undefined) {
    await process.signal(signal);
    return `${name}: sent ${signal}`;
  }
  await process.terminate({ timeoutMs: timeout });
  return `${name}: ${endText(await process.wait({ timeoutMs: timeout + END_DEADLINE_MS }))}`;
}

function stillHeld(name: string): Failure {
  return new Failure(
    `${name} has ended, but something that it started keeps its output open, and was not ended`,
  );
}

/** How a process ended, in words. */
export function endText({ exitCode, signal, timedOut }: ExitReport): string {
  const how =
    typeof signal === "string"
      ? `ended by ${signal}`
      : exitCode === null
        ? "ended"
        : `exited with ${exitCode}`;
  return timedOut === true ? `${how} after its time was up` : how;
}

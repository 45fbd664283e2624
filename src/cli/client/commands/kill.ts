import type { ExitReport } from "../../../client/routes/process-events.ts";
import { type Command, Option } from "commander";
import { within } from "../../../base/deadlines.ts";
import type { Host } from "../../../client/host/host.ts";
import { knownExit } from "../../../client/process/known-exit.ts";
import type { SignalName } from "../../../protocol/process.ts";
import { setAction } from "../outcome/end-with.ts";
import { Failure } from "../../shared/failure.ts";
import { attachByName, connectNamed } from "../kept/attach.ts";
import { eachName } from "../kept/each-name.ts";
import { parseSignal } from "../kept/parse-signal.ts";
import { parseDurationArgument } from "../arguments.ts";
import { type TargetOptions, withTarget } from "../target/target-options.ts";

interface KillOptions extends TargetOptions {
  readonly signal?: SignalName;
  readonly timeout: number;
}

const DEFAULT_TIMEOUT_MS = 2_000;
/** Time for the end to be known after everything was killed. */
const END_DEADLINE_MS = 10_000;

const EXAMPLES = `
Without --signal, a process gets SIGTERM and is killed after --timeout, together with everything that it has
started. With --signal, it gets only that signal.

Status: 0, or 1 if a process does not exist, or has already ended and cannot get a signal.

Examples:
  exec-server kill web
  exec-server kill --timeout 30s database
  exec-server kill --signal HUP web
`;

/** Adds `kill`. */
export function define(program: Command): void {
  const command = program
    .command("kill")
    .summary("end kept processes, or signal them")
    .description("End kept processes, or send them a signal.")
    .usage("[OPTIONS] NAME...")
    .argument("<name...>", "kept processes; OWNER/NAME for someone else's")
    .option("-s, --signal <SIGNAL>", "send only this signal: HUP, INT, USR1, KILL…", parseSignal)
    .addOption(
      new Option("--timeout <DURATION>", "how long to wait before killing it")
        .argParser(parseDurationArgument)
        .default(DEFAULT_TIMEOUT_MS, "2s"),
    )
    .addHelpText("after", EXAMPLES);
  setAction(withTarget(command), killAll);
}

async function killAll(names: readonly string[], options: KillOptions): Promise<number> {
  await using host = await connectNamed(names, options);
  return await eachName(names, (name) => killOne(host, name, options));
}

/** Resolves with a description of what was done. */
async function killOne(host: Host, name: string, { signal, timeout }: KillOptions): Promise<string> {
  const process = await attachByName(host, name, { mode: "control" });
  const earlier = await knownExit(process);
  if (earlier !== undefined) {
    const ended = endText(earlier);
    if (signal !== undefined) throw new Failure(`${name} has already ended (${ended}); nothing was sent`);
    if (process.isClosed) return `${name}: had already ended, ${ended}`;
    await process.terminate({ timeoutMs: timeout });
    await within(process.closed, timeout + END_DEADLINE_MS, () => stillHeld(name));
    return `${name}: had already ended, ${ended}; the programs that still held its output were ended`;
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
    `${name} has ended, but a program that it started still holds its output open and was not ended`,
  );
}

/** Describes how a process ended. */
export function endText({ exitCode, signal, timedOut }: ExitReport): string {
  const how =
    typeof signal === "string"
      ? `ended by ${signal}`
      : exitCode === null
        ? "ended"
        : `exited with ${exitCode}`;
  return timedOut === true ? `${how} after its timeout` : how;
}

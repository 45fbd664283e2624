import type { Command } from "commander";
import { within } from "../../../base/deadlines.ts";
import { setAction, withOwnStatus } from "../outcome/end-with.ts";
import { Failure } from "../../shared/failure.ts";
import { attachByName, connectNamed } from "../kept/attach.ts";
import { parseDurationArgument } from "../arguments.ts";
import { formatDuration } from "../../../base/amounts.ts";
import { printJson } from "../../shared/standard-streams.ts";
import { statusOf, TIMED_OUT_STATUS } from "../outcome/exit-status.ts";
import { type TargetOptions, withTarget } from "../target/target-options.ts";

interface WaitOptions extends TargetOptions {
  readonly timeout?: number;
  readonly json?: boolean;
}

const EXAMPLES = `
Status: that of the process, or of the last one if there are several; 128+n if signal n ended it; 124 after
--timeout; 255 if exec-server failed, or there is no such process.

Examples:
  exec-server wait build && echo built
  exec-server wait --timeout 5m web worker
  exec-server wait --json build
`;

/** Adds `wait`. */
export function define(program: Command): void {
  const command = program
    .command("wait")
    .summary("wait until kept processes end, and pass on their status")
    .description("Wait until kept processes have ended. The status of the last one becomes this command's.")
    .usage("[OPTIONS] NAME...")
    .argument("<name...>", "kept processes; OWNER/NAME for someone else's")
    .option("--timeout <DURATION>", "wait no longer than this: 10s, 5m", parseDurationArgument)
    .option("--json", "print how each process ended as one JSON document")
    .addHelpText("after", EXAMPLES);
  setAction(withTarget(command), withOwnStatus(wait));
}

async function wait(names: readonly string[], { timeout, ...options }: WaitOptions): Promise<number> {
  await using host = await connectNamed(names, options);
  // All names are checked before the first wait.
  const processes = await Promise.all(names.map((name) => attachByName(host, name, {})));
  const ended = Promise.all(processes.map(async ({ name, exited }) => ({ name, ...(await exited) })));
  const reports = await within(ended, timeout ?? Infinity, () => late(names, timeout!));
  if (options.json === true) await printJson(reports);
  return statusOf(reports.at(-1)!);
}

function late(names: readonly string[], timeoutMs: number): Failure {
  const time = timeoutMs < 1000 ? `${timeoutMs}ms` : formatDuration(timeoutMs);
  return new Failure(`${names.join(", ")}: still running after ${time}`, TIMED_OUT_STATUS);
}

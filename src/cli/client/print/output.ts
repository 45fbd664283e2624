import { writeOut } from "../../shared/standard-streams.ts";
import { describeFileError } from "../../shared/describe-file-error.ts";
import { Failure, silentFailure } from "../outcome/failure.ts";
import { type Colors, colorsFor, hasColors } from "./colors.ts";
import { printableJson } from "./printable.ts";

/** What a shell reports for a program that SIGPIPE has ended. */
const BROKEN_PIPE_STATUS = 141;
/** Narrower terminals get lines that wrap. */
const MIN_WIDTH = 20;
const DEFAULT_WIDTH = 80;

/** Columns of the terminal on stdout; undefined if stdout is not a terminal. */
export function terminalWidth(): number | undefined {
  const { isTTY, columns } = process.stdout;
  // A terminal that does not know its size is still one.
  return isTTY ? Math.max(columns > 0 ? columns : DEFAULT_WIDTH, MIN_WIDTH) : undefined;
}

/** Colours for stdout. */
export function stdoutColors(): Colors {
  return colorsFor(hasColors(process.stdout));
}

/** Writes text or bytes to stdout. Resolves when the system has taken them. */
export async function print(data: string | Uint8Array): Promise<void> {
  try {
    await writeOut(data);
  } catch (error) {
    throw writeFailure(error, "stdout");
  }
}

/** Writes a value as one JSON document. */
export function printJson(value: unknown): Promise<void> {
  return print(`${printableJson(value, 2)}\n`);
}

/** A reader that has left, such as `head`, is not an error. */
export function writeFailure(error: unknown, stream: string): Failure {
  if ((error as NodeJS.ErrnoException).code === "EPIPE") return silentFailure(BROKEN_PIPE_STATUS);
  return new Failure(`cannot write to ${stream}: ${describeFileError(error)}`);
}

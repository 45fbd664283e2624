import { visibleJson, visibleLines } from "../../base/visible-text.ts";
import { describeFileError, Failure } from "./failure.ts";

/** Status that a shell reports for a program ended by SIGPIPE. */
export const BROKEN_PIPE_STATUS = 141;

/** Writes to stdout. Resolves when the system has taken everything, and rejects with its error. */
export function writeOut(data: string | Uint8Array): Promise<void> {
  return new Promise((resolve, reject) => {
    const stdout = withoutCrash(process.stdout);
    stdout.write(data, (error) => (error ? reject(error) : resolve()));
  });
}

/** The same for a command's own output: an error becomes one line about it. */
export async function print(data: string | Uint8Array): Promise<void> {
  try {
    await writeOut(data);
  } catch (error) {
    throw writeFailure(error, "stdout");
  }
}

/** Prints a value as one JSON document. */
export function printJson(value: unknown): Promise<void> {
  return print(`${visibleJson(JSON.stringify(value, undefined, 2))}\n`);
}

/** A reader that has left, such as `head`, is not an error. */
export function writeFailure(error: unknown, stream: string): Failure {
  if ((error as NodeJS.ErrnoException).code === "EPIPE") return new Failure("", BROKEN_PIPE_STATUS);
  return new Failure(`cannot write to ${stream}: ${describeFileError(error)}`);
}

/** Writes lines to stderr, which may contain others' names and texts verbatim. Does not wait for a reader. */
export function writeErr(text: string): void {
  drawErr(visibleLines(text));
}

/** Writes colours and movements to a terminal on stderr. Whatever comes from others must be `printable`. */
export function drawErr(text: string): void {
  withoutCrash(process.stderr).write(text);
}

/** An unhandled stream error would end the program; each write reports its own. */
function withoutCrash(stream: NodeJS.WriteStream): NodeJS.WriteStream {
  if (stream.listenerCount("error") === 0) stream.on("error", () => {});
  return stream;
}

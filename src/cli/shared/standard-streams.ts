import { visibleLines } from "../../base/visible-text.ts";

/** Writes to stdout. Resolves when the system has taken everything, and rejects with its error. */
export function writeOut(data: string | Uint8Array): Promise<void> {
  return new Promise((resolve, reject) => {
    const stdout = withoutCrash(process.stdout);
    stdout.write(data, (error) => (error ? reject(error) : resolve()));
  });
}

/** Writes lines to stderr, in which names and texts of others may stand as they are. Nobody has to read them. */
export function writeErr(text: string): void {
  drawErr(visibleLines(text));
}

/** Writes colours and movements to a terminal on stderr. Whatever comes from others must be `printable`. */
export function drawErr(text: string): void {
  withoutCrash(process.stderr).write(text);
}

/** An error of a stream that nobody listens to would end the program; each write reports its own. */
function withoutCrash(stream: NodeJS.WriteStream): NodeJS.WriteStream {
  if (stream.listenerCount("error") === 0) stream.on("error", () => {});
  return stream;
}

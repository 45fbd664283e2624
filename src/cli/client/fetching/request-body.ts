import { createReadStream } from "node:fs";
import { MAX_BYTES_IN_MESSAGE } from "../../../client/calls/wire-bytes.ts";
import { describeFileError, Failure } from "../../shared/failure.ts";
import { formatSize } from "../../../base/amounts.ts";

/** The body that `--data` gives: a text, `@FILE`, or `@-` for stdin. */
export async function readBody(data: string): Promise<string | Uint8Array<ArrayBuffer>> {
  if (!data.startsWith("@")) return data;
  const path = data.slice(1);
  const name = path === "-" ? "stdin" : path;
  const pieces: Uint8Array[] = [];
  let length = 0;
  try {
    // Stdin may be a socket, which has no path.
    for await (const piece of path === "-" ? process.stdin : createReadStream(path)) {
      pieces.push(piece as Uint8Array);
      length += (piece as Uint8Array).length;
      // A body is sent in one message.
      if (length > MAX_BYTES_IN_MESSAGE) throw tooLarge(name);
    }
  } catch (error) {
    throw error instanceof Failure ? error : new Failure(`cannot read ${name}: ${describeFileError(error)}`);
  }
  return new Uint8Array(Buffer.concat(pieces));
}

function tooLarge(name: string): Failure {
  return new Failure(
    `${name} is too large for the body of a request; the limit is ${formatSize(MAX_BYTES_IN_MESSAGE)}`,
  );
}

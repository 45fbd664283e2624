import { ExecError } from "../../base/errors.ts";
import type { Collected } from "./collect.ts";
import { type InputSource, isInputSource } from "./input-source.ts";
import { abortable } from "../../base/deadlines.ts";

/** The input side of a process. */
export interface Fed {
  write(data: string | Uint8Array, options?: { signal?: AbortSignal }): Promise<void>;
  writeFrom(source: InputSource, options?: { end?: boolean; signal?: AbortSignal }): Promise<void>;
  closeStdin(options?: { signal?: AbortSignal }): Promise<void>;
}

/**
 * Writes all input to a process, and closes it if `close` is set, while its output is collected. A process may end, or
 * close its stdin, without reading everything; that is not an error.
 */
export function feed(
  process: Fed,
  input: string | Uint8Array | InputSource,
  { close, signal }: { close: boolean; signal: AbortSignal | undefined },
  collected: Promise<Collected>,
): Promise<Collected> {
  const options = signal === undefined ? {} : { signal };
  const fed = (async () => {
    if (isInputSource(input)) await process.writeFrom(input, { ...options, end: false });
    else await process.write(input, options);
    if (close) await process.closeStdin(options);
  })();
  const given = new Promise<never>((_, reject) => {
    fed.catch((error: unknown) => {
      // The end of the session and an abort also end the collection, each in its own way.
      if (!signal?.aborted && !(error instanceof ExecError && HARMLESS.includes(error.code))) reject(error);
    });
  });
  return abortable(Promise.race([collected, given]), signal);
}

const HARMLESS = ["STDIN_CLOSED", "NOT_FOUND", "RPC_ERROR", "CONNECTION_CLOSED", "SESSION_LOST"];

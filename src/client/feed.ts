import { ConnectionError } from "../base/errors.ts";
import type { RemoteProcess } from "./process.ts";

/**
 * Gives a process all of its input, and the end of it where `close` says so. A process may end, or close its stdin, without reading everything: that
 * is its business.
 */
export async function feed(
  process: RemoteProcess,
  input: string | Uint8Array,
  { close, signal }: { close: boolean; signal?: AbortSignal | undefined },
): Promise<void> {
  try {
    await process.write(input, signal === undefined ? {} : { signal });
    if (close) await process.closeStdin();
  } catch (error) {
    if (error instanceof ConnectionError || signal?.aborted) throw error;
  }
}

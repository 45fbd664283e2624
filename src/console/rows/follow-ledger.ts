import type { Host } from "../../client/browser.ts";
import { type JobProgress, LedgerReader } from "./ledger-reader.ts";

const EVERY_MS = 1000;

export interface FollowOptions {
  readonly signal: AbortSignal;
  readonly onProgress: (progress: JobProgress) => void;
  /** The file is there, and nothing is in it yet. */
  readonly onEmpty: () => void;
}

/** Reads what is there, and then what is added, until it is aborted. Throws if the file cannot be read. */
export async function followLedger(
  host: Host,
  path: string,
  { signal, onProgress, onEmpty }: FollowOptions,
): Promise<void> {
  const reader = new LedgerReader();
  for (let offset = 0; !signal.aborted; await pause(signal)) {
    const { size, kind } = await host.files.stat(path, { signal });
    // Devices and pipes have no size, so there would never be anything to read.
    if (kind !== "file") throw new Error(`the ledger of a job is a regular file, and ${path} is not`);
    if (size < offset) throw new Error("the ledger was replaced by a shorter file");
    if (size === 0) onEmpty();
    if (size === offset) continue;
    for await (const bytes of host.files.readStream(path, { offset, signal })) {
      reader.push(bytes);
      offset += bytes.length;
      if (reader.progress !== undefined) onProgress(reader.progress);
      await nextTask();
    }
  }
}

/** Lets the page draw and answer between pieces of a long file. */
function nextTask(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve));
}

function pause(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(end, EVERY_MS);
    function end(): void {
      clearTimeout(timer);
      signal.removeEventListener("abort", end);
      resolve();
    }
    signal.addEventListener("abort", end);
  });
}

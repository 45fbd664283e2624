import { FileError } from "./file-error.ts";
import type { FileStat } from "./file-stat.ts";
import type { FileStreams } from "./file-streams.ts";
import { isCut, MAX_RESTARTS } from "./restarts.ts";
import type { RequestOptions } from "../calls/caller.ts";

/** Reads a file to its end over as many connections as needed. */
export async function* readResumed(
  streams: FileStreams,
  path: string,
  describe: () => Promise<FileStat>,
  { offset, ...request }: RequestOptions & { readonly offset: number },
): AsyncGenerator<Uint8Array, void, undefined> {
  const before = await describe();
  let position = offset;
  for (let restarts = 0; ; restarts += 1) {
    try {
      if (restarts > 0) checkSame(path, before, await describe());
      for await (const block of streams.read(path, { ...request, offset: position })) {
        yield block;
        position += block.length;
        restarts = 0;
      }
      break;
    } catch (error) {
      if (!isCut(error) || restarts >= MAX_RESTARTS) throw error;
    }
  }
  if (position < before.size) throw changed(path);
}

function checkSame(path: string, before: FileStat, now: FileStat): void {
  const isSame = now.size === before.size && now.modified.getTime() === before.modified.getTime();
  if (!isSame) throw changed(path);
}

function changed(path: string): FileError {
  return new FileError("OS_ERROR", `read ${path}: it was changed while it was read`, { path });
}

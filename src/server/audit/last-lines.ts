import { open } from "node:fs/promises";

const MAX_BYTES = 512 * 1024;

/** The last complete lines of a file, oldest first; fewer than requested if they are long. */
export async function readLastLines(path: string, count: number): Promise<string[]> {
  await using file = await open(path);
  const { size } = await file.stat();
  const start = Math.max(0, size - MAX_BYTES);
  const { buffer, bytesRead } = await file.read(Buffer.alloc(size - start), 0, size - start, start);
  const text = buffer.subarray(0, bytesRead);
  // The first line may have begun earlier, and the last one may still be written.
  const first = start === 0 ? 0 : text.indexOf("\n") + 1;
  const lines = text.toString("utf8", first, text.lastIndexOf("\n") + 1).split("\n");
  lines.pop();
  return count === 0 ? [] : lines.slice(-count);
}

import { createHash } from "node:crypto";
import type { Stats } from "node:fs";
import type { TreeEntry } from "../trees.ts";
import { openToRead } from "./in-place.ts";
import type { HashRange } from "./sides.ts";

const PIECE_BYTES = 256 * 1024;

/** SHA-256 of a regular file, or of a part of it, in hexadecimal. Follows links only on request. */
export async function hashFile(
  path: string,
  range: HashRange | undefined,
  { follow }: { follow: boolean },
): Promise<string> {
  await using file = await openToRead(path, { follow });
  const hash = createHash("sha256");
  const { offset, length } = range ?? { offset: 0, length: Number.MAX_SAFE_INTEGER };
  const piece = Buffer.allocUnsafe(Math.min(PIECE_BYTES, range?.length ?? (await file.stat()).size + 1));
  for (let hashed = 0; hashed < length; ) {
    const wanted = Math.min(piece.length, length - hashed);
    const { bytesRead } = await file.read(piece, 0, wanted, offset + hashed);
    if (bytesRead === 0) break;
    hash.update(piece.subarray(0, bytesRead));
    hashed += bytesRead;
  }
  return hash.digest("hex");
}

/** Kind of a file, or of a link if the link itself was looked at. */
export function kindOf(stats: Stats): TreeEntry["kind"] {
  if (stats.isSymbolicLink()) return "link";
  if (stats.isDirectory()) return "directory";
  return stats.isFile() ? "file" : "other";
}

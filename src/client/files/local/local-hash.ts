import { createHash } from "node:crypto";
import type { FileHandle } from "node:fs/promises";
import type { HashRange } from "./sides.ts";

const PIECE_BYTES = 256 * 1024;

/** SHA-256 of an open file, or of a part of it, in hexadecimal. */
export async function hashOpened(file: FileHandle, range: HashRange | undefined): Promise<string> {
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

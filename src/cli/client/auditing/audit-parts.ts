import { type FileHandle, open } from "node:fs/promises";
import { rotatedNumbers } from "../../../server/audit/rotated-files.ts";
import type { AuditPart } from "../../../server/audit/verify.ts";

const PIECE_BYTES = 1024 * 1024;

/**
 * The files of an audit log, oldest first. The last one is opened before the others are counted again, because its
 * server may rename it meanwhile. Rejects with an error of the system.
 */
export async function* auditParts(path: string): AsyncGenerator<AuditPart> {
  const { last, numbers } = await openLast(path);
  try {
    for (const number of numbers) {
      const name = `${path}.${number}`;
      const file = await open(name, "r");
      try {
        yield { name, content: piecesOf(file) };
      } finally {
        await file.close();
      }
    }
    yield { name: path, content: piecesOf(last) };
  } finally {
    await last.close();
  }
}

async function openLast(path: string): Promise<{ last: FileHandle; numbers: readonly number[] }> {
  for (;;) {
    const numbers = rotatedNumbers(path);
    const last = await open(path, "r");
    if (rotatedNumbers(path).length === numbers.length) return { last, numbers };
    await last.close();
  }
}

async function* piecesOf(file: FileHandle): AsyncGenerator<Buffer> {
  for (;;) {
    const { bytesRead, buffer } = await file.read({ buffer: Buffer.alloc(PIECE_BYTES) });
    if (bytesRead === 0) return;
    yield buffer.subarray(0, bytesRead);
  }
}

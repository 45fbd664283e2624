import { type FileHandle, open } from "node:fs/promises";
import { setTimeout as delay } from "node:timers/promises";
import { rotatedNumbers } from "../../../server/audit/rotated-files.ts";

const POLL_MS = 300;
const PIECE_BYTES = 256 * 1024;
const NEWLINE = 10;

/** Every line that was there at the beginning has been read. */
export const CAUGHT_UP = Symbol("caught up");

/**
 * The lines of an audit log, without their line breaks, those of its full files first. With `follow` it does not end, and
 * goes on through files that its server renames. A line that is not complete is left out until it is.
 */
export async function* auditLines(
  path: string,
  { follow = false }: { readonly follow?: boolean } = {},
): AsyncGenerator<string | typeof CAUGHT_UP> {
  let reader = new LineReader();
  /** The file that was read last, and how far. */
  let read = { inode: 0n, bytes: 0 };
  for (let isFirst = true; ; isFirst = false) {
    for await (const { file, inode } of filesSince(path, isFirst ? undefined : read.inode)) {
      if (inode !== read.inode) {
        read = { inode, bytes: 0 };
        reader = new LineReader();
      }
      for await (const piece of piecesFrom(file, read.bytes)) {
        read = { inode, bytes: read.bytes + piece.length };
        yield* reader.add(piece);
      }
    }
    if (isFirst) yield CAUGHT_UP;
    if (!follow) return;
    await delay(POLL_MS);
  }
}

interface OpenFile {
  readonly file: FileHandle;
  readonly inode: bigint;
}

/** The files of a log, oldest first, from the one with this inode on: all without one, only the last if it is gone. */
async function* filesSince(path: string, inode: bigint | undefined): AsyncGenerator<OpenFile> {
  const files: OpenFile[] = [];
  try {
    // The newest first: its server renames files to higher numbers meanwhile.
    for (const name of namesOf(path)) {
      const file = await open(name, "r");
      const opened = { file, inode: (await file.stat({ bigint: true })).ino };
      files.unshift(opened);
      if (opened.inode === inode) break;
    }
    const isGone = inode !== undefined && files[0]?.inode !== inode;
    yield* isGone ? files.slice(-1) : files;
  } finally {
    for (const { file } of files) await file.close();
  }
}

function namesOf(path: string): string[] {
  const full = rotatedNumbers(path).map((number) => `${path}.${number}`);
  return [path, ...full.reverse()];
}

async function* piecesFrom(file: FileHandle, start: number): AsyncGenerator<Buffer> {
  for (let at = start; ; ) {
    const { bytesRead, buffer } = await file.read(Buffer.alloc(PIECE_BYTES), 0, PIECE_BYTES, at);
    if (bytesRead === 0) return;
    at += bytesRead;
    yield buffer.subarray(0, bytesRead);
  }
}

/** Cuts bytes into lines. */
class LineReader {
  #parts: Buffer[] = [];

  *add(bytes: Buffer): Generator<string> {
    let start = 0;
    for (let end = bytes.indexOf(NEWLINE); end >= 0; end = bytes.indexOf(NEWLINE, start)) {
      this.#parts.push(bytes.subarray(start, end));
      yield Buffer.concat(this.#parts).toString("utf8");
      this.#parts = [];
      start = end + 1;
    }
    if (start < bytes.length) this.#parts.push(bytes.subarray(start));
  }
}

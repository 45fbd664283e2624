import { ftruncateSync } from "node:fs";
import { check, libc } from "./libc.ts";
import { osError } from "./os-error.ts";

const MFD_CLOEXEC = 1;
const LINE_BYTES = 32;
/** A multiple of every page size. */
const BLOCK_BYTES = 64 * 1024;
const LINES_PER_BLOCK = BLOCK_BYTES / LINE_BYTES;
const VALUE_AT = 2;
const SPACE = 32;
const NEWLINE = 10;
const NOTHING = 45;

/** Lines of equal length in memory that another program can read as a file: writing one takes no system call. */
export class WardenTable {
  readonly fd: number;
  readonly #blocks: Buffer[] = [];
  readonly #free: number[] = [];
  #lines = 0;

  constructor() {
    this.fd = check(libc().memfdCreate("exec-server-groups", MFD_CLOEXEC));
  }

  /** Reserves an empty line. */
  take(): number {
    const line = this.#free.pop();
    if (line !== undefined) return line;
    const added = this.#add(1);
    const block = this.#blockOf(added);
    const start = offsetInBlock(added);
    block[start] = NOTHING;
    block[start + 1] = SPACE;
    block.fill(SPACE, start + VALUE_AT, start + LINE_BYTES - 1);
    block[start + LINE_BYTES - 1] = NEWLINE;
    return added;
  }

  giveBack(line: number): void {
    this.clear(line);
    this.#free.push(line);
  }

  /**
   * The kind is written last and cleared first: a server that is killed in between leaves an empty line, never a wrong
   * number.
   */
  write(line: number, kind: string, value: string): void {
    this.clear(line);
    const block = this.#blockOf(line);
    const start = offsetInBlock(line);
    const end = start + LINE_BYTES - 1;
    const written = block.write(value, start + VALUE_AT, end - start - VALUE_AT, "latin1");
    block.fill(SPACE, start + VALUE_AT + written, end);
    block[start] = kind.charCodeAt(0);
  }

  clear(line: number): void {
    this.#blockOf(line)[offsetInBlock(line)] = NOTHING;
  }

  /** Adds a permanent line of any length. */
  append(text: string): void {
    const line = Buffer.from(`${text}\n`);
    const lines = Math.ceil(line.length / LINE_BYTES);
    const padded = Buffer.alloc(lines * LINE_BYTES, " ");
    line.copy(padded, padded.length - line.length);
    libc().pwrite(this.fd, padded, padded.length, this.#add(lines) * LINE_BYTES);
  }

  #add(lines: number): number {
    const first = this.#lines;
    ftruncateSync(this.fd, (first + lines) * LINE_BYTES);
    this.#lines += lines;
    return first;
  }

  #blockOf(line: number): Buffer {
    const index = Math.floor(line / LINES_PER_BLOCK);
    return (this.#blocks[index] ??= this.#map(index));
  }

  #map(index: number): Buffer {
    const block = libc().mapShared(this.fd, BLOCK_BYTES, index * BLOCK_BYTES);
    if (block === undefined) throw osError(libc().errno());
    return Buffer.from(block.buffer, block.byteOffset, block.byteLength);
  }
}

function offsetInBlock(line: number): number {
  return (line % LINES_PER_BLOCK) * LINE_BYTES;
}

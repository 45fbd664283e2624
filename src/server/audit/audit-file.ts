import {
  constants,
  closeSync,
  fdatasync,
  fstatSync,
  ftruncateSync,
  lstatSync,
  openSync,
  readSync,
  renameSync,
  write,
} from "node:fs";
import { resolve } from "node:path";
import { promisify } from "node:util";
import { CapabilityError } from "../../base/errors.ts";
import { tryToLock, tryToLockOpen } from "../../native/file-lock.ts";
import { describeErrno } from "../../native/os-error.ts";
import { rotatedNumbers } from "./rotated-files.ts";
import { type AuditHead, MAX_LINE_BYTES, NO_LINES, readLine } from "./chain.ts";

const writeBytes = promisify(write);
const syncData = promisify(fdatasync);

const LINE_FEED = 0x0a;
const MODE = 0o600;
const WRITABLE_BY_ANYONE = 0o002;
/** A FIFO must not block the server before it is refused. */
const FLAGS = constants.O_RDWR | constants.O_APPEND | constants.O_NOFOLLOW | constants.O_NONBLOCK;

/** The end of the last file. */
export interface Continuation {
  readonly head: AuditHead;
  /** A last line that was not written to its end, because the machine or the server crashed. */
  readonly torn?: { readonly bytes: number; readonly text: string };
}

const MAX_TORN_CHARACTERS = 2_048;
/** Room for the last line, and for one that was not written to its end. */
const TAIL_BYTES = 2 * MAX_LINE_BYTES;

/**
 * The file of an audit log. A full one becomes `FILE.1`, the next one `FILE.2` and so on. Only one program can write
 * it.
 */
export class AuditFile {
  readonly path: string;
  readonly #unlock: () => void;
  #fd: number;
  /** Identity of the open file, which does not change while it is open. */
  #identity: { readonly dev: number; readonly ino: number };
  /** Bytes of whole lines. */
  #size: number;
  #nextNumber: number;
  #isDirty = false;
  #isRenamed = false;

  private constructor(path: string, unlock: () => void, fd: number, nextNumber: number) {
    this.path = path;
    this.#unlock = unlock;
    this.#fd = fd;
    this.#identity = fstatSync(fd);
    this.#size = 0;
    this.#nextNumber = nextNumber;
  }

  /** Throws a CapabilityError for a file that cannot be used, is in use, or ends with a line that does not fit. */
  static open(file: string): { readonly file: AuditFile; readonly end: Continuation } {
    const path = resolve(file);
    const unlock = lock(path);
    try {
      const numbers = rotatedNumbers(path);
      const fd = openRegular(path, constants.O_CREAT);
      const opened = new AuditFile(path, unlock, fd, (numbers.at(-1) ?? 0) + 1);
      try {
        lockOpen(path, fd);
        return { file: opened, end: opened.#recover(numbers) };
      } catch (error) {
        closeSync(fd);
        throw error;
      }
    } catch (error) {
      unlock();
      throw fileError(path, error);
    }
  }

  get size(): number {
    return this.#size;
  }

  /** Appends whole lines. If that fails, nothing of them stays in the file. */
  async append(bytes: Buffer): Promise<void> {
    this.#isDirty = true;
    try {
      for (let done = 0; done < bytes.length; ) {
        const { bytesWritten } = await writeBytes(this.#fd, bytes, done);
        done += bytesWritten;
      }
    } catch (error) {
      if (fstatSync(this.#fd).size > this.#size) ftruncateSync(this.#fd, this.#size);
      throw fileError(this.path, error);
    }
    this.#size += bytes.length;
  }

  /** Resolves when the data is on the disk. */
  async sync(): Promise<void> {
    if (!this.#isDirty) return;
    this.#isDirty = false;
    try {
      await syncData(this.#fd);
    } catch (error) {
      this.#isDirty = true;
      throw fileError(this.path, error);
    }
  }

  /**
   * State of the file: other programs can move it away or delete it, truncate or write it. A renamed one has no
   * successor yet. Throws if something else is in its place.
   */
  state(): "intact" | "renamed" | "gone" | "changed" {
    const current = lstatSync(this.path, { throwIfNoEntry: false });
    if (current === undefined) return this.#isRenamed ? "renamed" : "gone";
    const { dev, ino } = this.#identity;
    if (current.dev === dev && current.ino === ino) return current.size === this.#size ? "intact" : "changed";
    throw new CapabilityError(
      "OS_ERROR",
      `another file has replaced the audit log ${this.path}: move it away`,
    );
  }

  /** Continues in a new file. The current one is renamed if it is still in its place. */
  async renew(): Promise<void> {
    await this.sync();
    try {
      if (["intact", "changed"].includes(this.state())) this.#rename();
      const fd = openRegular(this.path, constants.O_CREAT | constants.O_EXCL);
      closeSync(this.#fd);
      this.#fd = fd;
      this.#identity = fstatSync(fd);
      this.#size = 0;
      this.#isRenamed = false;
      lockOpen(this.path, fd);
    } catch (error) {
      throw fileError(this.path, error);
    }
  }

  #rename(): void {
    let name: string;
    do {
      name = `${this.path}.${this.#nextNumber}`;
      this.#nextNumber += 1;
    } while (lstatSync(name, { throwIfNoEntry: false }) !== undefined);
    renameSync(this.path, name);
    this.#isRenamed = true;
  }

  close(): void {
    closeSync(this.#fd);
    this.#unlock();
  }

  /** Finds the last line, and removes an incomplete one. */
  #recover(numbers: readonly number[]): Continuation {
    const { size } = fstatSync(this.#fd);
    const tail = readTail(this.#fd, size);
    const end = tail.lastIndexOf(LINE_FEED) + 1;
    if (end === 0 && tail.length === TAIL_BYTES)
      throw new CapabilityError("OS_ERROR", `${this.path} is not an audit log: move it away`);
    const rest = tail.subarray(end);
    this.#size = size - rest.length;
    if (rest.length > 0) ftruncateSync(this.#fd, this.#size);
    const head = end === 0 ? this.#headBefore(numbers) : lastHead(this.path, tail.subarray(0, end));
    if (rest.length === 0) return { head };
    return { head, torn: { bytes: rest.length, text: rest.toString("utf8").slice(0, MAX_TORN_CHARACTERS) } };
  }

  /** An empty file continues after the last line of its predecessor. */
  #headBefore(numbers: readonly number[]): AuditHead {
    const last = numbers.at(-1);
    if (last === undefined) return NO_LINES;
    const path = `${this.path}.${last}`;
    const fd = openRegular(path);
    try {
      const tail = readTail(fd, fstatSync(fd).size);
      return lastHead(path, tail.subarray(0, tail.lastIndexOf(LINE_FEED) + 1));
    } finally {
      closeSync(fd);
    }
  }
}

function lockPath(path: string): string {
  return `${path}.lock`;
}

function lock(path: string): () => void {
  let unlock: (() => void) | undefined;
  try {
    unlock = tryToLock(lockPath(path));
  } catch (error) {
    throw fileError(lockPath(path), error);
  }
  if (unlock === undefined) throw inUse(path);
  return unlock;
}

/** The lock file may be deleted, and a file may have two names: the file itself is locked, too. */
function lockOpen(path: string, fd: number): void {
  if (!tryToLockOpen(fd)) throw inUse(path);
}

function inUse(path: string): CapabilityError {
  return new CapabilityError(
    "OS_ERROR",
    `another server is writing the audit log ${path}: give each server its own file`,
  );
}

function openRegular(path: string, flags = 0): number {
  const fd = openSync(path, FLAGS | flags, MODE);
  const stat = fstatSync(fd);
  if (stat.isFile() && (stat.mode & WRITABLE_BY_ANYONE) === 0) return fd;
  closeSync(fd);
  const why = stat.isFile() ? `safe: anyone can write to it; run: chmod o-w ${path}` : "a regular file";
  throw new CapabilityError("OS_ERROR", `the audit log ${path} is not ${why}`);
}

function readTail(fd: number, size: number): Buffer {
  const tail = Buffer.alloc(Math.min(size, TAIL_BYTES));
  readSync(fd, tail, 0, tail.length, size - tail.length);
  return tail;
}

/** `lines` ends with a line feed. */
function lastHead(path: string, lines: Buffer): AuditHead {
  const start = lines.lastIndexOf(LINE_FEED, lines.length - 2) + 1;
  const line = readLine(lines.subarray(start, -1));
  if (line?.fits === true) return { line: line.n, hash: line.hash };
  throw new CapabilityError(
    "OS_ERROR",
    `the last line of the audit log ${path} is damaged: check the log with \`exec-server audit verify\`, and move it away to start a new one`,
  );
}

function fileError(path: string, error: unknown): unknown {
  const { code, errno } = error as NodeJS.ErrnoException;
  if (error instanceof CapabilityError || code === undefined || typeof errno !== "number") return error;
  const why =
    code === "ELOOP" ? "it is a symbolic link, which is not followed" : describeErrno(code, Math.abs(errno));
  return new CapabilityError("OS_ERROR", `cannot write the audit log ${path}: ${why}`, {
    errno: code,
    cause: error,
  });
}

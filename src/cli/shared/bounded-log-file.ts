import { closeSync, constants, fstatSync, openSync, renameSync, rmdirSync, writeSync } from "node:fs";

/** Together with the file before it, a log takes twice as much. */
export const MAX_LOG_BYTES = 1024 * 1024;
/** A single line must not fill the file. */
const MAX_LINE_BYTES = 64 * 1024;

const MODE = 0o600;
const FLAGS = constants.O_WRONLY | constants.O_APPEND | constants.O_CREAT | constants.O_NOFOLLOW;

/**
 * Opens a log that only its owner can read, at its end. A file that is full becomes `PATH.old` first, and an empty
 * directory, such as a sandbox of a killed server leaves behind, is removed. Throws an error of the system, also for a
 * symbolic link.
 */
export function openLog(path: string): number {
  const fd = openFile(path);
  if (fstatSync(fd).size < MAX_LOG_BYTES) return fd;
  closeSync(fd);
  renameSync(path, `${path}.old`);
  return openFile(path);
}

function openFile(path: string): number {
  try {
    return openSync(path, FLAGS, MODE);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EISDIR") throw error;
    rmdirSync(path);
    return openSync(path, FLAGS, MODE);
  }
}

/** A log of limited size. A line that cannot be written is lost: no log is worth the server's end. */
export class BoundedLogFile {
  readonly #path: string;
  readonly #failed: (error: unknown) => void;
  #fd: number | undefined;
  #bytes = 0;
  #isFailing = false;

  /** Throws an error of the system if it cannot be opened. `failed` is called for the first line of many that are lost. */
  constructor(path: string, failed: (error: unknown) => void) {
    this.#path = path;
    this.#failed = failed;
    // Before the first line: only an existing file can be hidden from sandboxes.
    this.#fd = this.#open();
  }

  write(line: string): void {
    try {
      this.#fd ??= this.#open();
      const bytes = Buffer.from(line);
      const written = bytes.length <= MAX_LINE_BYTES ? bytes : cutLine(bytes);
      this.#bytes += writeSync(this.#fd, written);
      this.#isFailing = false;
      if (this.#bytes >= MAX_LOG_BYTES) this.#close();
    } catch (error) {
      this.#close();
      if (!this.#isFailing) this.#failed(error);
      this.#isFailing = true;
    }
  }

  #open(): number {
    const fd = openLog(this.#path);
    this.#bytes = fstatSync(fd).size;
    return fd;
  }

  #close(): void {
    const fd = this.#fd;
    this.#fd = undefined;
    if (fd === undefined) return;
    try {
      closeSync(fd);
    } catch {} // The system has closed it all the same.
  }
}

/** The rest is still on its own line. */
function cutLine(bytes: Buffer): Buffer {
  return Buffer.concat([bytes.subarray(0, MAX_LINE_BYTES - 1), Buffer.from("\n")]);
}

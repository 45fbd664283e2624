import {
  closeSync,
  constants,
  existsSync,
  fstatSync,
  ftruncateSync,
  mkdirSync,
  openSync,
  readdirSync,
  readSync,
  statfsSync,
  type Stats,
  unlinkSync,
  writeSync,
} from "node:fs";
import { CapabilityError } from "../../../../base/errors.ts";

const { O_APPEND, O_CREAT, O_DIRECTORY, O_EXCL, O_NOFOLLOW, O_NONBLOCK, O_RDONLY, O_WRONLY } = constants;
const OTHERS = 0o077;
/** Free space that is left to others, such as an audit log on the same disk: so much, or this part of a small disk. */
const RESERVED_BYTES = 64 * 1024 * 1024;
const RESERVED_SHARE = 0.05;

/**
 * The directory of the spool's files: of this user alone, and opened once. Links are never followed, and only ordinary
 * files are read. Everything happens synchronously, in a thread of its own.
 */
export class SpoolDirectory {
  readonly #fd: number;
  readonly #prefix: string;

  /** Throws a CapabilityError for one that others can enter, or the system's error. */
  static find(path: string): SpoolDirectory {
    return new SpoolDirectory(path);
  }

  /** The same, and creates it if there is none. */
  static create(path: string): SpoolDirectory {
    mkdirSync(path, { mode: 0o700, recursive: true });
    return new SpoolDirectory(path);
  }

  private constructor(path: string) {
    this.#fd = openSync(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
    const { uid, mode } = fstatSync(this.#fd);
    if (uid !== process.geteuid?.() || (mode & OTHERS) !== 0) {
      closeSync(this.#fd);
      throw new CapabilityError(
        "INVALID_INPUT",
        `${path} must belong to this user alone, with the mode 0700`,
      );
    }
    // Another directory that takes its path is not used.
    const opened = `/proc/self/fd/${this.#fd}`;
    this.#prefix = existsSync(opened) ? opened : path;
  }

  /** Throws unless so many bytes would leave enough of the disk for others. */
  checkRoom(bytes: number): void {
    const { bavail, blocks, bsize } = statfsSync(this.#prefix);
    if (bavail * bsize - bytes < Math.min(RESERVED_BYTES, blocks * bsize * RESERVED_SHARE))
      throw new Error("the disk is nearly full");
  }

  names(): string[] {
    return readdirSync(this.#prefix);
  }

  /** Size and last change; undefined for what is not an ordinary file. */
  stat(name: string): { readonly size: number; readonly changedMs: number } | undefined {
    return this.#open(name, (_fd, { size, mtimeMs }) => ({ size, changedMs: mtimeMs }));
  }

  /** Appends to a file that is as long as expected; false if it is not, or is gone. Then nothing was written. */
  append(name: string, bytes: Uint8Array, expectedBytes: number): boolean {
    let fd: number;
    try {
      fd = openSync(this.#path(name), O_WRONLY | O_APPEND | O_NOFOLLOW | O_NONBLOCK);
    } catch (error) {
      const { code = "" } = error as NodeJS.ErrnoException;
      if (["ENOENT", "ELOOP", "ENXIO", "EISDIR"].includes(code)) return false;
      throw error;
    }
    try {
      const stats = fstatSync(fd);
      if (!stats.isFile() || stats.size !== expectedBytes) return false;
      writeAll(fd, bytes, expectedBytes);
      return true;
    } finally {
      closeSync(fd);
    }
  }

  /** Creates a file in place of whatever has its name. */
  create(name: string, bytes: Uint8Array): void {
    this.remove(name);
    const fd = openSync(this.#path(name), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0o600);
    try {
      writeAll(fd, bytes, 0);
    } catch (error) {
      this.remove(name);
      throw error;
    } finally {
      closeSync(fd);
    }
  }

  /** Calls back with what reads the file; undefined if there is none. */
  read<T>(name: string, use: (read: (into: Buffer, position: number) => number) => T): T | undefined {
    return this.#open(name, (fd) =>
      use((into, position) => {
        let length = 0;
        while (length < into.length) {
          const more = readSync(fd, into, length, into.length - length, position + length);
          if (more === 0) break;
          length += more;
        }
        return length;
      }),
    );
  }

  remove(name: string): void {
    try {
      unlinkSync(this.#path(name));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
    }
  }

  close(): void {
    closeSync(this.#fd);
  }

  #open<T>(name: string, use: (fd: number, stats: Stats) => T): T | undefined {
    let fd: number;
    try {
      fd = openSync(this.#path(name), O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
    } catch {
      return undefined;
    }
    try {
      const stats = fstatSync(fd);
      return stats.isFile() ? use(fd, stats) : undefined;
    } catch {
      // A disk that cannot be read has nothing.
      return undefined;
    } finally {
      closeSync(fd);
    }
  }

  #path(name: string): string {
    return `${this.#prefix}/${name}`;
  }
}

/** All or nothing, as far as the system allows. */
function writeAll(fd: number, bytes: Uint8Array, before: number): void {
  try {
    for (let written = 0; written < bytes.length; )
      written += writeSync(fd, bytes, written, bytes.length - written);
  } catch (error) {
    ftruncateSync(fd, before);
    throw error;
  }
}

import { SandboxRefusal } from "../policy/sandbox-policy.ts";
import {
  accessSync,
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  opendirSync,
  openSync,
  readdirSync,
  readlinkSync,
  readSync,
  type Stats,
} from "node:fs";
import { messageOf } from "../../../base/errors.ts";
import { isErrno } from "../../../native/os-error.ts";
import { resultOr } from "../../../native/result-or.ts";
import { parentOf } from "./path-names.ts";

/** Facts about the disk that a view needs. */
export interface Disk {
  /** Does not follow links. Undefined: nothing has this name. */
  entryAt(path: string): DiskEntry | undefined;
  /** Undefined: the link cannot be read. */
  target(link: string): string | undefined;
  /** Undefined: the directory cannot be read. */
  list(directory: string): readonly DirectoryEntry[] | undefined;
  /** Also if it has been removed in the meantime, as an empty one may be at any time. */
  isEmpty(directory: string): boolean;
  /** Whether this user can create names in a directory, or give itself the permission. */
  canCreateIn(directory: string): boolean;
  /** The contents of a small text file. Undefined: it cannot be read. */
  text(file: string): string | undefined;
}

export interface DiskEntry {
  /** `closed`: its directory cannot be searched. `impossible`: the name is too long to exist. */
  readonly kind: "file" | "directory" | "link" | "closed" | "impossible";
  /** Device and inode. */
  readonly identity: string;
}

interface DirectoryEntry {
  readonly name: string;
  isDirectory(): boolean;
}

const MAX_TEXT_BYTES = 4096;

export const systemDisk: Disk = {
  entryAt(path) {
    try {
      const stats = lstatSync(path, { throwIfNoEntry: false });
      return stats === undefined ? undefined : { kind: kindOf(stats), identity: `${stats.dev}:${stats.ino}` };
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (code === "EACCES") return { kind: "closed", identity: parentOf(path) };
      if (code === "ENOTDIR") return undefined;
      if (code === "ENAMETOOLONG") return { kind: "impossible", identity: path };
      throw new SandboxRefusal(`cannot enforce a sandbox rule for ${path}: ${messageOf(error)}`);
    }
  },
  target: (link) => resultOr(undefined, () => readlinkSync(link)),
  list: (directory) => resultOr(undefined, () => readdirSync(directory, { withFileTypes: true })),
  isEmpty(directory) {
    try {
      const opened = opendirSync(directory, { bufferSize: 1 });
      try {
        return opened.readSync() === null;
      } finally {
        opened.closeSync();
      }
    } catch (error) {
      return isErrno(error, "ENOENT");
    }
  },
  canCreateIn(directory) {
    try {
      accessSync(directory, constants.W_OK);
      return true;
    } catch (error) {
      const isOwner = () => lstatSync(directory).uid === process.geteuid?.();
      return (error as NodeJS.ErrnoException).code !== "EROFS" && resultOr(false, isOwner);
    }
  },
  text(file) {
    let fd: number | undefined;
    try {
      // The other end of a pipe is missing.
      fd = openSync(
        file,
        constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOFOLLOW | constants.O_NOCTTY,
      );
      const stats = fstatSync(fd);
      if (!stats.isFile() || stats.size > MAX_TEXT_BYTES) return undefined;
      const bytes = Buffer.alloc(MAX_TEXT_BYTES);
      return bytes.toString("utf8", 0, readSync(fd, bytes));
    } catch {
      return undefined;
    } finally {
      if (fd !== undefined) closeSync(fd);
    }
  },
};

function kindOf(stats: Stats): DiskEntry["kind"] {
  if (stats.isDirectory()) return "directory";
  return stats.isSymbolicLink() ? "link" : "file";
}

import {
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmdirSync,
  rmSync,
  type Stats,
  writeFileSync,
} from "node:fs";
import { join, resolve } from "node:path";
import { CapabilityError, messageOf, UsageError } from "../../base/errors.ts";
import { tryToLock } from "../../native/file-lock.ts";

/** Of the files in it. */
const FORMAT = "exec-server durable 1\n";
const OTHERS = 0o077;

const FORMAT_FILE = "format";
/** Its name while it is written. */
const NEW_FORMAT_FILE = "format.new";
const LOCK_FILE = "lock";
const SOCKET = "keeper.sock";
/** Names of directories in which `bindUnixSocket` makes a socket. */
const SOCKET_DIRECTORY = ".es-";
const JOURNAL = "journal.jsonl";
const ERRORS = "keeper.err";
const SPOOL = "output";
/** Is there if servers may not start a keeper. */
const MANAGED = "managed";

/** The directory through which a server finds its keeper again. Only its user can enter it. */
export class DurableDirectory {
  readonly path: string;

  private constructor(path: string) {
    this.path = path;
  }

  /** Throws a UsageError for a directory that is not one, or that others can enter. */
  static find(path: string): DurableDirectory {
    const directory = new DurableDirectory(resolve(path));
    directory.#check(lstatSync(directory.path, { throwIfNoEntry: false }));
    if (directory.#format() !== FORMAT)
      throw directory.#unusable("is not the directory of a durable server, or of another version of it");
    return directory;
  }

  /** Creates it if there is nothing. Throws a UsageError, or a CapabilityError if the system refuses. */
  static create(path: string): DurableDirectory {
    const directory = new DurableDirectory(resolve(path));
    try {
      if (lstatSync(directory.path, { throwIfNoEntry: false }) === undefined)
        mkdirSync(directory.path, { mode: 0o700 });
      directory.#check(lstatSync(directory.path));
      // Not a home, which would be hidden from everything that runs in a sandbox.
      if (
        directory.#format() === undefined &&
        readdirSync(directory.path).every((name) => name === NEW_FORMAT_FILE)
      ) {
        // Not a part of it, if the disk is full.
        writeFileSync(directory.#file(NEW_FORMAT_FILE), FORMAT, { mode: 0o600 });
        renameSync(directory.#file(NEW_FORMAT_FILE), directory.#file(FORMAT_FILE));
      }
    } catch (error) {
      if (error instanceof UsageError) throw error;
      throw new CapabilityError("OS_ERROR", `cannot use ${directory.path}: ${messageOf(error)}`, {
        cause: error,
      });
    }
    return DurableDirectory.find(path);
  }

  get socket(): string {
    return this.#file(SOCKET);
  }

  /** What runs, for the keeper after one that was killed. */
  get journal(): string {
    return this.#file(JOURNAL);
  }

  /** What the keeper says if it crashes. */
  get errors(): string {
    return this.#file(ERRORS);
  }

  /** Directory with the output of its processes. */
  get spool(): string {
    return this.#file(SPOOL);
  }

  /** Whether only somebody else starts its keeper. */
  get isManaged(): boolean {
    return existsSync(this.#file(MANAGED));
  }

  manage(): void {
    writeFileSync(this.#file(MANAGED), "", { mode: 0o600 });
  }

  /** Returns what releases it; undefined if another server uses it. Throws a CapabilityError if there is no telling. */
  lock(): (() => void) | undefined {
    try {
      return tryToLock(this.#file(LOCK_FILE));
    } catch (error) {
      throw new CapabilityError("OS_ERROR", `cannot lock ${this.path}: ${messageOf(error)}`, {
        cause: error,
      });
    }
  }

  /** The same; throws a UsageError instead. */
  claim(): () => void {
    const unlock = this.lock();
    if (unlock === undefined) throw this.#unusable("is in use by another server");
    return unlock;
  }

  /** Removes its files, and itself if nothing else is in it. */
  remove(): void {
    // A server that was killed while it made the socket has left its directory.
    const unfinished = this.#names().filter((name) => name.startsWith(SOCKET_DIRECTORY));
    const files = [
      SOCKET,
      JOURNAL,
      `${JOURNAL}.new`,
      ERRORS,
      SPOOL,
      MANAGED,
      LOCK_FILE,
      NEW_FORMAT_FILE,
      FORMAT_FILE,
    ];
    for (const name of [...unfinished, ...files]) rmSync(this.#file(name), { recursive: true, force: true });
    try {
      rmdirSync(this.path);
    } catch {} // Somebody has put something there.
  }

  #names(): string[] {
    try {
      return readdirSync(this.path);
    } catch {
      return []; // Another command was faster.
    }
  }

  #file(name: string): string {
    return join(this.path, name);
  }

  #format(): string | undefined {
    try {
      return readFileSync(this.#file(FORMAT_FILE), "utf8");
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
      throw error;
    }
  }

  #check(stats: Stats | undefined): void {
    if (stats === undefined) throw this.#unusable("does not exist");
    if (!stats.isDirectory()) throw this.#unusable("is not a directory");
    if (stats.uid !== process.geteuid?.()) throw this.#unusable("belongs to another user");
    if ((stats.mode & OTHERS) !== 0)
      throw this.#unusable("can be entered by other users: its mode must be 0700");
  }

  #unusable(why: string): UsageError {
    return new UsageError(`cannot use ${this.path} for a durable server: it ${why}`);
  }
}

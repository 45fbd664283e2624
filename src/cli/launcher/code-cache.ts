import { createHash, type Hash, randomUUID } from "node:crypto";
import { closeSync, constants, fstatSync, lstatSync, openSync, readFileSync, statSync } from "node:fs";
import { dirname, isAbsolute, join } from "node:path";

/** In the user's directory. A Node or a program of another version has a file of its own, and the oldest ones go. */
const MAX_FILES = 4;
const DIGEST_BYTES = 32;
const WRITABLE_BY_OTHERS = 0o022;

export interface CodeCacheOptions {
  /** Path of the program's file. */
  readonly program: string;
  readonly text: Uint8Array;
  /** HOME and XDG_CACHE_HOME say where the user's directory is. */
  readonly environment: Readonly<Record<string, string | undefined>>;
}

/**
 * What V8 made of the program at an earlier start. It lies beside the program, where the build leaves it, or in the user's cache directory. V8 would run
 * whatever it is given, even a damaged one, so a file counts only if nobody else can have written it and a digest says that it is complete and
 * was made from this very program by this very Node.
 */
export class CodeCache {
  readonly #program: string;
  readonly #hash: Hash;
  readonly #userFile: string | undefined;

  constructor({ program, text, environment }: CodeCacheOptions) {
    this.#program = program;
    const maker = [process.version, process.arch, process.execArgv, environment["NODE_OPTIONS"] ?? ""];
    this.#hash = createHash("sha256").update(JSON.stringify(maker)).update(text);
    const directory = userDirectory(environment);
    this.#userFile =
      directory === undefined ? undefined : join(directory, `code-${this.#hash.copy().digest("hex")}`);
  }

  find(): Buffer | undefined {
    try {
      const owners = [0, process.geteuid?.(), statSync(this.#program).uid];
      return this.#read(`${this.#program}.cache`, owners) ?? this.#readUserFile();
    } catch {
      return undefined;
    }
  }

  /** Keeps it for later starts. A cache that cannot be kept is no fault: the server only starts more slowly. */
  async store(data: Uint8Array): Promise<void> {
    if (this.#userFile === undefined) return;
    const { mkdir, rename, rm, writeFile } = await import("node:fs/promises");
    const directory = dirname(this.#userFile);
    const unfinished = join(directory, `new-${randomUUID()}`);
    try {
      await mkdir(directory, { recursive: true, mode: 0o700 });
      if (!isPrivate(directory)) return;
      await writeFile(unfinished, Buffer.concat([this.#digest(data), data]), { flag: "wx", mode: 0o600 });
      await rename(unfinished, this.#userFile);
      await removeOldest(directory);
    } catch {
      await rm(unfinished, { force: true }).catch(() => {});
    }
  }

  #readUserFile(): Buffer | undefined {
    if (this.#userFile === undefined || !isPrivate(dirname(this.#userFile))) return undefined;
    return this.#read(this.#userFile, [process.geteuid?.()]);
  }

  #read(path: string, owners: readonly unknown[]): Buffer | undefined {
    let fd: number;
    try {
      fd = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    } catch {
      return undefined;
    }
    try {
      const { uid, mode } = fstatSync(fd);
      if (!owners.includes(uid) || (mode & WRITABLE_BY_OTHERS) !== 0) return undefined;
      const file = readFileSync(fd);
      const data = file.subarray(DIGEST_BYTES);
      return this.#digest(data).equals(file.subarray(0, DIGEST_BYTES)) ? data : undefined;
    } finally {
      closeSync(fd);
    }
  }

  #digest(data: Uint8Array): Buffer {
    return this.#hash.copy().update(data).digest();
  }
}

function userDirectory(environment: CodeCacheOptions["environment"]): string | undefined {
  const { XDG_CACHE_HOME: caches = "", HOME: home = "" } = environment;
  if (isAbsolute(caches)) return join(caches, "exec-server");
  return isAbsolute(home) ? join(home, ".cache", "exec-server") : undefined;
}

/** Whether only this user can put files into the directory. */
function isPrivate(directory: string): boolean {
  const stat = lstatSync(directory, { throwIfNoEntry: false });
  return (
    stat?.isDirectory() === true && stat.uid === process.geteuid?.() && (stat.mode & WRITABLE_BY_OTHERS) === 0
  );
}

async function removeOldest(directory: string): Promise<void> {
  const { lstat, readdir, rm } = await import("node:fs/promises");
  const files = await Promise.all(
    (await readdir(directory)).map(async (name) => {
      const path = join(directory, name);
      return { path, writtenAt: (await lstat(path)).mtimeMs };
    }),
  );
  const oldest = files.sort((one, other) => other.writtenAt - one.writtenAt).slice(MAX_FILES);
  await Promise.all(oldest.map(({ path }) => rm(path, { force: true })));
}

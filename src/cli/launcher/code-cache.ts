import { createHash, type Hash, randomUUID } from "node:crypto";
import { closeSync, constants, fstatSync, lstatSync, openSync, readFileSync, statSync } from "node:fs";
import { dirname, isAbsolute, join } from "node:path";

/** In the user's directory. A Node or a program of another version has a file of its own, and the oldest ones go. */
const MAX_FILES = 4;
const UNFINISHED = "new-";
const STALE_MS = 60_000;
const DIGEST_BYTES = 32;
const WRITABLE_BY_OTHERS = 0o022;

export interface CodeCacheOptions {
  /** Path of the program's file. */
  readonly program: string;
  readonly text: Uint8Array;
  /** As `describeRuntime` gives it. */
  readonly runtime: string;
  /** HOME and XDG_CACHE_HOME say where the user's directory is. */
  readonly environment: Readonly<Record<string, string | undefined>>;
}

/** Names the Node that runs the program, and the flags of V8 that it was given. */
export function describeRuntime(execArgv: readonly string[], nodeOptions: string | undefined): string {
  return JSON.stringify([process.version, process.arch, execArgv, nodeOptions ?? ""]);
}

/**
 * What V8 made of the program at an earlier start. It lies beside the program, where the build leaves it, or in the user's cache directory. V8 would run
 * whatever it is given, even a damaged one, so a file counts only if nobody else can have written it and a digest says that it is complete and
 * was made from this very program by this very Node.
 */
export class CodeCache {
  readonly #program: string;
  readonly #hash: Hash;
  readonly #directory: string | undefined;

  constructor({ program, text, runtime, environment }: CodeCacheOptions) {
    this.#program = program;
    this.#hash = createHash("sha256").update(runtime).update(text);
    this.#directory = userDirectory(environment);
  }

  /** What there is, from the first to be tried to the last. */
  *find(): Generator<Buffer> {
    const me = process.geteuid?.();
    const beside = this.#read(`${this.#program}.cache`, () => [0, me, statSync(this.#program).uid]);
    if (beside !== undefined) yield beside;
    if (this.#directory === undefined || !isPrivate(this.#directory)) return;
    const kept = this.#read(this.#fileIn(this.#directory), () => [me]);
    if (kept !== undefined) yield kept;
  }

  /** Keeps it for later starts. A cache that cannot be kept is no fault: the server only starts more slowly. */
  async store(data: Uint8Array): Promise<void> {
    const directory = this.#directory;
    if (directory === undefined) return;
    const { rename, rm, writeFile } = await import("node:fs/promises");
    const unfinished = join(directory, `${UNFINISHED}${randomUUID()}`);
    try {
      await makeDirectory(dirname(directory));
      await makeDirectory(directory);
      if (!isPrivate(directory)) return;
      await writeFile(unfinished, Buffer.concat([this.#digest(data), data]), { flag: "wx", mode: 0o600 });
      await rename(unfinished, this.#fileIn(directory));
      await removeOldest(directory);
    } catch {
      await rm(unfinished, { force: true }).catch(() => {});
    }
  }

  #fileIn(directory: string): string {
    return join(directory, `code-${this.#hash.copy().digest("hex")}`);
  }

  #read(path: string, owners: () => readonly unknown[]): Buffer | undefined {
    let fd: number | undefined;
    try {
      fd = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
      const { uid, mode } = fstatSync(fd);
      if (!owners().includes(uid) || (mode & WRITABLE_BY_OTHERS) !== 0) return undefined;
      const file = readFileSync(fd);
      const data = file.subarray(DIGEST_BYTES);
      return this.#digest(data).equals(file.subarray(0, DIGEST_BYTES)) ? data : undefined;
    } catch {
      return undefined;
    } finally {
      if (fd !== undefined) closeSync(fd);
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
  try {
    const stat = lstatSync(directory);
    return stat.isDirectory() && stat.uid === process.geteuid?.() && (stat.mode & WRITABLE_BY_OTHERS) === 0;
  } catch {
    return false;
  }
}

/** One by one: the recursive way of Node tries for ever where a file system has no directories to give, as /proc. */
async function makeDirectory(path: string): Promise<void> {
  const { mkdir } = await import("node:fs/promises");
  await mkdir(path, { mode: 0o700 }).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== "EEXIST") throw error;
  });
}

/** Removes the oldest files, and what servers that were killed have left unfinished. */
async function removeOldest(directory: string): Promise<void> {
  const { readdir, rm, stat } = await import("node:fs/promises");
  const files = await Promise.all(
    (await readdir(directory)).map(async (name) => {
      const path = join(directory, name);
      return { path, finished: !name.startsWith(UNFINISHED), writtenAt: (await stat(path)).mtimeMs };
    }),
  );
  const stale = files.filter(({ finished, writtenAt }) => !finished && writtenAt < Date.now() - STALE_MS);
  const oldest = files
    .filter(({ finished }) => finished)
    .sort((one, other) => other.writtenAt - one.writtenAt)
    .slice(MAX_FILES);
  await Promise.all([...stale, ...oldest].map(({ path }) => rm(path, { force: true })));
}

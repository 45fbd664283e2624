import {
  closeSync,
  constants,
  fstatSync,
  linkSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { hostname } from "node:os";
import { randomId } from "../../base/random-id.ts";
import { UsageError } from "../../base/errors.ts";

/** Holder of a lock. */
interface Holder {
  readonly pid: number;
  /** When the process started, by the kernel's clock: numbers of processes are used again. */
  readonly started: string;
  readonly host: string;
}

const MAX_TRIES = 10;
const MAX_BYTES = 4096;
const READ = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;

/** Locks something by a file beside it. Returns a function that unlocks. Throws if a living program has the lock. */
export function lockFile(path: string): () => void {
  const own: Holder = { pid: process.pid, started: startOf(process.pid) ?? "", host: hostname() };
  for (let tried = 0; tried < MAX_TRIES; tried += 1) {
    if (create(path, JSON.stringify(own))) return () => rmSync(path, { force: true });
    const text = read(path);
    if (text === undefined) continue;
    const holder = parse(text);
    if (holder === undefined || isAlive(holder, own)) throw inUse(path, holder);
    removeStale(path, text);
  }
  throw inUse(path, undefined);
}

/** Creates the file, complete from the start; false if there is one. */
function create(path: string, text: string): boolean {
  const unnamed = `${path}.${randomId()}`;
  writeFileSync(unnamed, text, { mode: 0o600, flag: "wx" });
  try {
    linkSync(unnamed, path);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") return false;
    throw error;
  } finally {
    rmSync(unnamed);
  }
}

/** Removes the lock of a program that has ended, unless another program has already done so and taken the lock. */
function removeStale(path: string, text: string): void {
  const aside = `${path}.${randomId()}`;
  try {
    renameSync(path, aside);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return;
    throw error;
  }
  if (read(aside) === text) rmSync(aside);
  else renameSync(aside, path);
}

/** Undefined if it does not exist. Anything that cannot be a lock, such as a link or a pipe, has no text. */
function read(path: string): string | undefined {
  let fd: number;
  try {
    fd = openSync(path, READ);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT") return undefined;
    if (code === "ELOOP" || code === "ENXIO") return "";
    throw error;
  }
  try {
    const stats = fstatSync(fd);
    return stats.isFile() && stats.size <= MAX_BYTES ? readFileSync(fd, "utf8") : "";
  } finally {
    closeSync(fd);
  }
}

function parse(text: string): Holder | undefined {
  try {
    const { pid, started, host } = JSON.parse(text) as Partial<Holder>;
    if (typeof pid !== "number" || typeof started !== "string" || typeof host !== "string") return undefined;
    return { pid, started, host };
  } catch {
    return undefined;
  }
}

function isAlive(holder: Holder, own: Holder): boolean {
  // Programs of another machine cannot be checked.
  if (holder.host !== own.host) return true;
  try {
    process.kill(holder.pid, 0);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ESRCH") return false;
  }
  const started = startOf(holder.pid);
  return started === undefined || holder.started === "" || started === holder.started;
}

/** When a process started; undefined where the system does not say. */
function startOf(pid: number): string | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    // The name of the program may have spaces and parentheses.
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    // A zombie no longer holds the lock.
    return fields[0] === "Z" ? "ended" : fields[19];
  } catch {
    return undefined;
  }
}

function inUse(path: string, holder: Holder | undefined): UsageError {
  const who = holder === undefined ? "another program" : `process ${holder.pid} on ${holder.host}`;
  return new UsageError(`${who} is working on this job; if not, remove ${path}`);
}

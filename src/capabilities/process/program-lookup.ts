import { accessSync, constants, statSync } from "node:fs";
import { setImmediate as nextTurn } from "node:timers/promises";
import { CapabilityError } from "../../base/errors.ts";
import { libc } from "../../native/libc.ts";
import { ERRNO, osError } from "../../native/os-error.ts";
import { refuseNul } from "../../native/spawn.ts";

/** Maximum length of a file name. Nothing longer can be found. */
const MAX_NAME_BYTES = 255;
/** How long a search may block the server's other work. */
const SLICE_MS = 2;
const F_OK = 0;
const X_OK = 1;
/** Search path if the environment has no PATH. */
const DEFAULT_PATH = "/usr/local/bin:/bin:/usr/bin";

/**
 * Finds the file of a program name, by the child's own PATH and working directory. A file that may not be executed does
 * not hide later ones on the PATH. A name with a slash stands for itself: the child resolves it after it has changed
 * directory.
 */
export async function findProgram(
  name: string,
  path: string | undefined,
  cwd: string | Uint8Array,
): Promise<string> {
  if (name.includes("/")) return name;
  refuseNul([name], "nul byte found in provided data");
  if (isTooLong(name)) throw osError(ERRNO.ENAMETOOLONG);
  let denied = false;
  const found = await search(name, path ?? DEFAULT_PATH, (candidate) => {
    const kind = probe(candidate, cwd);
    denied ||= kind !== "missing";
    return kind === "program";
  });
  if (found !== undefined) return found;
  throw osError(denied ? ERRNO.EACCES : ERRNO.ENOENT);
}

/** The same for a program on a terminal, where a failed search is reported in full. */
export async function findTerminalProgram(
  name: string,
  path: string | undefined,
  cwd: string | Uint8Array,
): Promise<string> {
  if (name.includes("/")) return name;
  if (path === undefined) throw notFound(name, ["Unable to resolve the PATH"]);
  const unusable: string[] = [];
  const found = await search(name, path, (candidate) => {
    const kind = probe(candidate, cwd);
    if (kind === "directory") unusable.push(`${candidate} exists but is a directory.`);
    if (kind === "not executable") unusable.push(`${candidate} exists but is not executable.`);
    return kind === "program";
  });
  if (found !== undefined) return found;
  throw notFound(name, [...unusable, `No viable candidates found in PATH ${JSON.stringify(path)}`]);
}

function isTooLong(name: string): boolean {
  return Buffer.byteLength(name) > MAX_NAME_BYTES;
}

/**
 * The first match on PATH. A client may send a PATH of any length, so the search yields to other work, and no directory
 * is checked twice.
 */
async function search(
  name: string,
  path: string,
  suits: (candidate: string) => boolean,
): Promise<string | undefined> {
  if (isTooLong(name)) return undefined;
  let sliceEnd = performance.now() + SLICE_MS;
  for (const directory of new Set(path.split(":"))) {
    // Relative entries are relative to the child's directory, and so are the candidates: the child has changed directory before it looks.
    const candidate = `${directory === "" ? "." : directory.replace(/\/$/, "")}/${name}`;
    if (suits(candidate)) return candidate;
    if (performance.now() < sliceEnd) continue;
    await nextTurn();
    sliceEnd = performance.now() + SLICE_MS;
  }
  return undefined;
}

function probe(
  candidate: string,
  cwd: string | Uint8Array,
): "program" | "directory" | "not executable" | "missing" {
  if (!candidate.startsWith("/"))
    return probePath(Buffer.concat([Buffer.from(cwd), Buffer.from(`/${candidate}`)]));
  // Most entries of PATH lack the program, and one has it: two calls tell both; a trailing slash detects directories.
  if (libc().access(candidate, X_OK) !== 0)
    return libc().errno() === ERRNO.ENOENT ? "missing" : probePath(candidate);
  if (libc().access(`${candidate}/`, F_OK) !== 0 && libc().errno() === ERRNO.ENOTDIR) return "program";
  return probePath(candidate);
}

function probePath(path: string | Buffer): "program" | "directory" | "not executable" | "missing" {
  try {
    if (statSync(path).isDirectory()) return "directory";
  } catch {
    // Gone meanwhile.
    return "missing";
  }
  try {
    accessSync(path, constants.X_OK);
    return "program";
  } catch {
    return "not executable";
  }
}

function notFound(name: string, reasons: readonly string[]): CapabilityError {
  return new CapabilityError("NOT_FOUND", [`Unable to spawn ${name} because:`, ...reasons].join("\n"), {
    errno: "ENOENT",
  });
}

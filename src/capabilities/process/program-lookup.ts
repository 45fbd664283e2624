import { accessSync, constants, statSync } from "node:fs";
import { CapabilityError } from "../../base/errors.ts";
import { libc } from "../libc.ts";
import { ERRNO, osError } from "../os-error.ts";

const F_OK = 0;
const X_OK = 1;
/** Where programs are looked for when the environment has no PATH. */
const DEFAULT_PATH = "/usr/local/bin:/bin:/usr/bin";

/**
 * The file that a program name stands for, by the child's own PATH and working directory. What may not be executed does not hide
 * what comes later on the PATH. A name with a slash stands for itself: the child resolves it after it has changed directory.
 */
export function findProgram(name: string, path: string | undefined, cwd: string | Uint8Array): string {
  if (name.includes("/")) return name;
  let denied = false;
  for (const candidate of candidates(name, path ?? DEFAULT_PATH)) {
    const kind = probe(candidate, cwd);
    if (kind === "program") return candidate;
    if (kind !== "missing") denied = true;
  }
  throw osError(denied ? ERRNO.EACCES : ERRNO.ENOENT);
}

/** The same for a program on a terminal, where a failed search is told in full. */
export function findTerminalProgram(
  name: string,
  path: string | undefined,
  cwd: string | Uint8Array,
): string {
  if (name.includes("/")) return name;
  if (path === undefined) throw notFound(name, ["Unable to resolve the PATH"]);
  const unusable: string[] = [];
  for (const candidate of candidates(name, path)) {
    const kind = probe(candidate, cwd);
    if (kind === "program") return candidate;
    if (kind === "directory") unusable.push(`${candidate} exists but is a directory.`);
    if (kind === "not executable") unusable.push(`${candidate} exists but is not executable.`);
  }
  throw notFound(name, [...unusable, `No viable candidates found in PATH ${JSON.stringify(path)}`]);
}

/** Entries of PATH may be relative, to the child's directory: so are the candidates then, for the child has changed directory before it looks. */
function candidates(name: string, path: string): string[] {
  return path
    .split(":")
    .map((directory) => `${directory === "" ? "." : directory.replace(/\/$/, "")}/${name}`);
}

function probe(
  candidate: string,
  cwd: string | Uint8Array,
): "program" | "directory" | "not executable" | "missing" {
  if (!candidate.startsWith("/"))
    return probePath(Buffer.concat([Buffer.from(cwd), Buffer.from(`/${candidate}`)]));
  // Most entries of PATH do not have the program, and one has it: two calls tell both, and directories by the slash behind them.
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

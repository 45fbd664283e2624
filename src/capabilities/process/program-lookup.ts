import { accessSync, constants, statSync } from "node:fs";
import { setImmediate as nextTurn } from "node:timers/promises";
import { CapabilityError } from "../../base/errors.ts";
import { ownAccount } from "../../native/account.ts";
import { libc } from "../../native/libc.ts";
import { ERRNO, osError } from "../../native/os-error.ts";
import { type Program, refuseNul, refuseTooLong } from "../../native/spawn.ts";
import type { StartRequest } from "./start-request.ts";

/** Maximum length of a file name. Nothing longer can be found. */
const MAX_NAME_BYTES = 255;
/** How long a search may block the server's other work. */
const SLICE_MS = 2;
const F_OK = 0;
const X_OK = 1;
/** Search path if the environment has no PATH. */
const DEFAULT_PATH = "/usr/local/bin:/bin:/usr/bin";

/** Rejects with a CapabilityError if the program does not exist, or the system would refuse its arguments. */
export async function resolveProgram(request: StartRequest): Promise<Program> {
  // If the system would refuse it anyway, a search is pointless.
  const texts = argumentsOf(request);
  return { path: await programPath(request), ...texts, cwd: request.cwd };
}

let loginShell: string | undefined;

/** Throws a CapabilityError if they are longer than the system permits. */
export function argumentsOf(request: StartRequest): Pick<Program, "argv" | "env"> {
  const env = Array.from(request.env, ([name, value]) => `${name}=${value}`);
  // Programs on a terminal start shells, and expect SHELL to be set.
  if (typeof request.stdin === "object" && !request.env.has("SHELL")) {
    loginShell ??= ownAccount()?.shell ?? "/bin/sh";
    env.push(`SHELL=${loginShell}`);
  }
  const argv = [request.arg0 ?? request.argv[0]!, ...request.argv.slice(1)];
  refuseTooLong(argv, env);
  return { argv, env };
}

/** For a sandbox: the system cannot check it, because the process changes directory only inside. */
export function checkDirectory(path: string | Uint8Array): void {
  const stat = statSync(Buffer.from(path), { throwIfNoEntry: false });
  if (stat === undefined) throw osError(ERRNO.ENOENT);
  if (!stat.isDirectory()) throw osError(ERRNO.ENOTDIR);
}

async function programPath({ argv, env, cwd, stdin }: StartRequest): Promise<string> {
  const [name] = argv;
  const onTerminal = typeof stdin === "object";
  if (name === undefined || name === "")
    throw new CapabilityError("INVALID_INPUT", `missing program for ${onTerminal ? "PTY" : "pipe"} spawn`);
  return (onTerminal ? findTerminalProgram : findProgram)(name, env.get("PATH"), cwd);
}

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
  const { file, unusable } = await search(name, path ?? DEFAULT_PATH, cwd);
  if (file !== undefined) return file;
  throw osError(unusable.length > 0 ? ERRNO.EACCES : ERRNO.ENOENT);
}

/** The same for a program on a terminal, where a failed search is reported in full. */
export async function findTerminalProgram(
  name: string,
  path: string | undefined,
  cwd: string | Uint8Array,
): Promise<string> {
  if (name.includes("/")) return name;
  if (path === undefined) throw notFound(name, ["Unable to resolve the PATH"]);
  const { file, unusable } = await search(name, path, cwd);
  if (file !== undefined) return file;
  throw notFound(name, [...unusable, `No viable candidates found in PATH ${JSON.stringify(path)}`]);
}

function isTooLong(name: string): boolean {
  return Buffer.byteLength(name) > MAX_NAME_BYTES;
}

/**
 * The first match on PATH, and what is wrong with the others. A client may send a PATH of any length, so the search
 * yields to other work, and each directory is checked only once.
 */
async function search(
  name: string,
  path: string,
  cwd: string | Uint8Array,
): Promise<{ file?: string; unusable: readonly string[] }> {
  const unusable: string[] = [];
  if (isTooLong(name)) return { unusable };
  let sliceEnd = performance.now() + SLICE_MS;
  for (const directory of new Set(path.split(":"))) {
    // Relative entries are relative to the child's directory, and so are the candidates: the child has changed directory
    // before it looks.
    const candidate = `${directory === "" ? "." : directory.replace(/\/$/, "")}/${name}`;
    const kind = probe(candidate, cwd);
    if (kind === "program") return { file: candidate, unusable };
    if (kind !== "missing") unusable.push(`${candidate} exists but is ${kind}.`);
    if (performance.now() < sliceEnd) continue;
    await nextTurn();
    sliceEnd = performance.now() + SLICE_MS;
  }
  return { unusable };
}

type Kind = "program" | "a directory" | "not executable" | "missing";

function probe(candidate: string, cwd: string | Uint8Array): Kind {
  if (!candidate.startsWith("/"))
    return probePath(Buffer.concat([Buffer.from(cwd), Buffer.from(`/${candidate}`)]));
  // Most entries of PATH lack the program, and one has it: two calls tell both; a trailing slash detects directories.
  if (libc().access(candidate, X_OK) !== 0)
    return libc().errno() === ERRNO.ENOENT ? "missing" : probePath(candidate);
  if (libc().access(`${candidate}/`, F_OK) !== 0 && libc().errno() === ERRNO.ENOTDIR) return "program";
  return probePath(candidate);
}

function probePath(path: string | Buffer): Kind {
  try {
    if (statSync(path).isDirectory()) return "a directory";
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

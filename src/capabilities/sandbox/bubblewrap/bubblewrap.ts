import { execFile } from "node:child_process";
import { accessSync, constants, statSync } from "node:fs";
import { promisify } from "node:util";
import { CapabilityError } from "../../../base/errors.ts";
import { resultOr } from "../../../native/result-or.ts";

/** The program that makes namespaces and mounts. */
export interface Bubblewrap {
  readonly path: string;
  readonly version: string;
  /** Whether the size of a temporary file system can be limited. */
  readonly limitsSize: boolean;
  /** Whether it can mount what a descriptor refers to. */
  readonly mountsDescriptors: boolean;
}

const PROGRAM = "bwrap";
const DEFAULT_PATH = "/usr/local/bin:/usr/bin:/bin";
/** The first with `--perms`. */
const OLDEST = [0, 5, 0];
/** The first with `--size`. */
const LIMITS_SIZE = [0, 7, 0];
const RUN_DEADLINE_MS = 5_000;

const INSTALL_BUBBLEWRAP = "install the package bubblewrap (Debian, Ubuntu: apt-get install bubblewrap)";

/**
 * Finds it on the server's own PATH. Never on a client's: what runs in a sandbox could leave a program of that name in
 * a directory it may write to. Throws an UNSUPPORTED error that names the remedy.
 */
export async function findBubblewrap(searchPath: string | undefined): Promise<Bubblewrap> {
  const path = locateBubblewrap(searchPath);
  if (path === undefined)
    throw unavailable(`${PROGRAM} was not found on the server's PATH; ${INSTALL_BUBBLEWRAP}`);
  const version = await readVersion(path);
  if (!atLeast(version, OLDEST))
    throw unavailable(`${path} has version ${version}, but ${OLDEST.join(".")} or later is needed`);
  // Distributions have added it to older versions, so the version says nothing about it.
  const mountsDescriptors = (await run(path, "--help")).includes("--bind-fd ");
  return { path, version, limitsSize: atLeast(version, LIMITS_SIZE), mountsDescriptors };
}

/** Finds bubblewrap. Whether it works is another question. */
export function locateBubblewrap(searchPath: string | undefined): string | undefined {
  return (searchPath ?? DEFAULT_PATH)
    .split(":")
    .filter((directory) => directory.startsWith("/"))
    .map((directory) => `${directory.replace(/\/$/, "")}/${PROGRAM}`)
    .find(isProgram);
}

/** A sandbox that cannot be had. */
export function unavailable(reason: string, cause?: unknown): CapabilityError {
  return new CapabilityError("UNSUPPORTED", `the sandbox is unavailable: ${reason}`, { cause });
}

async function readVersion(path: string): Promise<string> {
  const version = /^bubblewrap ([\d.]{1,32})/.exec(await run(path, "--version"))?.[1];
  if (version === undefined) throw unavailable(`${path} does not report its version`);
  return version;
}

async function run(path: string, option: string): Promise<string> {
  try {
    const { stdout } = await promisify(execFile)(path, [option], { timeout: RUN_DEADLINE_MS, env: {} });
    return stdout;
  } catch (error) {
    throw unavailable(`${path} cannot be run: ${(error as Error).message}`, error);
  }
}

function atLeast(version: string, oldest: readonly number[]): boolean {
  const parts = version.split(".").map(Number);
  for (const [index, least] of oldest.entries()) {
    const part = parts[index] ?? 0;
    if (part !== least) return part > least;
  }
  return true;
}

function isProgram(path: string): boolean {
  return resultOr(false, () => {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  });
}

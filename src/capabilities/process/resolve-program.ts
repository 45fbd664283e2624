import { statSync } from "node:fs";
import { CapabilityError } from "../../base/errors.ts";
import { ownAccount } from "../../native/account.ts";
import { ERRNO, osError } from "../../native/os-error.ts";
import { type Program, refuseTooLong } from "../../native/spawn.ts";
import { findProgram, findTerminalProgram } from "./program-lookup.ts";
import type { StartRequest } from "./start-request.ts";

/** Rejects with a CapabilityError if there is no such program, or the system would refuse its arguments. */
export async function resolveProgram(request: StartRequest): Promise<Program> {
  // What the system would refuse anyway is not worth a search.
  const given = argumentsOf(request);
  return { path: await programPath(request), ...given, cwd: request.cwd };
}

/** Throws a CapabilityError if they are longer than the system permits. */
export function argumentsOf(request: StartRequest): Pick<Program, "argv" | "env"> {
  const env = Array.from(request.env, ([name, value]) => `${name}=${value}`);
  // Programs on a terminal start shells, and expect SHELL to be set.
  if (typeof request.stdin === "object" && !request.env.has("SHELL")) env.push(`SHELL=${loginShell()}`);
  const argv = [request.arg0 ?? request.argv[0]!, ...request.argv.slice(1)];
  refuseTooLong(argv, env);
  return { argv, env };
}

/** For a sandbox: the system cannot do it, because the process changes directory only inside. */
export function checkDirectory(path: string | Uint8Array): void {
  const found = statSync(Buffer.from(path), { throwIfNoEntry: false });
  if (found === undefined) throw osError(ERRNO.ENOENT);
  if (!found.isDirectory()) throw osError(ERRNO.ENOTDIR);
}

async function programPath({ argv, env, cwd, stdin }: StartRequest): Promise<string> {
  const [name] = argv;
  const onTerminal = typeof stdin === "object";
  if (name === undefined || name === "")
    throw new CapabilityError("INVALID_INPUT", `missing program for ${onTerminal ? "PTY" : "pipe"} spawn`);
  return (onTerminal ? findTerminalProgram : findProgram)(name, env.get("PATH"), cwd);
}

let knownLoginShell: string | undefined;

function loginShell(): string {
  knownLoginShell ??= ownAccount()?.shell ?? "/bin/sh";
  return knownLoginShell;
}

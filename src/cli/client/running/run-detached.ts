import { ExecError } from "../../../base/errors.ts";
import type { Host } from "../../../client/host/host.ts";
import type { RemoteProcess } from "../../../client/process/remote-process.ts";
import { Failure, OWN_FAILURE_STATUS } from "../../shared/failure.ts";

/** Maximum number of names to try for an unnamed process. */
const MAX_NAMES = 1_000;
const MAX_BASE_CHARACTERS = 100;

/** Starts a process that the server keeps under a name. */
export type StartKept = (keep: { name: string; replace?: boolean }) => Promise<RemoteProcess>;

/**
 * Starts a process that outlives this command, and resolves with its name. A requested name may replace an ended
 * process; otherwise the name derives from the program, with a number if it is taken.
 */
export async function startDetached(
  host: Host,
  program: string,
  name: string | undefined,
  start: StartKept,
): Promise<string> {
  if (!host.supports("process/start.keep"))
    throw new Failure(
      "this server cannot keep processes: it ends with its connection, or is not an exec-server; run without -d",
      OWN_FAILURE_STATUS,
    );
  if (name !== undefined) {
    if (await isTaken(start({ name, replace: true })))
      throw new Failure(
        `a process called ${name} is running; 'exec-server kill ${name}' ends it, or choose another --name`,
        OWN_FAILURE_STATUS,
      );
    return name;
  }
  const base = baseName(program);
  for (let number = 1; number <= MAX_NAMES; number += 1) {
    const candidate = number === 1 ? base : `${base}-${number}`;
    if (!(await isTaken(start({ name: candidate })))) return candidate;
  }
  throw new Failure(`there are too many processes called ${base}; pass a --name`, OWN_FAILURE_STATUS);
}

async function isTaken(starting: Promise<unknown>): Promise<boolean> {
  try {
    await starting;
    return false;
  } catch (error) {
    if (error instanceof ExecError && error.code === "ALREADY_EXISTS") return true;
    throw error;
  }
}

/** A name that the server accepts, from the path of a program. */
export function baseName(program: string): string {
  const last = program.split("/").findLast((part) => part !== "") ?? "";
  const plain = last.replaceAll(/[^A-Za-z0-9_.-]/g, "").replace(/^[_.-]+/, "");
  return plain === "" ? "process" : plain.slice(0, MAX_BASE_CHARACTERS);
}

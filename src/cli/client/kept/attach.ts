import { ExecError } from "../../../base/errors.ts";
import type { Host } from "../../../client/host/host.ts";
import type { AttachKeptOptions } from "../../../client/process/attach-kept.ts";
import type { RemoteProcess } from "../../../client/process/remote-process.ts";
import { Failure, oneLine } from "../../shared/failure.ts";
import { findKept } from "../target/connect-target.ts";
import type { TargetOptions } from "../target/target-options.ts";
import { parseKeptName } from "./kept-name.ts";

/** Attaches to the kept process that was typed. An unknown name is one line with the remedy. */
export async function attachByName(
  host: Host,
  typed: string,
  options: Omit<AttachKeptOptions, "owner">,
): Promise<RemoteProcess> {
  const { name, ...owner } = parseKeptName(typed);
  try {
    return await host.attachKept(name, { ...owner, ...options });
  } catch (error) {
    throw keptFailure(error, typed);
  }
}

/** Connects to the server that keeps the processes of these names. */
export async function connectNamed(names: readonly string[], options: TargetOptions): Promise<Host> {
  const host = await findKept(options);
  if (host !== undefined) return host;
  throw new Failure(`there is no kept process '${names[0]}': your own server is not running`);
}

/** A name that is not known gets a remedy; any other error is returned as it is. */
function keptFailure(error: unknown, name: string): unknown {
  if (!(error instanceof ExecError)) return error;
  // The server lists the owners.
  if (error.code === "INVALID_INPUT" && /; (?:name|give) (?:its|the) owner$/.test(error.message))
    return new Failure(`${oneLine(error.message)}, as in OWNER/${name}`);
  if (error.code !== "NOT_FOUND") return error;
  // A server that has forgotten it says why.
  const [, why = "see 'exec-server ps'"] = oneLine(error.message).split("; ", 2);
  return new Failure(`there is no kept process '${name}'; ${why}`);
}

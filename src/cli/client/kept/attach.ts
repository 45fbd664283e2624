import type { Host } from "../../../client/host/host.ts";
import type { AttachKeptOptions } from "../../../client/process/attach-kept.ts";
import type { RemoteProcess } from "../../../client/process/remote-process.ts";
import { Failure } from "../outcome/failure.ts";
import { findKept } from "../target/connect-target.ts";
import type { TargetOptions } from "../target/target-options.ts";
import { keptFailure } from "./kept-failure.ts";
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

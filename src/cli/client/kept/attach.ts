import type { Host } from "../../../client/host.ts";
import type { AttachKeptOptions } from "../../../client/process/attach-kept.ts";
import type { RemoteProcess } from "../../../client/process/remote-process.ts";
import { Failure, usageFailure } from "../failure.ts";
import { findKept } from "../target/connect-target.ts";
import type { TargetOptions } from "../target/target-options.ts";
import { keptFailure } from "./kept-failure.ts";

/** Attaches to a kept process. An unknown name is one line with the remedy. */
export async function attachByName(
  host: Host,
  name: string,
  options: AttachKeptOptions,
): Promise<RemoteProcess> {
  checkName(name);
  try {
    return await host.attachKept(name, options);
  } catch (error) {
    throw keptFailure(error, name);
  }
}

/** Connects to the server that keeps the processes of these names. */
export async function connectNamed(names: readonly string[], options: TargetOptions): Promise<Host> {
  const host = await findKept(options);
  if (host !== undefined) return host;
  throw new Failure(`there is no kept process '${names[0]}': your own server is not running`);
}

/** Throws a Failure for a text that no process can be called. */
export function checkName(name: string): void {
  if (/^[A-Za-z0-9][A-Za-z0-9_.-]{0,127}$/.test(name)) return;
  throw usageFailure(
    `'${name}' cannot be the name of a process: a name has up to 128 letters, digits, '_', '.' and '-'`,
  );
}

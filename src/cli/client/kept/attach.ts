import type { Host } from "../../../client/host.ts";
import type { AttachKeptOptions } from "../../../client/process/attach-kept.ts";
import type { RemoteProcess } from "../../../client/process/remote-process.ts";
import { usageFailure } from "../failure.ts";
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

function checkName(name: string): void {
  if (/^[A-Za-z0-9][A-Za-z0-9_.-]{0,127}$/.test(name)) return;
  throw usageFailure(
    `'${name}' cannot be the name of a process: a name has up to 128 letters, digits, '_', '.' and '-'`,
  );
}

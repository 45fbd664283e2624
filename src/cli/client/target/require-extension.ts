import type { Host } from "../../../client/host/host.ts";
import { Failure } from "../outcome/failure.ts";
import type { Target } from "./target.ts";

/** Throws a Failure that says what to do if a server lacks an extension that a command needs. */
export function requireExtension(host: Host, target: Target, extension: string): void {
  if (host.supports(extension)) return;
  const version = host.environment?.serverVersion;
  const known = version === undefined ? "" : ` (version ${version})`;
  if (target.kind === "own")
    throw new Failure(
      `the running server is older${known} and lacks ${extension}: 'exec-server ps' shows what still runs, 'exec-server stop' ends the server, and the next command starts a new one`,
    );
  const name = "name" in target && target.name !== undefined ? ` '${target.name}'` : "";
  throw new Failure(
    `the server${name}${known} lacks ${extension}; it must be an exec-server that is as new as this one`,
  );
}

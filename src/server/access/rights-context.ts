import { resolve } from "node:path";
import { silentLogger } from "../../base/logger.ts";
import type { ServerFiles } from "../../capabilities/sandbox/view/server-files.ts";
import type { ServerOptions } from "../settings/server-options.ts";
import type { RightsContext } from "./rights.ts";

/** The context of token rights. `files` are those that the options do not name. */
export function rightsContext(
  { environment, logger = silentLogger, limits, ...options }: ServerOptions,
  files: Partial<ServerFiles> = {},
): RightsContext {
  return {
    temporaryDirectory: environment?.["TMPDIR"],
    logger,
    fsRoots: limits?.fsRoots ?? [],
    ...serverFiles(options, files),
  };
}

/** All files of a server. */
export function serverFiles(
  { hiddenPaths = [], audit, secrets = [] }: Pick<ServerOptions, "hiddenPaths" | "audit" | "secrets">,
  files: Partial<ServerFiles> = {},
): ServerFiles {
  return {
    ...files,
    hiddenPaths: [
      ...hiddenPaths,
      ...(files.hiddenPaths ?? []),
      ...(audit === undefined ? [] : [resolve(audit.file)]),
      ...secrets.flatMap(({ path }) => path ?? []),
    ],
    // What prints a secret runs outside every sandbox.
    trustedPaths: [...(files.trustedPaths ?? []), ...secrets.flatMap(({ command }) => command?.[0] ?? [])],
  };
}

import { resolve } from "node:path";
import { silentLogger } from "../../base/logger.ts";
import type { ServerOptions } from "../server-options.ts";
import type { RightsContext } from "./rights.ts";

/** What the rights of tokens depend on. */
export function rightsContext({
  environment,
  logger = silentLogger,
  hiddenPaths = [],
  audit,
  limits,
}: ServerOptions): RightsContext {
  return {
    temporaryDirectory: environment?.["TMPDIR"],
    logger,
    hiddenPaths: [...hiddenPaths, ...(audit === undefined ? [] : [resolve(audit.file)])],
    fsRoots: limits?.fsRoots ?? [],
  };
}

import { UsageError } from "../../base/errors.ts";
import { resolveWorkdir } from "../../client/tools/working-directory.ts";

/** The path that a model has given, relative to the directory in which commands start. */
export function absolutePath(tool: string, path: string, cwd: string): string {
  if (path.startsWith("file:")) throw new UsageError(`${tool}: path must be a plain path, not a URI`);
  if (path === "~" || path.startsWith("~/"))
    throw new UsageError(`${tool}: ~ means nothing here; write the home directory out`);
  return resolveWorkdir(path, cwd)!;
}

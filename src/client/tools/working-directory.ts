import { UsageError } from "../../base/errors.ts";
import { pathFromUri } from "../../base/file-uri.ts";

/** The path of a directory that the server names by URI, if this side can spell it. */
export function pathOfServer(uri: string | null | undefined): string | undefined {
  if (uri === null || uri === undefined) return undefined;
  try {
    const path = pathFromUri(uri);
    return typeof path === "string" ? path : undefined;
  } catch {
    // A server of another system; it uses its own directory when none is sent.
    return undefined;
  }
}

/** Where a command runs: what the model asks for, seen from where commands run by default. */
export function resolveWorkdir(workdir: string, base: string | undefined): string | undefined {
  if (workdir === "") return base;
  if (workdir.startsWith("/")) return workdir;
  if (base === undefined)
    throw new UsageError(`exec_command: workdir must be an absolute path, not ${JSON.stringify(workdir)}`);
  let end = base.length;
  while (base[end - 1] === "/") end -= 1;
  return `${base.slice(0, end)}/${workdir}`;
}

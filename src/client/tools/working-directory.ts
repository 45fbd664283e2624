import { UsageError } from "../../base/errors.ts";
import { pathFromUri } from "../../base/file-uri.ts";

/** Path of a directory that the server names by URI, if it is a path of this kind of system. */
export function pathOfServer(uri: string | null | undefined): string | undefined {
  if (uri === null || uri === undefined) return undefined;
  try {
    const path = pathFromUri(uri);
    return typeof path === "string" ? path : undefined;
  } catch {
    // The server runs another system; it uses its own directory if none is sent.
    return undefined;
  }
}

/** Resolves a command's working directory against the default one. */
export function resolveWorkdir(workdir: string, base: string | undefined): string | undefined {
  if (workdir === "") return base;
  if (workdir.startsWith("/")) return workdir;
  if (base === undefined)
    throw new UsageError(`exec_command: workdir must be an absolute path, not ${JSON.stringify(workdir)}`);
  let end = base.length;
  while (base[end - 1] === "/") end -= 1;
  return `${base.slice(0, end)}/${workdir}`;
}

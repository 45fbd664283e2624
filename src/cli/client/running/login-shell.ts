import { pathFromUri } from "../../../base/file-uri.ts";
import type { Host } from "../../../client/host/host.ts";

/** The command line of a login shell on the server's machine. */
export function loginShell(host: Host): readonly string[] {
  return [host.environment?.shell.path ?? "/bin/sh", "-l"];
}

/** The home directory there, where a login shell starts. */
export function homeOf(host: Host): { cwd?: string } {
  const uri = host.environment?.userHomeDir;
  const home = typeof uri === "string" ? pathFromUri(uri) : undefined;
  return typeof home === "string" ? { cwd: home } : {};
}

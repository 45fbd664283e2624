import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { homedir, hostname, tmpdir, userInfo } from "node:os";
import { basename } from "node:path";

/** What clients may want to know of the machine before they ask it for anything. */
export interface HostInfo {
  readonly shell: { readonly name: string; readonly path: string };
  readonly cwd: string;
  readonly homeDirectory: string;
  readonly platform: string;
  /** TMPDIR, where it is set. */
  readonly temporaryDirectories: readonly string[];
  readonly temporaryDirectory: string;
  /** The same for every start of this installation. */
  readonly installationId: string;
}

const KNOWN_SHELLS = new Set(["zsh", "bash", "sh"]);

export function readHostInfo(environment: Readonly<Record<string, string | undefined>>): HostInfo {
  const { TMPDIR, HOME } = environment;
  const homeDirectory = HOME !== undefined && HOME.startsWith("/") ? HOME : homedir();
  return {
    shell: findShell(),
    cwd: process.cwd(),
    homeDirectory,
    platform: process.platform,
    temporaryDirectories: TMPDIR === undefined || TMPDIR === "" ? [] : [TMPDIR],
    temporaryDirectory: TMPDIR === undefined || TMPDIR === "" ? tmpdir() : TMPDIR,
    installationId: createHash("sha256").update(`${hostname()}\0${homeDirectory}\0exec-server`).digest("hex"),
  };
}

/** The account's login shell if clients know how to use it, else the best that is there. */
function findShell(): { name: string; path: string } {
  const login = userInfo().shell;
  const candidates = [...(login === null ? [] : [login]), "/bin/bash", "/bin/sh"];
  const path =
    candidates.find((shell) => KNOWN_SHELLS.has(basename(shell)) && existsSync(shell)) ?? "/bin/sh";
  return { name: basename(path), path };
}

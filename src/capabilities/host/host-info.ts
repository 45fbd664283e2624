import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { hostname, tmpdir } from "node:os";
import { basename } from "node:path";
import { ownAccount } from "../../native/account.ts";

/** Facts about the machine for the handshake. */
export interface HostInfo {
  readonly shell: { readonly name: string; readonly path: string };
  readonly cwd: string;
  readonly homeDirectory: string;
  readonly platform: string;
  /** TMPDIR, if set. */
  readonly temporaryDirectories: readonly string[];
  readonly temporaryDirectory: string;
  /** Stable across starts of this installation. */
  readonly installationId: string;
}

const KNOWN_SHELLS = new Set(["zsh", "bash", "sh"]);

export function readHostInfo(environment: Readonly<Record<string, string | undefined>>): HostInfo {
  const { TMPDIR, HOME } = environment;
  const homeDirectory = HOME !== undefined && HOME.startsWith("/") ? HOME : (ownAccount()?.home ?? "/");
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

/** The account's login shell if clients support it, otherwise the best available one. */
function findShell(): { name: string; path: string } {
  const login = ownAccount()?.shell;
  const candidates = [...(login === undefined ? [] : [login]), "/bin/bash", "/bin/sh"];
  const path =
    candidates.find((shell) => KNOWN_SHELLS.has(basename(shell)) && existsSync(shell)) ?? "/bin/sh";
  return { name: basename(path), path };
}

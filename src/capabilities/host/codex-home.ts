import { realpathSync, statSync } from "node:fs";
import { join } from "node:path";
import { CapabilityError } from "../../base/errors.ts";
import { resultOr } from "../../native/result-or.ts";

/** Codex's directories on this machine. */
export interface CodexHome {
  /** The user's home directory. */
  readonly userDirectory: string;
  /** Looked up each time, because it may be created or moved while the server runs. Throws if it does not exist. */
  locate(): string;
}

export function findCodexHome(
  environment: Readonly<Record<string, string | undefined>>,
  userDirectory: string,
): CodexHome {
  const { CODEX_HOME } = environment;
  return {
    userDirectory,
    locate: () =>
      CODEX_HOME === undefined || CODEX_HOME === "" ? join(userDirectory, ".codex") : resolveHome(CODEX_HOME),
  };
}

/** An explicitly configured home must exist; only the default may be missing. */
function resolveHome(named: string): string {
  const refuse = (why: string) =>
    new CapabilityError("OS_ERROR", `CODEX_HOME points to ${JSON.stringify(named)}, but that path ${why}`);
  const directory = resultOr(undefined, () => realpathSync(named));
  if (directory === undefined) throw refuse("does not exist");
  if (!statSync(directory).isDirectory()) throw refuse("is not a directory");
  return directory;
}

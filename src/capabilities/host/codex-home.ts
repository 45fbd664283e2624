import { realpathSync, statSync } from "node:fs";
import { join } from "node:path";
import { CapabilityError } from "../../base/errors.ts";

/** Where Codex keeps its things on this machine. */
export interface CodexHome {
  /** The user's own home. */
  readonly userDirectory: string;
  /** Asked anew each time, because it may be made or moved while the server runs. Throws when there is none. */
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

/** A home that was asked for must be there; only the default one may be missing. */
function resolveHome(named: string): string {
  const refuse = (why: string) =>
    new CapabilityError("OS_ERROR", `CODEX_HOME points to ${JSON.stringify(named)}, but that path ${why}`);
  let directory: string;
  try {
    directory = realpathSync(named);
  } catch {
    throw refuse("does not exist");
  }
  if (!statSync(directory).isDirectory()) throw refuse("is not a directory");
  return directory;
}

import { join } from "node:path";

/** Where Codex keeps its things on this machine. */
export interface CodexHome {
  readonly directory: string;
  readonly skillsDirectory: string;
}

export function findCodexHome(
  environment: Readonly<Record<string, string | undefined>>,
  homeDirectory: string,
): CodexHome {
  const { CODEX_HOME } = environment;
  const directory =
    CODEX_HOME === undefined || CODEX_HOME === "" ? join(homeDirectory, ".codex") : CODEX_HOME;
  return { directory, skillsDirectory: join(directory, "skills") };
}

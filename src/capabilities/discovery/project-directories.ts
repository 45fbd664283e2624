import { existsSync, realpathSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { configError } from "./config-file.ts";
import { isTable, type TomlTable } from "./toml-writer.ts";

const REPOSITORY = ".git";

/** The directories from the root of the project around `cwd` down to it, as far as the user trusts them. Throws when the settings make no sense. */
export function trustedDirectories(cwd: string | undefined, settings: TomlTable): string[] {
  const markers = readMarkers(settings["project_root_markers"]);
  const levels = readTrustLevels(settings["projects"]);
  if (levels.size === 0 || cwd === undefined) return [];
  const upwards = ancestorsOf(cwd);
  const root = upwards.find((directory) => markers.some((marker) => isMarked(directory, marker))) ?? cwd;
  const repository = upwards.find(isRepository);
  const levelOf = (directory: string) => levels.get(directory) ?? levels.get(realPathOf(directory));
  const shared = levelOf(root) ?? (repository === undefined ? undefined : levelOf(repository));
  return upwards
    .slice(0, upwards.indexOf(root) + 1)
    .reverse()
    .filter((directory) => (levelOf(directory) ?? shared) === "trusted");
}

function readMarkers(value: unknown): readonly string[] {
  if (value === undefined) return [REPOSITORY];
  if (Array.isArray(value) && value.every((marker) => typeof marker === "string")) return value;
  throw configError("project_root_markers must be an array of strings");
}

/** All of them are checked: a slip of the pen elsewhere may be about this very directory. */
function readTrustLevels(value: unknown): ReadonlyMap<string, string> {
  const levels = new Map<string, string>();
  if (value === undefined) return levels;
  if (!isTable(value)) throw configError("expected a map\nin `projects`\n");
  for (const [path, settings] of Object.entries(value)) {
    if (!isTable(settings)) throw configError(`expected a table\nin \`projects.${path}\`\n`);
    const level = settings["trust_level"];
    if (level === undefined) continue;
    if (level !== "trusted" && level !== "untrusted") {
      const found = typeof level === "string" ? `unknown variant \`${level}\`` : "invalid type";
      throw configError(
        `${found}, expected \`trusted\` or \`untrusted\`\nin \`projects.${path}.trust_level\`\n`,
      );
    }
    levels.set(path, level);
  }
  return levels;
}

/** The directory itself, then those it is in. */
function ancestorsOf(directory: string): string[] {
  const ancestors = [directory];
  for (let at = directory, above = dirname(at); above !== at; at = above, above = dirname(at))
    ancestors.push(above);
  return ancestors;
}

function isMarked(directory: string, marker: string): boolean {
  return marker === REPOSITORY ? isRepository(directory) : existsSync(join(directory, marker));
}

/** A directory without a HEAD is no repository; a file stands for one that is elsewhere. */
function isRepository(directory: string): boolean {
  const path = join(directory, REPOSITORY);
  try {
    return statSync(path).isFile() || existsSync(join(path, "HEAD"));
  } catch {
    return false;
  }
}

export function realPathOf(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return path;
  }
}

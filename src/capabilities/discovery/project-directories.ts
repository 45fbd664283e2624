import { resultOr } from "../../native/result-or.ts";
import { showPath } from "../files/native-path.ts";
import type { Location } from "../files/location.ts";
import { configError } from "./config-file.ts";
import { isTable, type TomlTable } from "./toml-writer.ts";

const REPOSITORY = ".git";

/**
 * Directories from the project's root down to `cwd`, as far as the user trusts them and access allows. Throws if the
 * settings are invalid.
 */
export async function trustedDirectories(
  cwd: Location | undefined,
  settings: TomlTable,
): Promise<Location[]> {
  const markers = readMarkers(settings["project_root_markers"]);
  const levels = readTrustLevels(settings["projects"]);
  if (levels.size === 0 || cwd === undefined) return [];
  // Fails if `cwd` is outside the allowed roots.
  const upwards = resultOr([], () => cwd.upwards());
  const marked = await findIndex(upwards, (directory) => isMarked(directory, markers));
  const repository = await findIndex(upwards, isRepository);
  const inProject = upwards.slice(0, Math.max(marked, 0) + 1);
  const levelOf = async (directory: Location | undefined): Promise<string | undefined> =>
    directory && (levels.get(directory.shown) ?? levels.get(await realPathOf(directory)));
  const shared = (await levelOf(inProject.at(-1))) ?? (await levelOf(upwards[repository]));
  const trusted: Location[] = [];
  for (const directory of inProject.reverse())
    if (((await levelOf(directory)) ?? shared) === "trusted") trusted.push(directory);
  return trusted;
}

/** Index of the first match, or -1. */
async function findIndex(
  directories: readonly Location[],
  matches: (directory: Location) => Promise<boolean>,
): Promise<number> {
  for (const [index, directory] of directories.entries()) if (await matches(directory)) return index;
  return -1;
}

function readMarkers(value: unknown): readonly string[] {
  if (value === undefined) return [REPOSITORY];
  if (Array.isArray(value) && value.every((marker) => typeof marker === "string")) return value;
  throw configError("project_root_markers must be an array of strings");
}

/** Validates all entries: a mistyped one may be meant for this very directory. */
function readTrustLevels(value: unknown): ReadonlyMap<string, string> {
  const levels = new Map<string, string>();
  if (value === undefined) return levels;
  if (!isTable(value)) throw configError("expected a map\nin `projects`\n");
  for (const [path, settings] of Object.entries(value)) {
    if (!isTable(settings)) throw configError(`expected a table\nin \`projects.${path}\`\n`);
    const level = settings["trust_level"];
    if (level === undefined) continue;
    if (level !== "trusted" && level !== "untrusted") {
      const problem = typeof level === "string" ? `unknown variant \`${level}\`` : "invalid type";
      throw configError(
        `${problem}, expected \`trusted\` or \`untrusted\`\nin \`projects.${path}.trust_level\`\n`,
      );
    }
    levels.set(path, level);
  }
  return levels;
}

async function isMarked(directory: Location, markers: readonly string[]): Promise<boolean> {
  for (const marker of markers)
    if (await (marker === REPOSITORY ? isRepository(directory) : exists(directory.child(marker))))
      return true;
  return false;
}

/** A directory without a HEAD is not a repository; a file points to a repository elsewhere. */
async function isRepository(directory: Location): Promise<boolean> {
  const location = directory.child(REPOSITORY);
  const stat = await location.stat().catch(() => undefined);
  return stat !== undefined && (stat.isFile() || exists(location.child("HEAD")));
}

async function exists(location: Location): Promise<boolean> {
  return (await location.stat().catch(() => undefined)) !== undefined;
}

export function realPathOf(location: Location): Promise<string> {
  return location.realPath().then(showPath, () => location.shown);
}

import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { CapabilityError } from "../../base/errors.ts";

type Toml = typeof import("smol-toml");
type Table = Record<string, unknown>;

/** A configuration file, cut down to the keys that were asked for. */
export interface ConfigLayer {
  /** What it is and where: `user (/home/x/.codex/config.toml)`. */
  readonly source: string;
  readonly baseDirectory: string;
  readonly toml: string;
}

/** Each path is a list of keys. */
export type KeyPaths = readonly (readonly string[])[];

const CONFIG_FILE = "config.toml";
const PROJECT_DIRECTORY = ".codex";
const SYSTEM_CONFIG = "/etc/codex/config.toml";
const SYSTEM_REQUIREMENTS = "/etc/codex/requirements.toml";

/**
 * The Codex configuration of this machine that applies in a directory, from the weakest to the strongest: the system's, the user's, and that of each
 * project directory on the way to `cwd`, if the user has marked the project as trusted. Layers without any of the keys are left out.
 */
export async function readConfigLayers(
  cwd: string,
  codexHome: string,
  paths: KeyPaths,
): Promise<ConfigLayer[]> {
  const toml = await import("smol-toml");
  const userFile = join(codexHome, CONFIG_FILE);
  const user = readToml(toml, userFile);
  const files: { kind: string; file: string; table: Table | undefined }[] = [
    { kind: "system", file: SYSTEM_CONFIG, table: readToml(toml, SYSTEM_CONFIG) },
    { kind: "user", file: userFile, table: user },
    ...projectFiles(cwd, user ?? {})
      .filter((file) => file !== userFile)
      .map((file) => ({ kind: "project", file, table: readToml(toml, file) })),
  ];
  return files.flatMap(({ kind, file, table }) => project(toml, `${kind} (${file})`, file, table, paths));
}

/** What the machine's administrator demands. */
export async function readRequirementLayers(paths: KeyPaths): Promise<ConfigLayer[]> {
  const toml = await import("smol-toml");
  return project(
    toml,
    `system (${SYSTEM_REQUIREMENTS})`,
    SYSTEM_REQUIREMENTS,
    readToml(toml, SYSTEM_REQUIREMENTS),
    paths,
  );
}

function readToml(toml: Toml, file: string): Table | undefined {
  if (!existsSync(file)) return undefined;
  try {
    return toml.parse(readFileSync(file, "utf8"));
  } catch (error) {
    const reason = error instanceof Error ? error.message.split("\n", 1)[0] : String(error);
    throw new CapabilityError("OS_ERROR", `failed to load executor-local config: ${file}: ${reason}`);
  }
}

/** Configuration of the project around `cwd`, outermost first. A project that the user does not trust has none. */
function projectFiles(cwd: string, user: Table): string[] {
  const ancestors = ancestorsOf(cwd);
  const root = ancestors.findLast((directory) => existsSync(join(directory, ".git"))) ?? cwd;
  const projects = (user["projects"] ?? {}) as Record<string, { trust_level?: unknown } | undefined>;
  const trusted = [cwd, root].some((directory) => projects[directory]?.trust_level === "trusted");
  if (!trusted) return [];
  return ancestors
    .filter((directory) => directory === root || directory.startsWith(`${root}/`))
    .map((directory) => join(directory, PROJECT_DIRECTORY, CONFIG_FILE))
    .filter((file) => existsSync(file));
}

/** From the root of the file system down to the directory itself. */
function ancestorsOf(directory: string): string[] {
  const parent = dirname(directory);
  return parent === directory ? [directory] : [...ancestorsOf(parent), directory];
}

function project(
  toml: Toml,
  source: string,
  file: string,
  table: Table | undefined,
  paths: KeyPaths,
): ConfigLayer[] {
  if (table === undefined) return [];
  const selected: Table = {};
  for (const path of paths) select(table, path, selected);
  if (Object.keys(selected).length === 0) return [];
  const text = toml.stringify(selected);
  return [{ source, baseDirectory: dirname(file), toml: text.endsWith("\n") ? text : `${text}\n` }];
}

/** Copies the value at a path, with the tables on the way to it. */
function select(from: Table, [key, ...rest]: readonly string[], into: Table): void {
  if (key === undefined || !Object.hasOwn(from, key)) return;
  const value = from[key];
  if (rest.length === 0) {
    into[key] = value;
  } else if (typeof value === "object" && value !== null && !Array.isArray(value)) {
    const inner = (into[key] ?? {}) as Table;
    into[key] = inner;
    select(value as Table, rest, inner);
  }
}

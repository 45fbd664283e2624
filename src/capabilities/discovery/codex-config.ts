import { dirname, join } from "node:path";
import { CapabilityError } from "../../base/errors.ts";
import { ownLocation, type Location } from "../files/location.ts";
import { readConfigFile } from "./config-file.ts";
import { type KeyPaths, selectKeys } from "./config-projection.ts";
import { realPathOf, trustedDirectories } from "./project-directories.ts";
import { type TomlTable, writeToml } from "./toml-writer.ts";

/** A configuration file, reduced to the requested keys. */
export interface ConfigLayer {
  /** Kind and location: `user (/home/x/.codex/config.toml)`. */
  readonly source: string;
  readonly baseDirectory: string;
  readonly toml: string;
}

const CONFIG_FILE = "config.toml";
const PROJECT_DIRECTORY = ".codex";
const SYSTEM_CONFIG = "/etc/codex/config.toml";
const SYSTEM_REQUIREMENTS = "/etc/codex/requirements.toml";

/**
 * Settings that projects must not change, trusted or not: destinations of requests and credentials, notifications, and
 * which settings apply.
 */
const WITHHELD_FROM_PROJECTS = new Set([
  "apps_mcp_product_sku",
  "chatgpt_base_url",
  "experimental_realtime_webrtc_call_base_url",
  "experimental_realtime_ws_base_url",
  "model_provider",
  "model_providers",
  "notify",
  "openai_base_url",
  "otel",
  "profile",
  "profiles",
  "responses_api_metadata",
]);

/**
 * The Codex configuration of this machine that applies to a directory, from weakest to strongest: the system's, the
 * user's, and that of each trusted project directory on the way to `cwd`. Layers without any of the keys are omitted.
 */
export async function readConfigLayers(
  cwd: Location | undefined,
  codexHome: string,
  paths: KeyPaths,
): Promise<ConfigLayer[]> {
  const userFile = join(codexHome, CONFIG_FILE);
  const system = await readConfigFile(ownLocation(SYSTEM_CONFIG));
  const user = await readConfigFile(ownLocation(userFile));
  const layers = [
    ...toLayer("system", SYSTEM_CONFIG, system, paths),
    ...toLayer("user", userFile, user, paths),
  ];
  const projectPaths = paths.filter(([key]) => key !== undefined && !WITHHELD_FROM_PROJECTS.has(key));
  const home = await realPathOf(ownLocation(codexHome));
  for (const directory of await trustedDirectories(cwd, user ?? {})) {
    const settings = directory.child(PROJECT_DIRECTORY);
    if ((await realPathOf(settings)) === home) continue;
    const file = settings.child(CONFIG_FILE);
    layers.push(...toLayer("project", file.shown, await readProjectFile(file), projectPaths));
  }
  return layers;
}

/** Requirements set by the machine's administrator. */
export async function readRequirementLayers(paths: KeyPaths): Promise<ConfigLayer[]> {
  return toLayer(
    "system",
    SYSTEM_REQUIREMENTS,
    await readConfigFile(ownLocation(SYSTEM_REQUIREMENTS)),
    paths,
  );
}

/** A link to a path outside the allowed roots counts as missing: the client did not ask for this file by name. */
async function readProjectFile(file: Location): Promise<TomlTable | undefined> {
  try {
    return await readConfigFile(file, "project config");
  } catch (error) {
    if (error instanceof CapabilityError && error.code === "PERMISSION_DENIED") return undefined;
    throw error;
  }
}

function toLayer(kind: string, file: string, table: TomlTable | undefined, paths: KeyPaths): ConfigLayer[] {
  const selected = selectKeys(table ?? {}, paths);
  if (Object.keys(selected).length === 0) return [];
  return [{ source: `${kind} (${file})`, baseDirectory: dirname(file), toml: writeToml(selected) }];
}

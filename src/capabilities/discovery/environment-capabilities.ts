import { join } from "node:path";
import { CapabilityError } from "../../base/errors.ts";
import { resultOr } from "../../native/result-or.ts";
import { ownLocation } from "../files/location.ts";
import { type CapabilityRoot, discoverRoot, type Plugin } from "./capability-root.ts";
import { findInstalledPlugins, type InstalledPlugin } from "./installed-plugins.ts";
import { displayNameOf } from "./plugin-manifest.ts";
import { describeSkill, type SkillDescription } from "./skills.ts";

export interface PluginDescription extends InstalledPlugin {
  readonly displayName: string;
  readonly files: Plugin;
  readonly skills: readonly SkillDescription[];
}

interface SkillRoot {
  readonly id: string;
  readonly directory: string;
  readonly skills: readonly SkillDescription[];
}

/** Capabilities of this machine that agents have in every directory. */
export interface EnvironmentCapabilities {
  readonly plugins: readonly PluginDescription[];
  readonly skillRoots: readonly SkillRoot[];
  readonly warnings: readonly string[];
}

// These say that something is missing, but not what: no client named these directories, and their names may be private.
const UNRESOLVED = "some capability locations could not be resolved; discovery may be incomplete";
const INCOMPLETE = "some capability metadata could not be loaded; discovery may be incomplete";

/** Finds installed plugins and the user's skills. Unusable ones are omitted, with one warning per location. */
export async function discoverEnvironment(
  codexHome: string,
  userDirectory: string,
): Promise<EnvironmentCapabilities> {
  const installed = await findInstalledPlugins(join(codexHome, "plugins", "cache"));
  const warnings = installed.complete ? [] : [UNRESOLVED];
  const plugins: PluginDescription[] = [];
  for (const plugin of installed.plugins) {
    const { root, skills, complete } = await readRoot(plugin.directory);
    const description = root && describePlugin(plugin, root, skills);
    if (description !== undefined) plugins.push(description);
    if (!complete || description === undefined) warnings.push(INCOMPLETE);
  }
  const skillRoots: SkillRoot[] = [];
  for (const { id, directory } of [
    { id: "codex-home-skills", directory: join(codexHome, "skills") },
    { id: "user-agent-skills", directory: join(userDirectory, ".agents", "skills") },
  ]) {
    const { skills, complete } = await readRoot(directory);
    skillRoots.push({ id, directory, skills });
    if (!complete) warnings.push(INCOMPLETE);
  }
  return { plugins, skillRoots, warnings };
}

async function readRoot(directory: string) {
  let root: CapabilityRoot;
  try {
    root = await discoverRoot(ownLocation(directory));
  } catch (error) {
    // The directory is optional.
    if (error instanceof CapabilityError) return { root: undefined, skills: [], complete: true };
    throw error;
  }
  const skills: SkillDescription[] = [];
  for (const files of root.skills) {
    const skill = await describeSkill(files, root.namespaceManifests).catch(() => undefined);
    if (skill !== undefined) skills.push(skill);
  }
  return { root, skills, complete: root.warnings.length === 0 && skills.length === root.skills.length };
}

/** Undefined if it is not a plugin, or its manifest cannot be used. */
function describePlugin(
  installed: InstalledPlugin,
  { plugin: files }: CapabilityRoot,
  skills: readonly SkillDescription[],
): PluginDescription | undefined {
  if (files === undefined) return undefined;
  const displayName = resultOr(undefined, () => displayNameOf(files.manifest));
  return displayName === undefined ? undefined : { ...installed, displayName, files, skills };
}

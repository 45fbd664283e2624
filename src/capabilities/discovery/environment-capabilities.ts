import { join } from "node:path";
import { CapabilityError } from "../../base/errors.ts";
import { ownPlace } from "../files/place.ts";
import { type CapabilityRoot, discoverRoot, type Plugin } from "./capability-root.ts";
import { findInstalledPlugins, type InstalledPlugin } from "./installed-plugins.ts";
import { displayNameOf } from "./plugin-manifest.ts";
import { describeSkill, type SkillDescription } from "./skills.ts";

export interface PluginDescription extends InstalledPlugin {
  readonly displayName: string;
  readonly files: Plugin;
  readonly skills: readonly SkillDescription[];
}

export interface SkillRoot {
  readonly id: string;
  readonly directory: string;
  readonly skills: readonly SkillDescription[];
}

/** What this machine offers to agents wherever they work. */
export interface EnvironmentCapabilities {
  readonly plugins: readonly PluginDescription[];
  readonly skillRoots: readonly SkillRoot[];
  readonly warnings: readonly string[];
}

// They tell that something is missing, and not what: nobody asked for these directories, and their names may be private.
const UNRESOLVED = "some capability locations could not be resolved; discovery may be incomplete";
const INCOMPLETE = "some capability metadata could not be loaded; discovery may be incomplete";

/** Finds the plugins that are installed and the skills of the user. What cannot be used is left out, with a warning for each place. */
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

interface ReadRoot {
  readonly root: CapabilityRoot | undefined;
  readonly skills: readonly SkillDescription[];
  readonly complete: boolean;
}

async function readRoot(directory: string): Promise<ReadRoot> {
  let root: CapabilityRoot;
  try {
    root = await discoverRoot(ownPlace(directory));
  } catch (error) {
    // Nobody has to have such a directory.
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

/** Undefined when it is no plugin, or its manifest cannot be used. */
function describePlugin(
  installed: InstalledPlugin,
  { plugin: files }: CapabilityRoot,
  skills: readonly SkillDescription[],
): PluginDescription | undefined {
  if (files === undefined) return undefined;
  try {
    return { ...installed, displayName: displayNameOf(files.manifest), files, skills };
  } catch {
    return undefined;
  }
}

import { CapabilityError } from "../../base/errors.ts";
import { resultOr } from "../../native/result-or.ts";
import { fileError } from "../files/file-error.ts";
import type { Location } from "../files/location.ts";
import { walk } from "../files/walk.ts";
import { isObject, type Members, parseMembers } from "./plugin-manifest.ts";
import { CapabilityFiles, directoryOf, manifestLocations, type TextFile } from "./capability-files.ts";

export interface Plugin {
  readonly manifest: TextFile;
  readonly mcpConfig: TextFile | undefined;
  readonly appsConfig: TextFile | undefined;
}

export interface SkillFiles {
  readonly instructions: TextFile;
  readonly metadata: TextFile | undefined;
}

export interface CapabilityRoot {
  readonly plugin: Plugin | undefined;
  readonly skills: readonly SkillFiles[];
  /** The manifest that names the root's plugin (its own or the nearest above), then those below. */
  readonly namespaceManifests: readonly TextFile[];
  readonly warnings: readonly string[];
}

const LIMITS = {
  maxDepth: 6,
  maxDirectories: 2_000,
  maxEntries: 20_000,
  followDirectorySymlinks: true,
  pruneHiddenDirectories: false,
};
const SKILL_FILE = "SKILL.md";
const MANIFEST = /\/\.(?:codex|claude|cursor)-plugin\/plugin\.json$/;

/**
 * Finds what a directory offers to an agent: a plugin, and skills anywhere below it. Throws if it is not a directory.
 */
export async function discoverRoot(root: Location): Promise<CapabilityRoot> {
  const { uri } = root;
  await checkDirectory(root);
  const files = new CapabilityFiles();
  const plugin = await readPlugin(root, files);
  const { entries, errors, truncated } = await walk(root, LIMITS);
  for (const error of errors)
    files.warnings.push(`failed to inspect ${error.location.uri}: ${error.message}`);
  if (truncated) files.warnings.push(`capability scan reached its traversal limit (root: ${uri})`);
  const paths = entries
    .filter(({ kind }) => kind === "file")
    .map(({ location }) => ({ location, uri: location.uri }))
    .sort((left, right) => (left.uri < right.uri ? -1 : 1));
  return {
    plugin,
    skills: await readSkills(
      paths.filter((entry) => entry.uri.endsWith(`/${SKILL_FILE}`)).map(({ location }) => location),
      files,
    ),
    namespaceManifests: await readNamespaces(
      root,
      plugin,
      paths.filter((entry) => MANIFEST.test(entry.uri)).map(({ location }) => location),
      files,
    ),
    warnings: files.warnings,
  };
}

async function checkDirectory(root: Location): Promise<void> {
  let isDirectory: boolean;
  try {
    isDirectory = (await root.stat()).isDirectory();
  } catch (error) {
    const { message } = fileError(error) as Error;
    throw new CapabilityError("OS_ERROR", `failed to inspect capability root ${root.uri}: ${message}`);
  }
  if (!isDirectory) throw new CapabilityError("OS_ERROR", `capability root ${root.uri} is not a directory`);
}

async function readPlugin(root: Location, files: CapabilityFiles): Promise<Plugin | undefined> {
  const manifest = await readManifest(root, files);
  if (manifest === undefined) return undefined;
  // The reader of the manifest decides how to report a broken one.
  const members = resultOr<Members, Members>({}, () => parseMembers(manifest));
  // The manifest may define servers inline, without a file.
  const inline = isObject(members["mcpServers"]);
  const named = async (member: string, fallback: string): Promise<TextFile | undefined> =>
    files.read(root.child(namedPath(members[member], member, manifest, files) ?? fallback));
  return {
    manifest,
    mcpConfig: inline ? undefined : await named("mcpServers", ".mcp.json"),
    appsConfig: await named("apps", ".app.json"),
  };
}

async function readManifest(directory: Location, files: CapabilityFiles): Promise<TextFile | undefined> {
  for (const location of manifestLocations(directory)) {
    const manifest = await files.read(location);
    if (manifest !== undefined) return manifest;
  }
  return undefined;
}

/** The file named by a member of the manifest, relative to the root; undefined if it names no usable file. */
function namedPath(
  value: unknown,
  member: string,
  manifest: TextFile,
  files: CapabilityFiles,
): string | undefined {
  if (typeof value !== "string") return undefined;
  const ignore = (why: string): undefined => {
    files.warnings.push(`ignoring ${member} in ${manifest.location.uri}: ${why}`);
  };
  if (!value.startsWith("./")) return ignore("path must start with `./`");
  const parts = value.split("/").filter((part) => part !== "" && part !== ".");
  if (parts.length === 0 || parts.includes("..")) return ignore("path must remain below the capability root");
  return parts.join("/");
}

async function readSkills(locations: readonly Location[], files: CapabilityFiles): Promise<SkillFiles[]> {
  const skills: SkillFiles[] = [];
  for (const location of locations) {
    const instructions = await files.read(location);
    if (instructions === undefined) continue;
    const metadata = await files.read(location.parent.child("agents/openai.yaml"));
    skills.push({ instructions, metadata });
  }
  return skills;
}

async function readNamespaces(
  root: Location,
  plugin: Plugin | undefined,
  below: readonly Location[],
  files: CapabilityFiles,
): Promise<TextFile[]> {
  const own = plugin?.manifest ?? (await readNearestManifest(root, files));
  const seen = new Set<string>(own === undefined ? [] : [directoryOf(own.location).key]);
  const manifests = own === undefined ? [] : [own];
  for (const location of below) {
    const directory = directoryOf(location);
    if (seen.has(directory.key)) continue;
    const manifest = await readManifest(directory, files);
    if (manifest === undefined) continue;
    seen.add(directory.key);
    manifests.push(manifest);
  }
  return manifests;
}

/** Searches the parent directories. */
async function readNearestManifest(root: Location, files: CapabilityFiles): Promise<TextFile | undefined> {
  for (let directory = root; !directory.isTop; ) {
    directory = directory.parent;
    const manifest = await readManifest(directory, files);
    if (manifest !== undefined) return manifest;
  }
  return undefined;
}

import { lstatSync, statSync } from "node:fs";
import { CapabilityError } from "../../base/errors.ts";
import { uriFromPath } from "../../base/file-uri.ts";
import { fileError } from "../files/file-error.ts";
import { joinPath, type NativePath, splitPath } from "../files/native-path.ts";
import { walk } from "../files/walk.ts";
import { CapabilityFiles, manifestPaths, type TextFile } from "./capability-files.ts";

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
  /** The manifest that names the root's plugin, its own or the nearest above, then those below. */
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

/** Finds what a directory offers to an agent: a plugin, and skills anywhere in it. Throws when it is no directory. */
export async function discoverRoot(root: NativePath): Promise<CapabilityRoot> {
  const uri = uriFromPath(root);
  checkDirectory(root, uri);
  const files = new CapabilityFiles();
  const plugin = await readPlugin(root, files);
  const { entries, errors, truncated } = await walk(root, LIMITS);
  for (const error of errors)
    files.warnings.push(`failed to inspect ${uriFromPath(error.path)}: ${error.message}`);
  if (truncated) files.warnings.push(`capability scan reached its traversal limit (root: ${uri})`);
  const paths = entries
    .filter(({ kind }) => kind === "file")
    .map(({ path }) => ({ path, uri: uriFromPath(path) }))
    .sort((left, right) => (left.uri < right.uri ? -1 : 1));
  return {
    plugin,
    skills: await readSkills(
      paths.filter((entry) => entry.uri.endsWith(`/${SKILL_FILE}`)).map(({ path }) => path),
      files,
    ),
    namespaceManifests: await readNamespaces(
      root,
      plugin,
      paths.filter((entry) => MANIFEST.test(entry.uri)).map(({ path }) => path),
      files,
    ),
    warnings: files.warnings,
  };
}

function checkDirectory(root: NativePath, uri: string): void {
  let isDirectory: boolean;
  try {
    lstatSync(root);
    isDirectory = statSync(root).isDirectory();
  } catch (error) {
    const { message } = fileError(error) as Error;
    throw new CapabilityError("OS_ERROR", `failed to inspect capability root ${uri}: ${message}`);
  }
  if (!isDirectory) throw new CapabilityError("OS_ERROR", `capability root ${uri} is not a directory`);
}

async function readPlugin(root: NativePath, files: CapabilityFiles): Promise<Plugin | undefined> {
  const manifest = await readManifest(root, files);
  if (manifest === undefined) return undefined;
  const members = parseObject(manifest.contents);
  // Servers may stand in the manifest itself; then there is no file.
  const inline = isObject(members["mcpServers"]);
  const named = async (member: string, fallback: string): Promise<TextFile | undefined> =>
    files.read(joinPath(root, namedPath(members[member], member, manifest, files) ?? fallback));
  return {
    manifest,
    mcpConfig: inline ? undefined : await named("mcpServers", ".mcp.json"),
    appsConfig: await named("apps", ".app.json"),
  };
}

async function readManifest(directory: NativePath, files: CapabilityFiles): Promise<TextFile | undefined> {
  for (const path of manifestPaths(directory)) {
    const manifest = await files.read(path);
    if (manifest !== undefined) return manifest;
  }
  return undefined;
}

/** The file that a member of the manifest names, relative to the root; undefined when it names none that may be used. */
function namedPath(
  value: unknown,
  member: string,
  manifest: TextFile,
  files: CapabilityFiles,
): string | undefined {
  if (typeof value !== "string") return undefined;
  const ignore = (why: string): undefined => {
    files.warnings.push(`ignoring ${member} in ${uriFromPath(manifest.path)}: ${why}`);
  };
  if (!value.startsWith("./")) return ignore("path must start with `./`");
  const parts = value.split("/").filter((part) => part !== "" && part !== ".");
  if (parts.length === 0 || parts.includes("..")) return ignore("path must remain below the capability root");
  return parts.join("/");
}

async function readSkills(paths: readonly NativePath[], files: CapabilityFiles): Promise<SkillFiles[]> {
  const skills: SkillFiles[] = [];
  for (const path of paths) {
    const instructions = await files.read(path);
    if (instructions === undefined) continue;
    const metadata = await files.read(joinPath(splitPath(path).directory, "agents/openai.yaml"));
    skills.push({ instructions, metadata });
  }
  return skills;
}

async function readNamespaces(
  root: NativePath,
  plugin: Plugin | undefined,
  found: readonly NativePath[],
  files: CapabilityFiles,
): Promise<TextFile[]> {
  const own = plugin?.manifest ?? (await readNearestManifest(splitPath(root).directory, files));
  const seen = new Set<string>(own === undefined ? [] : [directoryOf(own.path)]);
  const manifests = own === undefined ? [] : [own];
  for (const path of found) {
    if (seen.has(directoryOf(path))) continue;
    const manifest = await readManifest(splitPath(splitPath(path).directory).directory, files);
    if (manifest === undefined) continue;
    seen.add(directoryOf(path));
    manifests.push(manifest);
  }
  return manifests;
}

/** The directory that a manifest speaks for: the one its own directory is in. */
function directoryOf(manifest: NativePath): string {
  return uriFromPath(splitPath(splitPath(manifest).directory).directory);
}

async function readNearestManifest(
  directory: NativePath,
  files: CapabilityFiles,
): Promise<TextFile | undefined> {
  const manifest = await readManifest(directory, files);
  const { directory: parent } = splitPath(directory);
  if (manifest !== undefined || parent.length === directory.length) return manifest;
  return readNearestManifest(parent, files);
}

function parseObject(text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : {};
  } catch {
    // Its reader decides what to say about a broken manifest.
    return {};
  }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

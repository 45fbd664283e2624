import { Turns } from "../../turns.ts";
import { type AccessMap, weakest } from "./access-map.ts";
import { type Disk, systemDisk } from "./disk.ts";
import type { FileView, ViewMount } from "./file-view.ts";
import { ScanBudget, scanGlob } from "./glob-scan.ts";
import { childOf, isBelow, parentOf } from "./path-names.ts";
import { type CrossedLink, PathWalk } from "./path-walk.ts";
import { type Crossing, isOwn, layersOf, type PolicyLayer } from "./policy-layer.ts";
import { hideDirectories, hidingPlaces, namesOf, type ServerFiles } from "./server-files.ts";
import { type SandboxPolicy, SandboxRefusal } from "../policy/sandbox-policy.ts";

export interface ViewOptions {
  /** Are out of reach in every policy. Default: none. */
  readonly files?: ServerFiles;
  readonly disk?: Disk;
}

const NO_FILES: ServerFiles = { hiddenPaths: [] };

/** Bubblewrap takes longer for each further mount, and accepts three thousand at most. */
const MAX_MOUNTS = 1000;

/**
 * The view that a policy gives of the disk as it is now. Throws a SandboxRefusal if it cannot be enforced. It looks at
 * each path of the policy, and searches directories only for patterns.
 */
export function viewOf(policy: SandboxPolicy, options: ViewOptions = {}): FileView {
  const steps = viewSteps(policy, options);
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
  }
}

/** The same, without keeping others waiting while it searches. */
export async function viewInTurns(policy: SandboxPolicy, options: ViewOptions = {}): Promise<FileView> {
  const turns = new Turns();
  const steps = viewSteps(policy, options);
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
    if (turns.over) await turns.next();
  }
}

function* viewSteps(
  policy: SandboxPolicy,
  { files = NO_FILES, disk = systemDisk }: ViewOptions,
): Generator<undefined, FileView> {
  const walk = new PathWalk(disk);
  const layers = layersOf(policy, walk, disk);
  const places = hidingPlaces([...files.hiddenPaths, ...(files.maskedPaths ?? [])], walk);
  const maps = layers.map((layer) => layer.access);
  hideDirectories(maps, places, walk);
  const access = weakest(maps);
  for (const { crossings } of layers) for (const crossing of crossings) refuseWritableLink(crossing, access);
  yield* hideMatches(layers, access, walk, disk);
  const missing = layers.flatMap((layer) => layer.missing);
  const missingFiles: string[] = [];
  for (const { directory, file } of places) {
    if (file === undefined) access.mask(directory);
    else if (access.at(directory) !== "deny") hideByName(file, { access, walk, disk, missingFiles });
  }
  keepInPlace(files, { access, walk, missing });
  const links = layers.flatMap(({ crossings }) => crossings.flatMap(({ destination }) => destination.links));
  const view = assemble({ access, missing, missingFiles, links, walk, disk });
  if (view.mounts.length > MAX_MOUNTS)
    throw new SandboxRefusal(
      `a sandbox has at most ${MAX_MOUNTS} mounts, and this one would need ` +
        `${view.mounts.length}; deny directories instead of single files`,
    );
  return view;
}

/**
 * A link that can be replaced from inside would, at the next start, lead a rule wherever it points to then. Write
 * access that adds nothing is harmless.
 */
function refuseWritableLink({ path, access, destination }: Crossing, map: AccessMap): void {
  const link = destination.links.find((crossed) => map.at(parentOf(crossed.path)) === "write");
  if (link === undefined) return;
  if (access === "write" && map.at(parentOf(destination.path)) === "write") return;
  const what = { read: "read-only", write: "writable", deny: "deny-read" }[access];
  throw new SandboxRefusal(
    `cannot enforce sandbox ${what} path ${path} because it crosses writable symlink ${link.path}`,
  );
}

/** For a directory that cannot be hidden: what belongs to the file now. */
function hideByName(
  file: string,
  { access, walk, disk, missingFiles }: Omit<ViewParts, "missing" | "links">,
): void {
  if (walk.entryAt(file) === undefined) missingFiles.push(file);
  const directory = parentOf(file);
  const names = (disk.list(directory) ?? []).map(({ name }) => childOf(directory, name));
  for (const path of namesOf(file, [file, ...names])) {
    const kind = walk.entryAt(path)?.kind;
    if (kind === "file" || kind === "directory") access.mask(path);
  }
}

/** Hides sockets, protects what others may read, and reserves the directories of files that do not exist yet. */
function keepInPlace(
  { hiddenPaths, maskedPaths = [], socketPaths = [], trustedPaths = [] }: ServerFiles,
  { access, walk, missing }: Pick<ViewParts, "access" | "walk" | "missing">,
): void {
  for (const path of socketPaths) {
    const { kind, path: real } = walk.follow(path);
    if (kind === "file") access.mask(real);
  }
  for (const { directory, file = directory, isShared } of hidingPlaces(trustedPaths, walk)) {
    if (!isShared && access.own(directory) !== "write") access.protect(directory);
    else if (walk.entryAt(file)?.kind === "file") access.protect(file);
  }
  for (const path of [...hiddenPaths, ...maskedPaths, ...socketPaths, ...trustedPaths]) {
    const { kind, path: real, isWhole, links } = walk.follow(path);
    refuseReplaceable(links, access);
    if (kind === "missing" && !isWhole) missing.push(real);
  }
}

/**
 * The server would read something else if the way to its file were changed from inside. Where the whole disk is writable,
 * that is one way of many.
 */
function refuseReplaceable(links: readonly CrossedLink[], map: AccessMap): void {
  if (map.at("/") === "write") return;
  const link = links.find((crossed) => map.at(parentOf(crossed.path)) === "write");
  if (link === undefined) return;
  throw new SandboxRefusal(
    `cannot enforce a sandbox in which the server's own file is reachable through the writable symlink ${link.path}`,
  );
}

function* hideMatches(
  layers: readonly PolicyLayer[],
  access: AccessMap,
  walk: PathWalk,
  disk: Disk,
): Generator<undefined, void> {
  const budget = new ScanBudget();
  const isVisible = (directory: string) => !isOwn(directory) && access.shows(directory);
  const hasRulesBelow = (directory: string) =>
    [...access.paths()].some((path) => access.own(path) !== "deny" && isBelow(path, directory));
  const scan = { walk, disk, budget, isVisible, hasRulesBelow };
  const matches: string[] = [];
  for (const { text, glob, maxDepth } of layers.flatMap(({ patterns }) => patterns))
    matches.push(...(yield* scanGlob(text, glob, { ...scan, maxDepth })));
  for (const path of matches) if (!isOwn(path)) access.add(path, "deny");
}

interface ViewParts {
  readonly access: AccessMap;
  readonly missing: string[];
  readonly missingFiles: string[];
  readonly links: readonly CrossedLink[];
  readonly walk: PathWalk;
  readonly disk: Disk;
}

/** Mounts only what differs from its surroundings, outer paths first. */
function assemble({ access, missing, missingFiles, links, walk, disk }: ViewParts): FileView {
  const mounts = new Map<string, ViewMount>();
  const identities: string[] = [];
  for (const path of access.paths()) {
    const own = access.at(path);
    if (path === "/" || own === access.at(parentOf(path))) continue;
    const entry = walk.entryAt(path);
    const isDirectory = entry?.kind === "directory";
    // The same as a name that does not exist, whose mount point is an empty directory while a sandbox uses it.
    const isPlaceholder =
      isDirectory && own !== "write" && access.at(parentOf(path)) === "write" && disk.isEmpty(path);
    if (isPlaceholder) {
      mounts.set(path, { kind: "absent", path });
      continue;
    }
    identities.push(`${path}=${entry?.identity}`);
    if (own === "deny") mounts.set(path, { kind: isDirectory ? "hiddenDirectory" : "hiddenFile", path });
    else mounts.set(path, { kind: own === "write" ? "writable" : "readOnly", path });
  }
  const canBeCreated = (path: string): boolean =>
    access.at(parentOf(path)) === "write" && disk.canCreateIn(parentOf(path));
  for (const path of missing) if (canBeCreated(path)) mounts.set(path, { kind: "absent", path });
  for (const path of missingFiles) if (canBeCreated(path)) mounts.set(path, { kind: "absentFile", path });
  for (const { path, target } of links) {
    const deciding = access.deciding(path) ?? "/";
    if (deciding === "/" && access.at("/") === "deny") mounts.set(path, { kind: "link", path, target });
  }
  for (const path of anchors(mounts, access)) {
    identities.push(`${path}=${walk.entryAt(path)?.identity}`);
    mounts.set(path, { kind: "writable", path });
  }
  const root = ({ read: "readOnly", write: "writable", deny: "empty" } as const)[access.at("/")];
  const sorted = [...mounts.keys()].sort().map((path) => mounts.get(path)!);
  return { root, mounts: sorted, identity: identities.sort().join("\n") };
}

/** Each costs a mount and a descriptor. Patterns that match more find what they hide under a new name, too. */
const MAX_ANCHORS = 256;

/**
 * Writable directories that contain something less accessible. They are mounted on themselves, because a mount cannot
 * be renamed: under another name, what they contain would be accessible the next time.
 */
function anchors(mounts: ReadonlyMap<string, ViewMount>, access: AccessMap): Iterable<string> {
  const anchored = new Set<string>();
  for (const { kind, path } of mounts.values()) {
    if (kind === "writable" || kind === "link") continue;
    for (let at = parentOf(path); at !== "/" && !mounts.has(at) && !anchored.has(at); at = parentOf(at)) {
      if (access.at(at) !== "write" || anchored.size >= MAX_ANCHORS) break;
      anchored.add(at);
    }
  }
  return anchored;
}

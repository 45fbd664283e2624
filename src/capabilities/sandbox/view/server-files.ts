import { homedir, tmpdir } from "node:os";
import { resultOr } from "../../../native/result-or.ts";
import type { AccessMap } from "./access-map.ts";
import { isBelow, parentOf } from "./path-names.ts";
import { systemDisk } from "./disk.ts";
import { PathWalk } from "./path-walk.ts";
import { isOwn, SYSTEM_DIRECTORIES } from "./policy-layer.ts";

/** The files of the server that makes a sandbox, as absolute paths. */
export interface ServerFiles {
  /**
   * Secrets and records. A sandbox hides them with their directories: a mount over a single file ends when another file
   * takes its place.
   */
  readonly hiddenPaths: readonly string[];
  /** Hidden in the same way, but of no use to a client, so that a policy may surround them. */
  readonly maskedPaths?: readonly string[];
  /** Hidden by themselves: nothing takes their place while the server runs. */
  readonly socketPaths?: readonly string[];
  /** Anyone may read them, but writing them decides which clients the server admits or trusts. */
  readonly trustedPaths?: readonly string[];
}

/** Location of a server's own file, whether or not it exists. */
export interface HidingPlace {
  /** The path that the server was given. */
  readonly path: string;
  readonly directory: string;
  /** The file in the directory. Undefined: the server hides the whole directory, whatever its rules are. */
  readonly file: string | undefined;
  /** Whether programs need the directory, so that only the file can be hidden. */
  readonly isShared: boolean;
}

/** Hiding one of these, or a directory above it, would break what runs inside. */
const SHARED_DIRECTORIES = [...SYSTEM_DIRECTORIES, "/dev/shm", "/run", "/tmp", "/var/tmp"];

/** The targets of these paths, and the links on the way to them, because a file can replace a link, too. */
export function hidingPlaces(paths: readonly string[], walk: PathWalk): HidingPlace[] {
  if (paths.length === 0) return [];
  const shared = sharedDirectories(walk);
  return placesOf(paths, walk).map((place) => ({ ...place, isShared: isSharedPlace(place, shared) }));
}

type FilePlace = Omit<HidingPlace, "isShared">;

function placesOf(paths: readonly string[], walk: PathWalk): FilePlace[] {
  return paths.flatMap((path): FilePlace[] => {
    const { kind, path: end, isWhole, links } = walk.follow(path);
    if (kind === "directory") return [{ path, directory: end, file: undefined }];
    const files = links.filter(({ isLast }) => isLast).map((link) => link.path);
    if (kind === "file" || (kind === "missing" && isWhole)) files.push(end);
    return files.filter((file) => !isOwn(file)).map((file) => ({ path, directory: parentOf(file), file }));
  });
}

function sharedDirectories(walk: PathWalk): string[] {
  // A user may have no home.
  const homes = resultOr([], () => [homedir()]);
  return [...SHARED_DIRECTORIES, tmpdir(), ...homes].map((path) => walk.follow(path).path);
}

function isSharedPlace({ directory, file }: FilePlace, shared: readonly string[]): boolean {
  return file !== undefined && shared.some((needed) => needed === directory || isBelow(needed, directory));
}

/** Whether a real path is, or may be, hidden in every sandbox. */
export function isHidden(
  path: string,
  { hiddenPaths, maskedPaths = [], socketPaths = [] }: ServerFiles,
  disk = systemDisk,
): boolean {
  const walk = new PathWalk(disk);
  if (socketPaths.some((socket) => walk.follow(socket).path === path)) return true;
  const around = placesOf([...hiddenPaths, ...maskedPaths], walk).filter(
    ({ directory }) => path === directory || isBelow(path, directory),
  );
  // Called for every small file that is read; hardly any is near a server's own file.
  if (around.length === 0) return false;
  const shared = sharedDirectories(walk);
  return around.some((place) => !isSharedPlace(place, shared) || namesOf(place.file, [path]).length > 0);
}

/** Secrets and records that sandboxes can hide only one by one, as they are when a sandbox starts. */
export function filesInSharedDirectories({ hiddenPaths }: ServerFiles, disk = systemDisk): string[] {
  const shared = hidingPlaces(hiddenPaths, new PathWalk(disk)).filter(({ isShared }) => isShared);
  return [...new Set(shared.map(({ path }) => path))];
}

/** Hides the directories of files in each set of rules, so that only one that names them all can show them. */
export function hideDirectories(
  maps: readonly AccessMap[],
  places: readonly HidingPlace[],
  walk: PathWalk,
): void {
  // A rule for a file in such a directory could name what is about to take the place of a file of the server.
  const isDirectory = (path: string): boolean => walk.entryAt(path)?.kind === "directory";
  for (const map of maps)
    for (const { directory, isShared } of places) if (!isShared) map.hide(directory, isDirectory);
}

/** Of some paths, those that belong to a file: its own, and those of its copies, locks and predecessors. */
export function namesOf(file: string | undefined, paths: readonly string[]): string[] {
  return file === undefined ? [] : paths.filter((path) => path === file || path.startsWith(`${file}.`));
}

import type { SandboxPolicy } from "../policy/sandbox-policy.ts";
import { type AccessMap, weakest } from "./access-map.ts";
import { type Disk, systemDisk } from "./disk.ts";
import { parentOf } from "./path-names.ts";
import { PathWalk } from "./path-walk.ts";
import { layersOf } from "./policy-layer.ts";
import { hideDirectories, hidingPlaces, type ServerFiles } from "./server-files.ts";

/**
 * Why a client under a policy could, in time, reach one of the server's own files: the end of a sentence that begins
 * with the policy's name. Undefined if it cannot.
 */
export function exposedFile(
  policy: SandboxPolicy,
  { hiddenPaths, socketPaths = [], trustedPaths = [] }: ServerFiles,
  { disk, walk }: { disk: Disk; walk: PathWalk },
): string | undefined {
  const maps = layersOf(policy, walk, disk).map(({ access }) => access);
  const granted = weakest(maps);
  for (const path of [...hiddenPaths, ...socketPaths, ...trustedPaths]) {
    const directory = writablePlace(path, granted, walk);
    if (directory !== undefined)
      return (
        `makes ${directory} writable, including the server's own file ${path}: ` +
        "move the file to a directory that stays read-only, or make other directories writable"
      );
  }
  const places = hidingPlaces(hiddenPaths, walk);
  hideDirectories(maps, places, walk);
  const left = weakest(maps);
  const shown = places.find(({ directory, file }) => file !== undefined && left.at(directory) !== "deny");
  return (
    shown &&
    `shows ${shown.directory}, including the server's own file ${shown.path}: ` +
      "move the file to its own directory, which sandboxes hide"
  );
}

/** Whether a policy lets its clients write a directory. */
export function isWritable(policy: SandboxPolicy, directory: string): boolean {
  const walk = new PathWalk(systemDisk);
  return weakest(layersOf(policy, walk, systemDisk).map(({ access }) => access)).at(directory) === "write";
}

/** The rule that makes something on the way to a path replaceable. */
function writablePlace(path: string, access: AccessMap, walk: PathWalk): string | undefined {
  const { path: end, links } = walk.follow(path);
  const writable = [...links.map((link) => link.path), end]
    .flatMap((name) => [parentOf(name), name])
    .find((name) => access.at(name) === "write");
  return writable && access.deciding(writable);
}

import type { SandboxPolicy } from "../policy/sandbox-policy.ts";
import { type AccessMap, weakest } from "./access-map.ts";
import { type Disk, systemDisk } from "./disk.ts";
import { parentOf } from "./path-names.ts";
import { PathWalk } from "./path-walk.ts";
import { layersOf } from "./policy-layer.ts";
import { hideDirectories, hidingPlaces, type ServerFiles } from "./server-files.ts";

/**
 * What is wrong with a policy under which a client could, in time, reach a file of the server: as the end of a sentence
 * that begins with the name of the policy. Undefined if nothing is.
 */
export function exposedFile(
  policy: SandboxPolicy,
  { hiddenPaths, socketPaths = [], trustedPaths = [] }: ServerFiles,
  { disk, walk }: { disk: Disk; walk: PathWalk },
): string | undefined {
  const maps = layersOf(policy, walk, disk).map(({ access }) => access);
  const given = weakest(maps);
  for (const path of [...hiddenPaths, ...socketPaths, ...trustedPaths]) {
    const directory = writablePlace(path, given, walk);
    if (directory !== undefined)
      return (
        `makes ${directory} writable, and with it a file of the server itself, ${path}: ` +
        "move the file to a directory that stays read-only, or make other directories writable"
      );
  }
  const places = hidingPlaces(hiddenPaths, walk);
  hideDirectories(maps, places, walk);
  const left = weakest(maps);
  const shown = places.find(({ directory, file }) => file !== undefined && left.at(directory) !== "deny");
  return (
    shown &&
    `shows ${shown.directory}, and with it a file of the server itself, ${shown.path}: ` +
      "move the file to a directory of its own, which sandboxes hide"
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
  const place = [...links.map((link) => link.path), end]
    .flatMap((name) => [parentOf(name), name])
    .find((name) => access.at(name) === "write");
  return place && access.deciding(place);
}

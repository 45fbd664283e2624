import { lstatSync, readlinkSync, type Stats, statSync } from "node:fs";
import { posix } from "node:path";
import { type BytePath, fromDisk, joinPath, onDisk, parentOf } from "./byte-path.ts";
import { canonicalize, isWithin } from "./file-model.ts";
import { namesIn } from "./tree-snapshot.ts";

const MAX_LINKS = 40;

/**
 * Whether a copy reads what it writes or writes the same place twice, because links lead from the destination into the
 * source or back into the destination, or whether it writes into a pipe. The result of the first two depends on the
 * order in which directories are read, and the last may never end.
 */
export function isOverlapping(source: BytePath, destination: BytePath): boolean {
  const top = realPlace(source);
  const written = new Set<BytePath>();
  const visit = (from: BytePath, to: BytePath): boolean => {
    const place = realPlace(to);
    const own = look(lstatSync, from);
    if (own === undefined) return false;
    if (own.isDirectory()) {
      return (
        (from !== source && isWithin(place, top)) ||
        namesIn(from).some((name) => visit(joinPath(from, name), joinPath(to, name)))
      );
    }
    const existing = look(statSync, to);
    if (own.isFile() && existing?.isFIFO() === true) return true;
    const repeated = written.has(place) || (own.isFile() && isWithin(place, top));
    written.add(place);
    return repeated;
  };
  return visit(source, destination);
}

/** Where opening a path for writing would end up, also when that does not exist. */
function realPlace(path: BytePath, links = 0): BytePath {
  try {
    return canonicalize(path);
  } catch {
    if (path === "/" || links === MAX_LINKS) return path;
    const inParent = joinPath(realPlace(parentOf(path), links + 1), posix.basename(path));
    if (look(lstatSync, path)?.isSymbolicLink() !== true) return inParent;
    const text = fromDisk(readlinkSync(onDisk(path), { encoding: "buffer" }));
    return realPlace(posix.resolve(parentOf(inParent), text), links + 1);
  }
}

function look(how: (path: Buffer) => Stats, path: BytePath): Stats | undefined {
  try {
    return how(onDisk(path));
  } catch {
    return undefined;
  }
}

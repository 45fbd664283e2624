import { readFile, realpath, stat } from "node:fs/promises";
import { posix, resolve } from "node:path";
import { type CopyLocation, isMissing, locationFailure } from "../copying/copy-location.ts";
import { Failure } from "../../shared/failure.ts";

/** Differs for every start of every machine. */
const BOOT_ID = "/proc/sys/kernel/random/boot_id";
/** Times pass through numbers of different precision. */
const SAME_TIME_MS = 2;

/**
 * Throws if one of two directories is in the other: written files would be found, or deleted, in the source. This
 * program cannot always know that two paths are on one machine, so the directory itself is compared, too.
 */
export async function checkSeparate(source: CopyLocation, destination: CopyLocation): Promise<void> {
  const [from, to] = [await realPath(source), await realPath(destination)];
  const isSeparate = from !== to && !isWithin(from, to) && !isWithin(to, from);
  if (isSeparate || !(await isSameMachine(source, destination, from))) return;
  if (from === to) throw new Failure(`${source.text} and ${destination.text} are the same directory`);
  const [inner, outer] = isWithin(from, to) ? [destination, source] : [source, destination];
  throw new Failure(`${inner.text} is inside ${outer.text}: a directory cannot be synced with one in it`);
}

function isWithin(outer: string, inner: string): boolean {
  return inner.startsWith(outer === "/" ? "/" : `${outer}/`);
}

/** The path without links, as far as it exists. */
async function realPath({ files, path, text }: CopyLocation): Promise<string> {
  const names: string[] = [];
  for (let existing = files === undefined ? resolve(path) : posix.resolve(path); ; ) {
    try {
      return posix.join(
        files === undefined ? await realpath(existing) : await files.realpath(existing),
        ...names,
      );
    } catch (error) {
      if (!isMissing(error) || existing === "/") throw locationFailure(error, text);
      names.unshift(posix.basename(existing));
      existing = posix.dirname(existing);
    }
  }
}

async function isSameMachine(one: CopyLocation, other: CopyLocation, directory: string): Promise<boolean> {
  const [mine, theirs] = await Promise.all([one, other].map((location) => modifiedMs(location, directory)));
  if (mine === undefined || theirs === undefined || Math.abs(mine - theirs) >= SAME_TIME_MS) return false;
  const [myBoot, theirBoot] = await Promise.all([one, other].map(bootOf));
  return myBoot === undefined || theirBoot === undefined || myBoot === theirBoot;
}

/** Undefined if it cannot be inspected. */
async function modifiedMs({ files }: CopyLocation, path: string): Promise<number | undefined> {
  try {
    return files === undefined ? (await stat(path)).mtimeMs : (await files.stat(path)).modified.getTime();
  } catch {
    return undefined;
  }
}

/** Undefined if it cannot be read, as on other systems. */
async function bootOf({ files }: CopyLocation): Promise<string | undefined> {
  try {
    return files === undefined ? await readFile(BOOT_ID, "utf8") : await files.readText(BOOT_ID);
  } catch {
    return undefined;
  }
}

// Part of programs that must stay small: dist/receive.js, and the main program of a single executable.
import {
  closeSync,
  fsyncSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { gunzipSync } from "node:zlib";

const NEWLINE = 10;
/** What a kill has left behind, and versions that nothing uses any more, are removed after this. */
const LEFTOVER_MS = 3_600_000;
const UNUSED_MS = 86_400_000;
const FOR_OTHERS = 0o077;
/** Reasons for which one directory cannot replace what has its name. */
const IN_THE_WAY = new Set(["ENOTEMPTY", "EEXIST", "ENOTDIR"]);
const VERSION_DIRECTORY = /^\d[\w.-]*-[0-9a-f]{16}$/;

/** Directories, which are this user's alone. */
export interface Place {
  /** Has a directory for each version. */
  readonly root: string;
  /** Below it; does not exist afterwards. */
  readonly staging: string;
  /** Of the directory that is made. */
  readonly name: string;
}

type Files = readonly (readonly [name: string, length: number])[];

/** Unpacks a bundle, puts it into place in one step, and removes versions that are no longer used. */
export function installBundle(compressed: Uint8Array, { root, staging, name }: Place): void {
  const place = join(root, name);
  try {
    putIntoPlace(staging, place, unpack(gunzipSync(compressed), staging));
    removeOld(root, name);
  } finally {
    rmSync(staging, { recursive: true, force: true });
  }
}

/** The bundle is a line of JSON with names and lengths, and then the contents. */
function unpack(bundle: Buffer, staging: string): Files {
  let offset = bundle.indexOf(NEWLINE) + 1;
  const files = JSON.parse(bundle.subarray(0, offset).toString()) as Files;
  for (const [name, length] of files) {
    writeFile(join(staging, name), bundle.subarray(offset, offset + length));
    offset += length;
  }
  writeFile(join(staging, "node"), Buffer.from(`${process.execPath}\n`));
  return files;
}

function writeFile(path: string, content: Uint8Array): void {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  const file = openSync(path, "wx", 0o600);
  try {
    for (let at = 0; at < content.length; ) at += writeSync(file, content, at);
    // A crash of the machine must not leave empty files in a directory that looks complete.
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}

/** What another connection has just put there stays. Anything else of that name is replaced. */
function putIntoPlace(staging: string, place: string, files: Files): void {
  for (let tries = 0; ; tries += 1) {
    try {
      renameSync(staging, place);
      return;
    } catch (error) {
      if (tries > 2 || !IN_THE_WAY.has((error as NodeJS.ErrnoException).code ?? "")) throw error;
    }
    if (isComplete(place, files)) {
      // The Node that is named there may be gone.
      renameSync(join(staging, "node"), join(place, "node"));
      return;
    }
    const aside = `${staging}-old`;
    renameSync(place, aside);
    rmSync(aside, { recursive: true, force: true });
  }
}

function isComplete(place: string, files: Files): boolean {
  const { uid, mode } = lstatSync(place);
  if (uid !== process.geteuid?.() || (mode & FOR_OTHERS) !== 0) return false;
  return files.every(([name, length]) => {
    const file = lstatSync(join(place, name), { throwIfNoEntry: false });
    return file?.isFile() === true && file.size === length;
  });
}

function removeOld(root: string, current: string): void {
  const programs = runningPrograms();
  for (const name of readdirSync(root)) {
    const path = join(root, name);
    const isVersion = VERSION_DIRECTORY.test(name) && name !== current;
    if (!isVersion && !name.startsWith("new-")) continue;
    try {
      const age = Date.now() - Math.max(lstatSync(path).mtimeMs, lastUse(path));
      if (age < (isVersion ? UNUSED_MS : LEFTOVER_MS) || programs.some((text) => text.includes(path)))
        continue;
      rmSync(path, { recursive: true, force: true });
    } catch {
      // Another connection removes it, too.
    }
  }
}

function lastUse(path: string): number {
  return lstatSync(join(path, "used"), { throwIfNoEntry: false })?.mtimeMs ?? 0;
}

/** Command lines and loaded files of all processes that this user can see. */
function runningPrograms(): string[] {
  return readdirSync("/proc").flatMap((name) => {
    try {
      if (!/^\d+$/.test(name)) return [];
      return ["cmdline", "maps"].map((file) => readFileSync(`/proc/${name}/${file}`, "utf8"));
    } catch {
      return [];
    }
  });
}

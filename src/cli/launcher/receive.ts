// dist/receive.js: run by Node on another machine, to which exec-server brings itself. Reads a bundle from stdin, checks
// it, and puts it into place. Its text is part of a command line there, so it is small and ASCII.
import { createHash } from "node:crypto";
import {
  closeSync,
  fsyncSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  readSync,
  renameSync,
  rmSync,
  writeSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { gunzipSync } from "node:zlib";

/** Put in front of this program by the one that brings it. */
declare const BUNDLE: {
  readonly nonce: string;
  readonly name: string;
  readonly bytes: number;
  readonly sha256: string;
};

const STDIN = 0;
const STDOUT = 1;
const NEWLINE = 10;
const RETRY_MS = 5;
/** What a kill has left behind, and versions that nothing uses any more, are removed after this. */
const LEFTOVER_MS = 3_600_000;
const UNUSED_MS = 86_400_000;
const FOR_OTHERS = 0o077;
/** Reasons for which one directory cannot replace what has its name. */
const IN_THE_WAY = new Set(["ENOTEMPTY", "EEXIST", "ENOTDIR"]);
const VERSION_DIRECTORY = /^\d[\w.-]*-[0-9a-f]{16}$/;

const [, , root = "", staging = ""] = process.argv;

function say(text: string): void {
  writeSync(STDOUT, `exec-server:${BUNDLE.nonce} ${text.replace(/\s+/g, " ")}\n`);
}

/** Synchronous, so that nothing behind the bundle is read: that belongs to the server. */
function receive(): Buffer {
  const payload = Buffer.alloc(BUNDLE.bytes);
  for (let length = 0; length < payload.length; ) {
    try {
      const count = readSync(STDIN, payload, length, payload.length - length, null);
      // The other end is gone, and nobody reads what could be said.
      if (count === 0) throw new Error("the connection ended");
      length += count;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EAGAIN") throw error;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, RETRY_MS);
    }
  }
  if (createHash("sha256").update(payload).digest("hex") !== BUNDLE.sha256)
    throw new Error("the bundle was damaged on its way");
  return payload;
}

type Files = readonly (readonly [name: string, length: number])[];

/** The bundle is a line of JSON with names and lengths, and then the contents. */
function unpack(bundle: Buffer): Files {
  let offset = bundle.indexOf(NEWLINE) + 1;
  const files = JSON.parse(bundle.subarray(0, offset).toString()) as Files;
  for (const [name, length] of files) {
    writeFile(name, bundle.subarray(offset, offset + length));
    offset += length;
  }
  writeFile("node", Buffer.from(`${process.execPath}\n`));
  return files;
}

function writeFile(name: string, content: Uint8Array): void {
  const path = join(staging, name);
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
function putIntoPlace(files: Files): void {
  const place = join(root, BUNDLE.name);
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
      rmSync(staging, { recursive: true, force: true });
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

function removeOld(): void {
  const commands = runningCommands();
  for (const name of readdirSync(root)) {
    const path = join(root, name);
    const isVersion = VERSION_DIRECTORY.test(name) && name !== BUNDLE.name;
    if (!isVersion && !name.startsWith("new-")) continue;
    try {
      const age = Date.now() - Math.max(lstatSync(path).mtimeMs, lastUse(path));
      if (age < (isVersion ? UNUSED_MS : LEFTOVER_MS) || commands.some((text) => text.includes(path)))
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

/** Command lines of all processes that this user can see. */
function runningCommands(): string[] {
  return readdirSync("/proc").flatMap((name) => {
    try {
      return /^\d+$/.test(name) ? [readFileSync(`/proc/${name}/cmdline`, "utf8")] : [];
    } catch {
      return [];
    }
  });
}

try {
  say("send");
  putIntoPlace(unpack(gunzipSync(receive())));
  removeOld();
} catch (error) {
  rmSync(staging, { recursive: true, force: true });
  say(`failed ${(error as Error).message}`);
  process.exit(1);
}

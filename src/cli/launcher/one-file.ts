// The main program of a single executable: unpacks what it has inside on its first start, and runs it. As Node has no other
// name for itself there, it also does what Node does for a script of its own.
import { randomBytes } from "node:crypto";
import { existsSync, lstatSync, mkdirSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { homedir } from "node:os";
import { dirname, isAbsolute, join } from "node:path";
import { spawnSync } from "node:child_process";
import { getAsset } from "node:sea";
import { setFlagsFromString } from "node:v8";
import { runInThisContext } from "node:vm";
import { installBundle } from "./install-bundle.ts";

/** Set by the build: the version, and a hash of the bundle. */
declare const BUNDLE_NAME: string;

const NONCE_BYTES = 12;
const FOR_OTHERS = 0o077;
const WRITABLE_BY_OTHERS = 0o022;
const STICKY = 0o1000;

/** A program of its own that it is asked to run, as Node is elsewhere. */
function ownScript(words: readonly string[]): string | undefined {
  const [first = ""] = words;
  return isAbsolute(first) && first.endsWith(".js") && existsSync(first) ? first : undefined;
}

/** Only its owner, this user or root, can replace what is in it. */
function isSafe(directory: string): boolean {
  const { uid, mode } = lstatSync(directory);
  const isOurs = uid === process.geteuid?.() || uid === 0;
  return isOurs && ((mode & WRITABLE_BY_OTHERS) === 0 || (mode & STICKY) !== 0);
}

function isMine(directory: string): boolean {
  const found = lstatSync(directory, { throwIfNoEntry: false });
  return (
    found?.isDirectory() === true && found.uid === process.geteuid?.() && (found.mode & FOR_OTHERS) === 0
  );
}

/** A directory for all versions, where this user can write and execute. Undefined if this is not one. */
function openRoot(parent: string, name: string): string | undefined {
  try {
    mkdirSync(parent, { recursive: true, mode: 0o700 });
    const real = realpathSync(parent);
    const root = join(real, name);
    if (!isSafe(real)) return undefined;
    mkdirSync(root, { recursive: true, mode: 0o700 });
    return isMine(root) ? root : undefined;
  } catch {
    return undefined;
  }
}

/** Programs there may be run: without that, the FFI library cannot be loaded. Its interpreter need not exist. */
function mayExecute(directory: string): boolean {
  const path = join(directory, "try");
  writeFileSync(path, "#!/bin/sh\n", { mode: 0o700 });
  const { error }: { readonly error?: NodeJS.ErrnoException } = spawnSync(path, { stdio: "ignore" });
  rmSync(path);
  return error?.code !== "EACCES";
}

/** The directory with everything, which is made if it does not exist. */
function unpacked(): string {
  const uid = process.geteuid?.();
  const { XDG_CACHE_HOME: named } = process.env;
  const cache = named !== undefined && isAbsolute(named) ? named : join(homedir(), ".cache");
  const faults: string[] = [];
  for (const [parent, name] of [
    [cache, "exec-server"],
    ["/var/tmp", `exec-server-cache-${uid}`],
    ["/tmp", `exec-server-cache-${uid}`],
  ] as const) {
    const root = openRoot(parent, name);
    if (root === undefined) {
      faults.push(`${join(parent, name)} is not yours alone, or cannot be created`);
      continue;
    }
    const place = join(root, BUNDLE_NAME);
    try {
      // It is complete: it is put there in one step, and only this user could have changed it.
      if (isMine(place) && existsSync(join(place, "cli.js"))) {
        writeFileSync(join(place, "used"), "");
        return place;
      }
      const staging = join(root, `new-${randomBytes(NONCE_BYTES).toString("hex")}`);
      mkdirSync(staging, { mode: 0o700 });
      if (mayExecute(staging)) {
        installBundle(Buffer.from(getAsset("bundle")), { root, staging, name: BUNDLE_NAME });
        return place;
      }
      rmSync(staging, { recursive: true, force: true });
      faults.push(`${root} is mounted noexec`);
    } catch (error) {
      faults.push(`${root}: ${(error as Error).message}`);
    }
  }
  process.stderr.write(
    `exec-server: no directory to unpack itself into: ${faults.join("; ")}; name one with XDG_CACHE_HOME\n`,
  );
  process.exit(1);
}

function run(program: string, args: readonly string[]): void {
  process.argv = [process.execPath, program, ...args];
  createRequire(program)(program);
}

let words = process.argv.slice(2);
// Node's own options, which a program that starts its Node passes.
for (; words[0]?.startsWith("--max-") === true; words = words.slice(1)) setFlagsFromString(words[0]);
const script = ownScript(words);
if (words[0] === "-e" && words[1] !== undefined) {
  Object.assign(globalThis, { require: createRequire(join(dirname(process.execPath), "script.js")) });
  runInThisContext(words[1]);
} else if (script !== undefined) run(script, words.slice(1));
else run(join(unpacked(), "cli.js"), words);

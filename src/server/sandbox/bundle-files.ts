import { randomBytes } from "node:crypto";
import { lstatSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { CapabilityError } from "../../base/errors.ts";
import { tryToLock } from "../../native/file-lock.ts";

const PREFIX = "exec-server-trust-";
const LOCK = "lock";
/** A younger directory may belong to a server that is about to lock it. */
const MIN_AGE_MS = 60_000;

/** The bundle of certificates in a file, for a process that sees the disk of the machine. */
export interface BundleFile {
  readonly path: string;
  remove(): void;
}

/**
 * The bundles of one server, in a directory that it holds a lock on while it has any. Each process has its own, so that
 * none can change what another one trusts. Directories of servers that were killed are removed.
 */
export class BundleFiles {
  #directory: { readonly path: string; release(): void } | undefined;
  #count = 0;

  /** Throws a CapabilityError. */
  write(bundle: string): BundleFile {
    try {
      this.#directory ??= openDirectory();
      const path = join(this.#directory.path, `${randomBytes(8).toString("hex")}.pem`);
      writeFileSync(path, bundle, { mode: 0o444 });
      this.#count += 1;
      return { path, remove: () => this.#remove(path) };
    } catch (error) {
      if (this.#count === 0) this.#close();
      const { message } = error as Error;
      throw new CapabilityError("OS_ERROR", `the bundle of certificates cannot be written: ${message}`);
    }
  }

  #remove(path: string): void {
    rmSync(path, { force: true });
    this.#count -= 1;
    if (this.#count === 0) this.#close();
  }

  #close(): void {
    const directory = this.#directory;
    this.#directory = undefined;
    if (directory === undefined) return;
    rmSync(directory.path, { recursive: true, force: true });
    directory.release();
  }
}

function openDirectory(): { path: string; release(): void } {
  removeAbandoned();
  const path = mkdtempSync(join(tmpdir(), PREFIX));
  const release = tryToLock(join(path, LOCK)) ?? (() => {});
  return { path, release };
}

/** What cannot be removed stays: it holds only certificates. */
function removeAbandoned(): void {
  try {
    for (const name of readdirSync(tmpdir()).filter((each) => each.startsWith(PREFIX)))
      removeIfAbandoned(join(tmpdir(), name));
  } catch {}
}

function removeIfAbandoned(path: string): void {
  try {
    const { uid, mtimeMs } = lstatSync(path);
    if (uid !== process.geteuid?.() || Date.now() - mtimeMs < MIN_AGE_MS) return;
    const release = tryToLock(join(path, LOCK));
    if (release === undefined) return;
    rmSync(path, { recursive: true, force: true });
    release();
  } catch {}
}

import { readFile } from "node:fs/promises";
import { isUtf8 } from "node:buffer";
import { resultOr } from "../../native/result-or.ts";
import type { Location } from "../files/location.ts";
import { Turns } from "../turns.ts";

export interface TextFile {
  readonly location: Location;
  readonly contents: string;
}

const MAX_FILE_BYTES = 1024 * 1024;
const MAX_TOTAL_BYTES = 16 * 1024 * 1024;

/** Reads the files of one capability root, within limits. Unreadable files become warnings. */
export class CapabilityFiles {
  readonly warnings: string[] = [];
  readonly #turns = new Turns();
  #bytes = 0;

  /** Undefined if the file does not exist or cannot be used. */
  async read(location: Location): Promise<TextFile | undefined> {
    if (this.#turns.over) await this.#turns.next();
    const stat = location.statIfExists();
    if (stat === undefined || !stat.isFile()) return undefined;
    const { uri } = location;
    if (stat.size > MAX_FILE_BYTES)
      return this.#warn(`capability file ${uri} exceeds the ${MAX_FILE_BYTES}-byte limit`);
    let bytes: Buffer;
    try {
      bytes = await location.onTarget({ followSymlinks: true }, (path) => readFile(path));
    } catch (error) {
      return this.#warn(`failed to read capability file ${uri}: ${(error as Error).message}`);
    }
    this.#bytes += bytes.length;
    if (this.#bytes > MAX_TOTAL_BYTES) {
      const warning = `capability root bundle exceeds the ${MAX_TOTAL_BYTES}-byte limit`;
      return this.warnings.includes(warning) ? undefined : this.#warn(warning);
    }
    if (!isUtf8(bytes))
      return this.#warn(`capability file ${uri} is not UTF-8: ${describeInvalidUtf8(bytes)}`);
    return { location, contents: bytes.toString("utf8") };
  }

  #warn(message: string): undefined {
    this.warnings.push(message);
  }
}

const MANIFEST_DIRECTORIES = [".codex-plugin", ".claude-plugin", ".cursor-plugin"];

/** Possible locations of a plugin's manifest, in order of preference. */
export function manifestLocations(directory: Location): Location[] {
  return MANIFEST_DIRECTORIES.map((name) => directory.child(name).child("plugin.json"));
}

/** The directory that a manifest describes: the parent of the manifest's own directory. */
export function directoryOf(manifest: Location): Location {
  return manifest.parent.parent;
}

export function describeInvalidUtf8(bytes: Buffer): string {
  const decoder = new TextDecoder("utf-8", { fatal: true });
  let valid = 0;
  // The longest valid prefix, found by bisection.
  for (let low = 0, high = bytes.length; low <= high; ) {
    const middle = (low + high) >> 1;
    const prefix = bytes.subarray(0, middle);
    if (resultOr(undefined, () => decoder.decode(prefix)) !== undefined) {
      valid = middle;
      low = middle + 1;
    } else {
      high = middle - 1;
    }
  }
  return `invalid utf-8 sequence of 1 bytes from index ${valid}`;
}

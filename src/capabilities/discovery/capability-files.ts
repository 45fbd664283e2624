import { statSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { isUtf8 } from "node:buffer";
import { uriFromPath } from "../../base/file-uri.ts";
import { joinPath, type NativePath } from "../files/native-path.ts";

export interface TextFile {
  readonly path: NativePath;
  readonly contents: string;
}

const MAX_FILE_BYTES = 1024 * 1024;
const MAX_TOTAL_BYTES = 16 * 1024 * 1024;

/** Reads the files of one capability root, within bounds. What cannot be read is a warning. */
export class CapabilityFiles {
  readonly warnings: string[] = [];
  #bytes = 0;

  /** Undefined when there is none, or it cannot be used. */
  async read(path: NativePath): Promise<TextFile | undefined> {
    const stat = statOf(path);
    if (stat === undefined || !stat.isFile()) return undefined;
    const uri = uriFromPath(path);
    if (stat.size > MAX_FILE_BYTES)
      return this.#warn(`capability file ${uri} exceeds the ${MAX_FILE_BYTES}-byte limit`);
    let bytes: Buffer;
    try {
      bytes = await readFile(path);
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
    return { path, contents: bytes.toString("utf8") };
  }

  #warn(message: string): undefined {
    this.warnings.push(message);
  }
}

const MANIFEST_DIRECTORIES = [".codex-plugin", ".claude-plugin", ".cursor-plugin"];

/** Where a plugin's manifest may be, best first. */
export function manifestPaths(directory: NativePath): NativePath[] {
  return MANIFEST_DIRECTORIES.map((name) => joinPath(joinPath(directory, name), "plugin.json"));
}

function statOf(path: NativePath) {
  try {
    return statSync(path, { throwIfNoEntry: false });
  } catch {
    return undefined;
  }
}

export function describeInvalidUtf8(bytes: Buffer): string {
  const decoder = new TextDecoder("utf-8", { fatal: true });
  let valid = 0;
  // The longest valid beginning, found by halving.
  for (let low = 0, high = bytes.length; low <= high; ) {
    const middle = (low + high) >> 1;
    if (isDecodable(decoder, bytes.subarray(0, middle))) {
      valid = middle;
      low = middle + 1;
    } else {
      high = middle - 1;
    }
  }
  return `invalid utf-8 sequence of 1 bytes from index ${valid}`;
}

function isDecodable(decoder: { decode(bytes: Uint8Array): string }, bytes: Uint8Array): boolean {
  try {
    decoder.decode(bytes);
    return true;
  } catch {
    return false;
  }
}

import { readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import * as zlib from "node:zlib";
import { sharedCalls } from "../wire/shared-calls.ts";
import { findBundle } from "../wire/own-bundle.ts";

/** Types by file extension. Nothing else is served. */
const TYPES: Readonly<Record<string, string>> = {
  js: "text/javascript; charset=utf-8",
  css: "text/css; charset=utf-8",
  svg: "image/svg+xml",
  png: "image/png",
  ico: "image/x-icon",
  woff2: "font/woff2",
  json: "application/json",
  webmanifest: "application/manifest+json",
};
/** No separators, and no dot in front: every name is one of the directory. */
const NAME = /^[A-Za-z0-9_-][A-Za-z0-9._-]{0,199}$/;

/** A file of the page. */
export interface Asset {
  readonly type: string;
  readonly plain: Buffer;
  /** The same, compressed. */
  readonly gzip: Buffer;
}

/** The files of the built page. They are read on demand. */
export class ConsoleAssets {
  #directory: string | undefined;
  readonly #index: string;
  /** Their names change with their contents, so they never become outdated. */
  readonly #assets = new Map<string, Promise<Asset | undefined>>();

  constructor(directory?: string, index = "index.html") {
    this.#directory = directory;
    this.#index = index;
  }

  /**
   * Undefined if the page has not been built. It is reread each time, because another build changes it, but only once
   * for simultaneous requests.
   */
  readonly index = sharedCalls(async () => {
    const directory = this.#findDirectory();
    return directory === undefined ? undefined : readIfExists(join(directory, this.#index));
  });

  /** Undefined if the file does not exist. */
  async asset(name: string): Promise<Asset | undefined> {
    const known = this.#assets.get(name);
    if (known !== undefined) return known;
    const type = TYPES[name.split(".").at(-1) ?? ""];
    const directory = this.#findDirectory();
    if (type === undefined || !NAME.test(name) || directory === undefined) return undefined;
    const path = join(directory, "assets", name);
    const loading = load(path, type);
    this.#assets.set(name, loading);
    // Missing files are not cached, because requests may invent names, nor are failures, which may pass.
    const forget = (): boolean => this.#assets.delete(name);
    loading.then((asset) => asset ?? forget(), forget);
    return loading;
  }

  #findDirectory(): string | undefined {
    if (this.#directory !== undefined) return this.#directory;
    const index = findBundle("console/index.html");
    this.#directory = index && dirname(index);
    return this.#directory;
  }
}

async function load(path: string, type: string): Promise<Asset | undefined> {
  const gzip = await readIfExists(`${path}.gz`);
  return gzip && { type, plain: await promisify(zlib.gunzip)(gzip), gzip };
}

async function readIfExists(path: string): Promise<Buffer | undefined> {
  try {
    return await readFile(path);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT" || code === "EISDIR" || code === "ENOTDIR") return undefined;
    throw error;
  }
}

import { signal } from "@preact/signals";
import { pause } from "../../base/deadlines.ts";
import type { FileChanges, Files } from "../../client/browser.ts";
import type { Entry } from "./entries.ts";
import { followDirectory } from "./follow-directory.ts";
import { joinPath } from "../frame/paths.ts";

/** Larger directories are not listed again for a few changes. */
const SMALL = 2000;
/** More changes than this are not checked one by one. */
const FEW_CHANGES = 100;
/** Changes within this time are shown together. */
const PAUSE_MS = 150;

/** A directory and its entries, kept up to date until it is closed. */
export class Directory {
  readonly path: string;
  /** Undefined until it was listed. */
  readonly entries = signal<readonly Entry[] | undefined>(undefined);
  readonly error = signal<unknown>(undefined);
  /** Whether changes appear by themselves. */
  readonly isLive = signal(false);
  readonly #files: Files;
  readonly #closing = new AbortController();

  constructor(files: Files, path: string) {
    this.#files = files;
    this.path = path;
  }

  /** Lists it and follows its changes. */
  async open(): Promise<void> {
    const { signal } = this.#closing;
    await followDirectory(this.#files, this.path, signal, {
      start: async (isWatched) => {
        await this.refresh();
        this.isLive.value = isWatched;
      },
      change: async (changes) => {
        await pause(PAUSE_MS, signal);
        await this.#apply(changes);
      },
    });
    this.isLive.value = false;
  }

  close(): void {
    this.#closing.abort();
  }

  /** Lists it again. */
  async refresh(): Promise<void> {
    const { signal } = this.#closing;
    try {
      this.entries.value = await list(this.#files, this.path, signal);
      this.error.value = undefined;
    } catch (error) {
      if (!signal.aborted) this.error.value = error;
    }
  }

  async #apply({ paths, overflow }: FileChanges): Promise<void> {
    const entries = this.entries.value;
    if (entries === undefined || overflow || entries.length < SMALL || paths.length > FEW_CHANGES)
      return this.refresh();
    const byName = new Map(entries.map((entry) => [entry.name, entry]));
    for (const path of paths) {
      const name = path.slice(joinPath(this.path, "").length);
      if (name === "" || name.includes("/")) continue;
      const entry = await describe(this.#files, path, name, byName.get(name), this.#closing.signal);
      if (entry === undefined) byName.delete(name);
      else byName.set(name, entry);
    }
    this.entries.value = [...byName.values()];
  }
}

/** The entries of a directory. A server without details lists names and kinds. */
async function list(files: Files, path: string, signal: AbortSignal): Promise<readonly Entry[]> {
  try {
    return await files.listDetails(path, { signal });
  } catch (error) {
    if ((error as { code?: unknown }).code !== "UNSUPPORTED") throw error;
    return files.list(path, { signal });
  }
}

/** The current state of one entry; undefined if it is gone. */
async function describe(
  files: Files,
  path: string,
  name: string,
  before: Entry | undefined,
  signal: AbortSignal,
): Promise<Entry | undefined> {
  try {
    const { kind, isSymlink, size, mode, modified } = await files.stat(path, { signal });
    return { name, kind: isSymlink ? "link" : kind, size, mode, modified };
  } catch {
    // stat fails on a broken link; readLink does not.
    const isLink = await files.readLink(path, { signal }).then(
      () => true,
      () => false,
    );
    return isLink ? (before ?? { name, kind: "link" }) : undefined;
  }
}

import { signal } from "@preact/signals";
import type { DetailedEntry, FileChanges, Files } from "../../client/browser.ts";
import { joinPath } from "./paths.ts";

/** Larger directories are not listed again for a few changes. */
const SMALL = 2000;
/** More changes than these are not looked at one by one. */
const FEW_CHANGES = 100;
/** Changes within this time are shown together. */
const PAUSE_MS = 150;

/** A directory and what is in it, kept up to date until it is closed. */
export class Directory {
  readonly path: string;
  /** Undefined until it was listed. */
  readonly entries = signal<readonly DetailedEntry[] | undefined>(undefined);
  readonly error = signal<unknown>(undefined);
  /** Whether changes show by themselves. */
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
    // Before it is listed, so that no change is missed.
    const watch = await this.#files.watch(this.path, { signal }).catch(() => undefined);
    await this.refresh();
    if (watch === undefined) return;
    this.isLive.value = true;
    try {
      for await (const changes of watch) {
        await pause(PAUSE_MS, signal);
        await this.#apply(changes);
      }
      // It is gone.
      await this.refresh();
    } catch {
      // Closed here, or the session is over.
    }
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

/** What a directory holds. A server that tells no details lists names and kinds. */
async function list(files: Files, path: string, signal: AbortSignal): Promise<readonly DetailedEntry[]> {
  try {
    return await files.listDetails(path, { signal });
  } catch (error) {
    if ((error as { code?: unknown }).code !== "UNSUPPORTED") throw error;
    const entries = await files.list(path, { signal });
    return entries.map((entry) => ({ ...entry, size: 0, mode: 0, modified: undefined }));
  }
}

/** One entry as it is now; undefined if it is gone. */
async function describe(
  files: Files,
  path: string,
  name: string,
  before: DetailedEntry | undefined,
  signal: AbortSignal,
): Promise<DetailedEntry | undefined> {
  try {
    const { kind, isSymlink, size, mode = 0, modified } = await files.stat(path, { signal });
    return { name, kind: isSymlink ? "link" : kind, size, mode, modified };
  } catch {
    // A broken link cannot be described, but read.
    const isLink = await files.readLink(path, { signal }).then(
      () => true,
      () => false,
    );
    return isLink ? (before ?? { name, kind: "link", size: 0, mode: 0o777, modified: undefined }) : undefined;
  }
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener("abort", () => {
      clearTimeout(timer);
      resolve();
    });
  });
}

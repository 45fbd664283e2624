import { signal } from "@preact/signals";
import { FileError, type Files } from "../../../client/browser.ts";
import { contentOf, type FileContent, imageType } from "../file-content.ts";
import { nameOf, parentOf } from "../paths.ts";
import { judgeChange } from "./save-rules.ts";

/** Larger files are shown in part, and cannot be edited. */
const MAX_WHOLE_BYTES = 5_000_000;
const PART_BYTES = 1_000_000;
const MAX_IMAGE_BYTES = 50_000_000;

export interface Loaded {
  readonly content: FileContent;
  /** The file, or its beginning. */
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly isWhole: boolean;
  readonly size: number;
}

/** What happened on the disk since the file was opened. */
export type DiskState = "same" | "changed" | "gone";

/** A file as it is on the server's machine, until it is closed. */
export class FileDocument {
  readonly path: string;
  readonly loaded = signal<Loaded | undefined>(undefined);
  readonly error = signal<unknown>(undefined);
  readonly disk = signal<DiskState>("same");
  /** Whether a person has changed it here. */
  readonly isChanged = signal(false);
  readonly #files: Files;
  readonly #closing = new AbortController();

  constructor(files: Files, path: string) {
    this.#files = files;
    this.path = path;
  }

  /** Reads it and follows its changes. */
  async open(): Promise<void> {
    const { signal } = this.#closing;
    // Programs that save replace the file: its directory shows that, the file itself does not.
    const watch = await this.#files.watch(parentOf(this.path), { signal }).catch(() => undefined);
    await this.load();
    if (watch === undefined) return;
    try {
      for await (const { paths, overflow } of watch)
        if (overflow || paths.includes(this.path)) await this.#look();
    } catch {
      // Closed here, or the session is over.
    }
  }

  close(): void {
    this.#closing.abort();
  }

  /** Reads it anew; what was changed here is lost. */
  async load(): Promise<void> {
    try {
      this.loaded.value = await this.#read();
      this.error.value = undefined;
      this.disk.value = "same";
    } catch (error) {
      if (!this.#closing.signal.aborted) this.error.value = error;
    }
  }

  /** Its bytes as they are now; undefined if it is gone. */
  async current(): Promise<Uint8Array | undefined> {
    try {
      return await this.#files.read(this.path, { signal: this.#closing.signal });
    } catch (error) {
      if (error instanceof FileError && error.code === "NOT_FOUND") return undefined;
      throw error;
    }
  }

  /** Writes it; its permissions stay. */
  async write(bytes: Uint8Array<ArrayBuffer>): Promise<void> {
    await this.#files.write(this.path, bytes);
    this.saved(bytes);
  }

  /** The file has these bytes now. */
  saved(bytes: Uint8Array<ArrayBuffer>): void {
    const content = contentOf(bytes, true);
    this.loaded.value = { content, bytes, isWhole: true, size: bytes.length };
    this.disk.value = "same";
  }

  async #look(): Promise<void> {
    const loaded = this.loaded.value;
    if (loaded === undefined) return this.load();
    if (!loaded.isWhole) return;
    const disk = await this.current().catch(() => loaded.bytes);
    const judged = judgeChange(loaded.bytes, disk, this.isChanged.value);
    if (judged === "reload") await this.load();
    else this.disk.value = DISK_STATES[judged];
  }

  async #read(): Promise<Loaded> {
    const { signal } = this.#closing;
    const { kind, size } = await this.#files.stat(this.path, { signal });
    if (kind !== "file") throw new Error("this is no regular file, so that reading it could wait forever");
    const type = imageType(nameOf(this.path));
    if (type !== undefined && size <= MAX_IMAGE_BYTES && size > 0) {
      const bytes = await this.#files.read(this.path, { signal });
      return { content: { kind: "image", type }, bytes: bytes.slice(), isWhole: true, size };
    }
    const isWhole = size <= MAX_WHOLE_BYTES;
    const bytes = isWhole ? await this.#files.read(this.path, { signal }) : await this.#beginning(signal);
    return { content: contentOf(bytes, isWhole), bytes: bytes.slice(), isWhole, size };
  }

  async #beginning(signal: AbortSignal): Promise<Uint8Array> {
    for await (const block of this.#files.readStream(this.path, { signal }))
      return block.subarray(0, PART_BYTES);
    return new Uint8Array();
  }
}

/** What the state of the disk is called after each judgement. */
const DISK_STATES = { nothing: "same", conflict: "changed", gone: "gone" } as const;

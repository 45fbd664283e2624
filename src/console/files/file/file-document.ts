import { signal } from "@preact/signals";
import { FileError, type Files } from "../../../client/browser.ts";
import { contentOf, type FileContent, imageType, isSame } from "../file-content.ts";
import type { Encoding } from "../encodings.ts";
import { followDirectory } from "../follow-directory.ts";
import { nameOf, parentOf } from "../../frame/paths.ts";
import { judgeChange } from "./save-rules.ts";

/** Larger files are shown in pages, and cannot be edited. */
export const MAX_WHOLE_BYTES = 5_000_000;
/** Enough to find out what a file contains. */
const PART_BYTES = 64 * 1024;
const MAX_IMAGE_BYTES = 50_000_000;

export interface Loaded {
  readonly content: FileContent;
  /** The file, or its beginning. */
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly isWhole: boolean;
  readonly size: number;
}

/**
 * State of the disk since the file was opened. `other`: its name now belongs to something that is not a regular file.
 */
export type DiskState = "same" | "changed" | "gone" | "other";

/** The path of a file now belongs to something that is not a regular file. */
export class NotRegular extends Error {
  constructor(path: string) {
    super(
      `${nameOf(path)} is no longer a regular file: a directory, a device, a pipe or a socket now has its name`,
    );
    this.name = "NotRegular";
  }
}

/** A file as it is on the server's machine, until it is closed. */
export class FileDocument {
  readonly path: string;
  readonly loaded = signal<Loaded | undefined>(undefined);
  readonly error = signal<unknown>(undefined);
  readonly disk = signal<DiskState>("same");
  /** Whether the user has edited it here. */
  readonly isChanged = signal(false);
  /** Its pages are shown, not what was loaded, so a change of it need not be read. */
  isPaged = false;
  /** The encoding that the user chose. */
  #chosen: Encoding | undefined;
  readonly #files: Files;
  readonly #closing = new AbortController();

  constructor(files: Files, path: string, chosen?: Encoding) {
    this.#files = files;
    this.path = path;
    this.#chosen = chosen;
  }

  /** Reads it and follows its changes. */
  async open(): Promise<void> {
    const { signal } = this.#closing;
    // Programs that save replace the file: its directory shows that, the file itself does not.
    await followDirectory(this.#files, parentOf(this.path), signal, {
      start: () => this.load(),
      change: async ({ paths, overflow }) => {
        if (overflow || paths.includes(this.path)) await this.#checkDisk();
      },
    });
  }

  close(): void {
    this.#closing.abort();
  }

  /** Reads it again; unsaved changes are lost. */
  async load(): Promise<void> {
    try {
      this.loaded.value = await this.#read();
      this.error.value = undefined;
      this.disk.value = "same";
    } catch (error) {
      if (!this.#closing.signal.aborted) this.error.value = error;
    }
  }

  /** Its current bytes, or the first ones if it has become very large; undefined if it is gone. */
  async current(): Promise<Uint8Array | undefined> {
    const { signal } = this.#closing;
    const size = await this.#sizeNow();
    if (size === undefined) return undefined;
    return size > MAX_IMAGE_BYTES ? this.#beginning(signal) : this.#files.read(this.path, { signal });
  }

  /** Writes it; its permissions stay. */
  async write(bytes: Uint8Array<ArrayBuffer>): Promise<void> {
    await this.#files.write(this.path, bytes);
    this.saved(bytes);
  }

  /** Shows it as text in an encoding; without one, as what it seems to be. */
  showAs(encoding: Encoding | undefined): void {
    this.#chosen = encoding;
    const loaded = this.loaded.value;
    if (loaded !== undefined)
      this.loaded.value = { ...loaded, content: this.#contentOf(loaded.bytes, loaded.isWhole) };
  }

  /** The file has these bytes now. */
  saved(bytes: Uint8Array<ArrayBuffer>): void {
    const before = this.loaded.value?.content;
    // A text without its last umlaut must not become one of another encoding.
    const content = contentOf(bytes, true, before?.kind === "text" ? before.encoding : undefined);
    this.loaded.value = { content, bytes, isWhole: true, size: bytes.length };
    this.disk.value = "same";
  }

  /** Changes that were made to an older version are continued. */
  continueFrom(base: Uint8Array<ArrayBuffer>): void {
    const loaded = this.loaded.value;
    if (loaded === undefined || isSame(base, loaded.bytes)) return;
    this.loaded.value = { ...loaded, bytes: base };
    this.disk.value = "changed";
  }

  async #checkDisk(): Promise<void> {
    const loaded = this.loaded.value;
    if (loaded === undefined) return this.load();
    try {
      if (!loaded.isWhole || this.isPaged) return await this.#checkLargeFile(loaded);
      const judged = judgeChange(loaded.bytes, await this.current(), this.isChanged.value);
      if (judged === "reload") await this.load();
      else this.disk.value = DISK_STATES[judged];
    } catch (error) {
      // An unreadable file may become readable later.
      if (error instanceof NotRegular) this.disk.value = "other";
    }
  }

  /** Its pages are read when they are asked for. */
  async #checkLargeFile(loaded: Loaded): Promise<void> {
    const size = await this.#sizeNow();
    if (size === undefined) this.disk.value = "gone";
    else if (size < loaded.size || this.disk.value === "gone") await this.load();
    else this.loaded.value = { ...loaded, size };
  }

  /** Undefined if it is gone. */
  async #sizeNow(): Promise<number | undefined> {
    try {
      const { kind, size } = await this.#files.stat(this.path, { signal: this.#closing.signal });
      // Reading a pipe would wait, and reading a device can change something.
      if (kind !== "file") throw new NotRegular(this.path);
      return size;
    } catch (error) {
      if (error instanceof FileError && error.code === "NOT_FOUND") return undefined;
      throw error;
    }
  }

  async #read(): Promise<Loaded> {
    const { signal } = this.#closing;
    const { kind, size } = await this.#files.stat(this.path, { signal });
    if (kind !== "file") throw new NotRegular(this.path);
    const isImage = imageType(nameOf(this.path)) !== undefined;
    const isWhole = size <= (isImage ? MAX_IMAGE_BYTES : MAX_WHOLE_BYTES);
    const bytes = isWhole ? await this.#files.read(this.path, { signal }) : await this.#beginning(signal);
    // It may have grown since.
    const sizeRead = isWhole ? bytes.length : size;
    return { content: this.#contentOf(bytes, isWhole), bytes: bytes.slice(), isWhole, size: sizeRead };
  }

  #contentOf(bytes: Uint8Array, isWhole: boolean): FileContent {
    const type = imageType(nameOf(this.path));
    const isImage = type !== undefined && isWhole && bytes.length > 0 && this.#chosen === undefined;
    if (isImage) return { kind: "image", type };
    // The source of a large picture is shown in pages as well.
    return bytes.length > MAX_WHOLE_BYTES
      ? contentOf(bytes.subarray(0, PART_BYTES), false, this.#chosen)
      : contentOf(bytes, isWhole, this.#chosen);
  }

  async #beginning(signal: AbortSignal): Promise<Uint8Array> {
    for await (const block of this.#files.readStream(this.path, { signal, length: PART_BYTES })) return block;
    return new Uint8Array();
  }
}

/** The state that each judgement leads to. */
const DISK_STATES = { nothing: "same", conflict: "changed", gone: "gone" } as const;

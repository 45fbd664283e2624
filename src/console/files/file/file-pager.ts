import { signal } from "@preact/signals";
import { joinBytes } from "../../../base/join-bytes.ts";
import { pause } from "../../../base/deadlines.ts";
import { FileError, type Files } from "../../../client/browser.ts";
import { isSame } from "../file-content.ts";
import { decode, type Encoding } from "../encodings.ts";
import { NotRegular } from "./file-document.ts";
import { firstLineIn, lastLineIn, unitOf } from "./page-edges.ts";

/** How much of a file a page has. */
export const PAGE_BYTES = 256 * 1024;
/** A page that grows at its end begins anew when it is this large. */
const MAX_GROWN_BYTES = 4 * PAGE_BYTES;
/** A line that is longer than this is not shown from its start when the middle of it is asked for. */
const MAX_LINE_BYTES = PAGE_BYTES / 4;
/** The end of a page that must still be there when the file has grown; otherwise it is another file. */
const KNOWN_BYTES = 256;
const FOLLOW_MS = 700;

/** A part of a file: whole lines, unless they are longer than a page. */
export interface FilePage {
  readonly from: number;
  /** Where it ends. */
  readonly to: number;
  readonly bytes: Uint8Array;
  readonly text: string;
}

/** Where a new page is first looked at. */
export type Edge = "start" | "end";

/** Shows a file of any size in parts, until it is closed. */
export class FilePager {
  readonly page = signal<FilePage | undefined>(undefined);
  /** Size of the file when the page was read. */
  readonly size = signal(0);
  readonly error = signal<unknown>(undefined);
  /** Whether what is appended to the file is shown. */
  readonly isFollowing = signal(false);
  /** Where the current page is first looked at. */
  edge: Edge = "start";
  readonly #files: Files;
  readonly #path: string;
  #encoding: Encoding;
  /** Aborted by the next step. */
  #step = new AbortController();

  constructor(files: Files, path: string, encoding: Encoding) {
    this.#files = files;
    this.#path = path;
    this.#encoding = encoding;
  }

  close(): void {
    this.isFollowing.value = false;
    this.#step.abort();
  }

  /** Shows the same page in another encoding. */
  showAs(encoding: Encoding): void {
    if (encoding === this.#encoding) return;
    this.#encoding = encoding;
    const page = this.page.value;
    if (page !== undefined) this.page.value = this.#pageOf(page.from, page.bytes);
  }

  toStart(): Promise<void> {
    return this.#go("start", (_, signal) => this.#from(0, signal));
  }

  toEnd(): Promise<void> {
    return this.#go("end", (size, signal) => this.#upTo(size, signal));
  }

  later(): Promise<void> {
    const to = this.page.value?.to ?? 0;
    return this.#go("start", (size, signal) =>
      to < size ? this.#from(to, signal) : this.#upTo(size, signal),
    );
  }

  earlier(): Promise<void> {
    const from = this.page.value?.from ?? 0;
    return this.#go("end", (size, signal) =>
      from > 0 ? this.#upTo(Math.min(from, size), signal) : this.#from(0, signal),
    );
  }

  /** Shows the line at an offset. */
  goTo(offset: number): Promise<void> {
    return this.#go("start", async (size, signal) => {
      const wanted = this.#aligned(Math.min(offset, size));
      const start = Math.max(0, wanted - MAX_LINE_BYTES);
      const before = await this.#read(start, wanted - start, signal);
      return this.#from(start + lastLineIn(before, this.#encoding), signal);
    });
  }

  /** Shows the end of the file, and what is appended, until another page is asked for. */
  async follow(): Promise<void> {
    await this.toEnd();
    if (this.page.value === undefined) return;
    this.isFollowing.value = true;
    const { signal } = this.#step;
    for (;;) {
      await pause(FOLLOW_MS, signal);
      if (signal.aborted || !this.isFollowing.value) return;
      try {
        await this.#grow(signal);
        this.error.value = undefined;
      } catch (error) {
        if (signal.aborted) return;
        // A log that is being replaced is missing for a moment.
        if (!(error instanceof FileError)) this.isFollowing.value = false;
        this.error.value = error;
      }
    }
  }

  stopFollowing(): void {
    this.isFollowing.value = false;
  }

  async #go(edge: Edge, read: (size: number, signal: AbortSignal) => Promise<FilePage>): Promise<void> {
    this.#step.abort();
    this.#step = new AbortController();
    this.isFollowing.value = false;
    const { signal } = this.#step;
    try {
      const size = await this.#sizeNow(signal);
      const page = await read(size, signal);
      if (signal.aborted) return;
      this.#show(page, size, edge);
      this.error.value = undefined;
    } catch (error) {
      if (!signal.aborted) this.error.value = error;
    }
  }

  #show(page: FilePage, size: number, edge: Edge): void {
    this.edge = edge;
    this.size.value = Math.max(size, page.to);
    this.page.value = page;
  }

  /** Adds what was appended to the last page. */
  async #grow(signal: AbortSignal): Promise<void> {
    const page = this.page.value!;
    const size = await this.#sizeNow(signal);
    if (size === page.to) return;
    const grown = size - page.to;
    const known = page.bytes.subarray(-Math.min(KNOWN_BYTES, page.bytes.length));
    const isContinued =
      grown > 0 &&
      page.bytes.length + grown <= MAX_GROWN_BYTES &&
      isSame(known, await this.#read(page.to - known.length, known.length, signal));
    const next = isContinued
      ? this.#pageOf(page.from, joinBytes([page.bytes, await this.#read(page.to, grown, signal)]))
      : await this.#upTo(size, signal);
    if (!signal.aborted && this.isFollowing.value) this.#show(next, size, "end");
  }

  async #from(from: number, signal: AbortSignal): Promise<FilePage> {
    // One more than a page shows whether the file ends with it.
    const bytes = await this.#read(from, PAGE_BYTES + 1, signal);
    const isEnd = bytes.length <= PAGE_BYTES;
    const end = isEnd ? bytes.length : lastLineIn(bytes.subarray(0, PAGE_BYTES), this.#encoding);
    return this.#pageOf(from, bytes.subarray(0, end));
  }

  async #upTo(to: number, signal: AbortSignal): Promise<FilePage> {
    const start = this.#aligned(Math.max(0, to - PAGE_BYTES));
    const bytes = await this.#read(start, to - start, signal);
    const skipped = start === 0 ? 0 : firstLineIn(bytes, this.#encoding);
    return this.#pageOf(start + skipped, bytes.subarray(skipped));
  }

  #pageOf(from: number, bytes: Uint8Array): FilePage {
    const text = decode(bytes, this.#encoding, false);
    return { from, to: from + bytes.length, bytes, text: from === 0 ? text.replace(/^\ufeff/, "") : text };
  }

  #aligned(offset: number): number {
    return offset - (offset % unitOf(this.#encoding));
  }

  async #read(offset: number, length: number, signal: AbortSignal): Promise<Uint8Array> {
    if (length <= 0) return new Uint8Array();
    const blocks: Uint8Array[] = [];
    for await (const block of this.#files.readStream(this.#path, { offset, length, signal }))
      blocks.push(block);
    return joinBytes(blocks);
  }

  async #sizeNow(signal: AbortSignal): Promise<number> {
    const { kind, size } = await this.#files.stat(this.#path, { signal });
    // Reading a pipe would wait, and reading a device can change something.
    if (kind !== "file") throw new NotRegular(this.#path);
    return size;
  }
}

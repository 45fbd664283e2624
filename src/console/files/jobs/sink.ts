import { downloadBlob } from "../../ui/download-blob.ts";

/** Destination of a download: a local file, or the browser's downloads. */
export type Sink = Pick<FileSystemWritableFileStream, "close" | "abort"> & {
  write(block: Uint8Array<ArrayBuffer>): Promise<void>;
};

/** Smaller files go to the browser's downloads without a question. */
const PICKED_BYTES = 64 * 1024 * 1024;
/** Blocks are handed to the browser in parts of this size: it keeps them on its disk, and the page none. */
const PART_BYTES = 8 * 1024 * 1024;

type Picker = (options: { suggestedName: string }) => Promise<FileSystemFileHandle>;

/** A file of this machine that the person chose, or the browser's downloads; undefined if nothing was chosen. */
export async function openSink(name: string, bytes: number): Promise<Sink | undefined> {
  const pick = (globalThis as { showSaveFilePicker?: Picker }).showSaveFilePicker;
  if (pick === undefined || bytes < PICKED_BYTES) return new DownloadSink(name);
  try {
    const handle = await pick({ suggestedName: name });
    return await handle.createWritable();
  } catch (error) {
    if (error instanceof DOMException && error.name === "AbortError") return undefined;
    // The browser does not allow it here, for example without a click.
    return new DownloadSink(name);
  }
}

class DownloadSink implements Sink {
  readonly #name: string;
  readonly #parts: Blob[] = [];
  #blocks: Uint8Array<ArrayBuffer>[] = [];
  #bytes = 0;

  constructor(name: string) {
    this.#name = name;
  }

  async write(block: Uint8Array<ArrayBuffer>): Promise<void> {
    this.#blocks.push(block);
    this.#bytes += block.length;
    if (this.#bytes >= PART_BYTES) this.#handOver();
  }

  async close(): Promise<void> {
    this.#handOver();
    downloadBlob(new Blob(this.#parts, { type: "application/octet-stream" }), this.#name);
  }

  async abort(): Promise<void> {
    this.#blocks = [];
    this.#parts.length = 0;
  }

  #handOver(): void {
    this.#parts.push(new Blob(this.#blocks));
    this.#blocks = [];
    this.#bytes = 0;
  }
}

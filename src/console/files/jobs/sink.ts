import { downloadBlob } from "../../ui/download-blob.ts";

/** Where a download goes. */
export interface Sink {
  write(block: Uint8Array): Promise<void>;
  finish(): Promise<void>;
  abandon(): Promise<void>;
}

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
    return new DiskSink(await handle.createWritable());
  } catch (error) {
    if (error instanceof DOMException && error.name === "AbortError") return undefined;
    // Not allowed here, as without a click.
    return new DownloadSink(name);
  }
}

class DiskSink implements Sink {
  readonly #stream: FileSystemWritableFileStream;

  constructor(stream: FileSystemWritableFileStream) {
    this.#stream = stream;
  }

  write(block: Uint8Array): Promise<void> {
    return this.#stream.write(block as Uint8Array<ArrayBuffer>);
  }

  finish(): Promise<void> {
    return this.#stream.close();
  }

  abandon(): Promise<void> {
    return this.#stream.abort();
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

  async write(block: Uint8Array): Promise<void> {
    // Memory of the library is never shared.
    this.#blocks.push(block as Uint8Array<ArrayBuffer>);
    this.#bytes += block.length;
    if (this.#bytes >= PART_BYTES) this.#handOver();
  }

  async finish(): Promise<void> {
    this.#handOver();
    downloadBlob(new Blob(this.#parts, { type: "application/octet-stream" }), this.#name);
  }

  async abandon(): Promise<void> {
    this.#blocks = [];
    this.#parts.length = 0;
  }

  #handOver(): void {
    this.#parts.push(new Blob(this.#blocks));
    this.#blocks = [];
    this.#bytes = 0;
  }
}

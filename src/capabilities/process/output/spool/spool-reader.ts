import type { SpoolDirectory } from "./spool-directory.ts";
import {
  decodeRecord,
  HEADER_BYTES,
  lengthAt,
  MAX_RECORD_BYTES,
  nextCandidate,
  type SpoolRecord,
} from "./spool-record.ts";

/** More than the longest record, so that a window always holds a whole one. */
const WINDOW_BYTES = 2 * MAX_RECORD_BYTES;
/** Places in a damaged file where a record may begin that are tried before the rest of it is given up. */
const MAX_CANDIDATES = 64;

export type FoundRecord = SpoolRecord & { readonly at: number };

/** Reads the files of the spool. Uses one window of memory for all of them. */
export class SpoolReader {
  readonly #directory: SpoolDirectory;
  readonly #window = Buffer.allocUnsafeSlow(WINDOW_BYTES);

  constructor(directory: SpoolDirectory) {
    this.#directory = directory;
  }

  /**
   * Visits the records of a file from a position on, until `visit` returns false. Damaged ones are left out. What a
   * record refers to is valid during the visit. Returns whether all were visited.
   */
  visit(name: string, from: number, visit: (record: FoundRecord) => boolean): boolean {
    return this.#directory.read(name, (read) => this.#visit(read, from, visit)) ?? true;
  }

  #visit(
    read: (into: Buffer, position: number) => number,
    from: number,
    visit: (record: FoundRecord) => boolean,
  ): boolean {
    let start = from;
    let bytes = this.#window.subarray(0, read(this.#window, start));
    let at = 0;
    let candidates = 0;
    /** Makes the longest record fit, unless the file ends before. */
    const reload = (): void => {
      start += at;
      at = 0;
      bytes = this.#window.subarray(0, read(this.#window, start));
    };
    for (;;) {
      if (bytes.length - at < MAX_RECORD_BYTES && bytes.length === WINDOW_BYTES) reload();
      if (bytes.length - at < HEADER_BYTES) return true;
      const length = lengthAt(bytes, at);
      const record = length === undefined ? undefined : decodeRecord(bytes, at, length);
      if (record !== undefined) {
        if (!visit({ ...record, at: start + at })) return false;
        at = record.end;
        continue;
      }
      candidates += 1;
      if (candidates > MAX_CANDIDATES) return true;
      at = nextCandidate(bytes, at + 1);
      // The beginning of one may be at the end of the window.
      if (at === bytes.length && bytes.length === WINDOW_BYTES) at -= HEADER_BYTES;
    }
  }
}

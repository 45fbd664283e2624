import { randomId } from "../../../../base/random-id.ts";
import { SpoolDirectory } from "./spool-directory.ts";
import { SpoolReader } from "./spool-reader.ts";
import {
  encodeDescription,
  encodeOutput,
  MAX_RECORD_BYTES,
  type SpoolDescription,
  type SpooledChunk,
} from "./spool-record.ts";

export interface SpoolLimits {
  readonly maxBytesPerProcess: number;
  readonly maxBytesPerOwner: number;
  readonly maxBytes: number;
}

/** Part of a process's output. */
export interface SpoolPage {
  readonly chunks: readonly SpooledChunk[];
  /** One past the last event that was looked for: what is missing before it is not in the spool. */
  readonly endSeq: number;
}

/** When consecutive events came. */
export interface SpoolTimes {
  readonly firstSeq: number;
  readonly timesMs: readonly number[];
}

/** Events of a page, so that many small ones have a bound, too. */
const MAX_PAGE_CHUNKS = 4_096;
/** The oldest output of a process is given up a file at a time. */
const FILES_PER_PROCESS = 16;
const MAX_FILE_BYTES = 4 * 1024 * 1024;
const MIN_FILE_BYTES = 64 * 1024;
/** Processes of earlier keepers whose output stays, the newest ones. */
const MAX_LOST = 1_024;
const NAME = /^([A-Za-z0-9_-]{1,64})\.([0-9]{1,16})\.out$/;

/** Which process a file belongs to, and its first number; undefined for any other file. */
export function parseFileName(name: string): { readonly id: string; readonly firstSeq: number } | undefined {
  const [, id, firstSeq] = NAME.exec(name) ?? [];
  return id === undefined ? undefined : { id, firstSeq: Number(firstSeq) };
}

/** One file: output from a number on. */
interface Segment {
  readonly name: string;
  readonly spooled: Spooled;
  readonly firstSeq: number;
  bytes: number;
  /** The earliest time in it; a clock can jump. */
  oldestMs: number;
}

/** The files of one process. */
interface Spooled {
  readonly id: string;
  readonly owner: Owner;
  readonly description: Buffer;
  /** By their first number. */
  readonly segments: Segment[];
  bytes: number;
  /** Where reading stopped last. */
  cursor: { readonly segment: Segment; readonly at: number; readonly afterSeq: number } | undefined;
}

/** Files, the oldest first, and their size. */
interface Owner {
  readonly name: string;
  processes: number;
  readonly segments: Set<Segment>;
  bytes: number;
}

/**
 * The output of processes on disk: for each a few files that are only appended to. Which numbers and times are in which
 * file is known here; within a file, records are skipped. When a limit is reached, the oldest file is removed: of the
 * process, of its owner, or of all.
 */
export class SpoolFiles {
  readonly #directory: SpoolDirectory;
  readonly #reader: SpoolReader;
  readonly #limits: SpoolLimits;
  readonly #fileBytes: number;
  readonly #processes = new Map<number, Spooled>();
  readonly #owners = new Map<string, Owner>();
  readonly #all = newOwner("");
  /** Memory for the record that is written, and for the page that is read. */
  readonly #record = Buffer.allocUnsafeSlow(MAX_RECORD_BYTES);
  readonly #page = Buffer.allocUnsafeSlow(MAX_RECORD_BYTES);

  /** Throws if the directory cannot be used. */
  constructor(path: string, limits: SpoolLimits) {
    this.#directory = SpoolDirectory.create(path);
    this.#reader = new SpoolReader(this.#directory);
    this.#limits = limits;
    this.#fileBytes = Math.max(
      MIN_FILE_BYTES,
      Math.min(MAX_FILE_BYTES, Math.floor(limits.maxBytesPerProcess / FILES_PER_PROCESS)),
    );
    this.#takeOver();
  }

  /** Bytes in all files. */
  get bytes(): number {
    return this.#all.bytes;
  }

  /** Begins with a process, whose key must be new. Nothing is written before its first output. */
  open(key: number, description: SpoolDescription): void {
    const owner = this.#owners.get(description.owner) ?? newOwner(description.owner);
    this.#owners.set(owner.name, owner);
    owner.processes += 1;
    this.#processes.set(key, newSpooled(owner, encodeDescription(JSON.stringify(description))));
  }

  /** Appends output with later numbers than before. Throws if the disk is full; then nothing was written. */
  append(key: number, chunks: readonly SpooledChunk[]): void {
    const spooled = this.#processes.get(key);
    const firstSeq = chunks[0]?.seq;
    if (spooled === undefined || firstSeq === undefined) return;
    const record = encodeOutput(chunks, this.#record);
    const bytes = record.length + spooled.description.length;
    this.#makeRoom(spooled, bytes);
    this.#directory.checkRoom(bytes);
    const oldestMs = Math.min(...chunks.map(({ atMs }) => atMs));
    const last = spooled.segments.at(-1);
    if (last !== undefined && last.bytes + record.length <= this.#fileBytes) {
      if (this.#directory.append(last.name, record, last.bytes)) {
        this.#grow(last, record.length);
        last.oldestMs = Math.min(last.oldestMs, oldestMs);
        return;
      }
      // Somebody else has changed it: go on in another one.
    }
    const name = `${spooled.id}.${firstSeq}.out`;
    this.#directory.create(name, Buffer.concat([spooled.description, record]));
    const segment: Segment = { name, spooled, firstSeq, bytes: 0, oldestMs };
    spooled.segments.push(segment);
    for (const holder of [spooled.owner, this.#all]) holder.segments.add(segment);
    this.#grow(segment, spooled.description.length + record.length);
  }

  /** Output after a number and before another one: at least one chunk if there is any. */
  read(key: number, afterSeq: number, beforeSeq: number, maxBytes: number): SpoolPage {
    const found: { chunk: SpooledChunk; start: number }[] = [];
    let total = 0;
    let isCut = false;
    this.#visit(key, afterSeq, (chunk) => {
      if (chunk.seq >= beforeSeq) return false;
      const room = Math.min(maxBytes, this.#page.length) - total;
      isCut = found.length === MAX_PAGE_CHUNKS || (found.length > 0 && chunk.bytes.length > room);
      if (isCut) return false;
      this.#page.set(chunk.bytes, total);
      found.push({ chunk, start: total });
      total += chunk.bytes.length;
      return true;
    });
    // One buffer for all, which can be handed to another thread.
    const bytes = new Uint8Array(this.#page.subarray(0, total));
    const chunks = found.map(({ chunk, start }) => ({
      ...chunk,
      bytes: bytes.subarray(start, start + chunk.bytes.length),
    }));
    const last = chunks.at(-1);
    return { chunks, endSeq: isCut && last !== undefined ? last.seq + 1 : beforeSeq };
  }

  /** Times of consecutive events from a number on; none if the spool has no event from there to `beforeSeq`. */
  times(key: number, fromSeq: number, beforeSeq: number, maxCount: number): SpoolTimes {
    let firstSeq = beforeSeq;
    const timesMs: number[] = [];
    this.#visit(key, fromSeq - 1, ({ seq, atMs }) => {
      if (seq >= beforeSeq || timesMs.length === maxCount) return false;
      if (timesMs.length === 0) firstSeq = seq;
      else if (seq !== firstSeq + timesMs.length) return false;
      timesMs.push(atMs);
      return true;
    });
    return { firstSeq, timesMs };
  }

  /** Number of the event after the last one that is older; 1 if none is. */
  since(key: number, timeMs: number): number {
    const segments = this.#processes.get(key)?.segments ?? [];
    const segment = segments.findLast(({ oldestMs }) => oldestMs < timeMs);
    if (segment === undefined) return 1;
    let seq = segment.firstSeq;
    this.#reader.visit(segment.name, 0, (record) => {
      if (record.kind === "output")
        for (const chunk of record.chunks) if (chunk.atMs < timeMs) seq = chunk.seq + 1;
      return true;
    });
    return seq;
  }

  /** Removes the files of a process. */
  remove(key: number): void {
    const spooled = this.#processes.get(key);
    if (spooled === undefined) return;
    this.#processes.delete(key);
    while (this.#dropOldest(spooled.segments));
    spooled.owner.processes -= 1;
    if (spooled.owner.processes === 0) this.#owners.delete(spooled.owner.name);
  }

  close(): void {
    this.#directory.close();
  }

  /** What other keepers have left counts as well, and goes first. */
  #takeOver(): void {
    const found = this.#directory.names().flatMap((name) => {
      const parsed = parseFileName(name);
      const stats = parsed && this.#directory.stat(name);
      return parsed === undefined || stats === undefined ? [] : [{ name, ...parsed, ...stats }];
    });
    const nobody = newOwner("");
    const lost = new Map<string, Spooled>();
    for (const { name, id, firstSeq, size } of found.toSorted((a, b) => a.changedMs - b.changedMs)) {
      let spooled = lost.get(id);
      if (spooled === undefined) lost.set(id, (spooled = newSpooled(nobody, Buffer.alloc(0))));
      const segment: Segment = { name, spooled, firstSeq, bytes: 0, oldestMs: 0 };
      spooled.segments.push(segment);
      this.#all.segments.add(segment);
      this.#grow(segment, size);
    }
    for (const { segments } of [...lost.values()].slice(0, -MAX_LOST)) while (this.#dropOldest(segments));
  }

  /** Visits events after a number, in order, until `visit` returns false. Returns whether all were visited. */
  #visit(key: number, afterSeq: number, visit: (chunk: SpooledChunk) => boolean): boolean {
    const spooled = this.#processes.get(key);
    if (spooled === undefined) return true;
    const { segments, cursor } = spooled;
    let index = Math.max(
      0,
      segments.findLastIndex(({ firstSeq }) => firstSeq <= afterSeq + 1),
    );
    let last = afterSeq;
    for (; index < segments.length; index += 1) {
      const segment = segments[index]!;
      const from = cursor?.segment === segment && cursor.afterSeq <= afterSeq ? cursor.at : 0;
      const isWhole = this.#reader.visit(segment.name, from, (record) => {
        if (record.kind !== "output") return true;
        const before = last;
        for (const chunk of record.chunks) {
          // A file that was copied over another one repeats numbers.
          if (chunk.seq <= last) continue;
          if (!visit(chunk)) {
            spooled.cursor = { segment, at: record.at, afterSeq: before };
            return false;
          }
          last = chunk.seq;
        }
        return true;
      });
      if (!isWhole) return false;
    }
    return true;
  }

  #makeRoom(spooled: Spooled, bytes: number): void {
    const { maxBytesPerProcess, maxBytesPerOwner, maxBytes } = this.#limits;
    while (spooled.bytes + bytes > maxBytesPerProcess && this.#dropOldest(spooled.segments));
    while (spooled.owner.bytes + bytes > maxBytesPerOwner && this.#dropOldest(spooled.owner.segments));
    while (this.#all.bytes + bytes > maxBytes && this.#dropOldest(this.#all.segments));
  }

  #dropOldest(segments: Iterable<Segment>): boolean {
    const [oldest] = segments;
    if (oldest !== undefined) this.#drop(oldest);
    return oldest !== undefined;
  }

  #drop(segment: Segment): void {
    const { spooled } = segment;
    try {
      this.#directory.remove(segment.name);
    } catch {} // Somebody else has put something in its place.
    this.#grow(segment, -segment.bytes);
    spooled.segments.splice(spooled.segments.indexOf(segment), 1);
    for (const holder of [spooled.owner, this.#all]) holder.segments.delete(segment);
  }

  #grow(segment: Segment, bytes: number): void {
    for (const counted of [segment, segment.spooled, segment.spooled.owner, this.#all])
      counted.bytes += bytes;
  }
}

function newOwner(name: string): Owner {
  return { name, processes: 0, segments: new Set(), bytes: 0 };
}

function newSpooled(owner: Owner, description: Buffer): Spooled {
  return { id: randomId(), owner, description, segments: [], bytes: 0, cursor: undefined };
}

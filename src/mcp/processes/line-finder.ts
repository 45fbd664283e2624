import { joinBytes } from "../../base/join-bytes.ts";
import type { OutputLog } from "./output-log.ts";
import type { Pattern } from "./pattern.ts";

const NEWLINE = 10;
/** Longer lines are searched piece by piece. */
const MAX_LINE_BYTES = 8_192;
const MAX_READ_BYTES = 1024 * 1024;

/** A line that matches, and the position after it. */
export interface FoundLine {
  readonly line: string;
  readonly end: number;
}

/** Looks for a line in output that grows, from a position on. A line that has not ended counts too: it may be a prompt. */
export class LineFinder {
  readonly #log: OutputLog;
  readonly #pattern: Pattern;
  #position: number;
  /** The beginning of a line, which ends at `#position`. */
  #unfinished: Uint8Array = new Uint8Array(0);

  constructor(log: OutputLog, pattern: Pattern, position: number) {
    this.#log = log;
    this.#pattern = pattern;
    this.#position = position;
  }

  /** Searches what is new. */
  next(): FoundLine | undefined {
    const { bytes: added, from } = this.#log.read(this.#position, MAX_READ_BYTES);
    if (added.length === 0) return undefined;
    // What has been dropped in between breaks the line.
    const earlier = from === this.#position ? this.#unfinished : new Uint8Array(0);
    const bytes = joinBytes([earlier, added]);
    this.#position = from + added.length;
    const ends = lineEnds(bytes);
    const text = Buffer.from(bytes.buffer);
    const lines = ends.map((end, index) => textOf(text, ends[index - 1] ?? 0, end));
    const last = ends.at(-1)!;
    this.#unfinished = bytes[last - 1] === NEWLINE ? new Uint8Array(0) : bytes.slice(ends.at(-2) ?? 0);
    const found = this.#pattern.findIn(lines);
    if (found < 0) return undefined;
    return { line: lines[found]!, end: this.#position - bytes.length + ends[found]! };
  }
}

/** Where lines end, with their line end; the last one may lack it. */
function lineEnds(bytes: Uint8Array): number[] {
  const ends: number[] = [];
  for (let start = 0; start < bytes.length; ) {
    const newline = bytes.indexOf(NEWLINE, start);
    const end = newline < 0 ? bytes.length : newline + 1;
    start = Math.min(end, start + MAX_LINE_BYTES);
    ends.push(start);
  }
  return ends;
}

/** A terminal ends its lines with CR LF. */
const textOf = (bytes: Buffer, start: number, end: number): string =>
  bytes.toString("utf8", start, end).replace(/\r?\n$/, "");

import { randomBytes } from "node:crypto";
import { Fifo } from "../../base/fifo.ts";
import type { Report } from "./messages.ts";

/** About 40 MB of the longest lines, and an hour of a process that starts and ends each second. */
const MAX_LINES = 8_192;
/** Share at which requests are refused, so that events that cannot be refused still have room. */
const FULL_SHARE = 0.75;

export type Line = Extract<Report, { kind: "audit" }>;

/** Lines for the audit log, numbered and kept until they are in its file: the server that writes it may be killed. */
export class KeptLines {
  readonly #name = randomBytes(4).toString("hex");
  readonly #lines = new Fifo<Line>();
  #last = 0;

  get size(): number {
    return this.#lines.size;
  }

  get isFull(): boolean {
    return this.size > MAX_LINES * FULL_SHARE;
  }

  /** Returns the line with its number; undefined if there is no room, and the line is lost. */
  add(line: Line): Line | undefined {
    if (this.size >= MAX_LINES) return undefined;
    this.#last += 1;
    const numbered = { ...line, record: `${this.#name}:${this.#last}` };
    this.#lines.push(numbered);
    return numbered;
  }

  /** Forgets the lines up to this number, which are in the log. */
  recorded(number: number): void {
    let first = this.#last - this.size + 1;
    for (; first <= number && this.size > 0; first += 1) this.#lines.shift();
    if (this.size === 0) this.#lines.compact();
  }

  /** The lines to send to another server, whose log ends with these numbers of keepers. */
  after(numbers: Readonly<Record<string, number>>): readonly Line[] {
    this.recorded(numbers[this.#name] ?? 0);
    return Array.from({ length: this.size }, (_, at) => this.#lines.at(at)!);
  }
}

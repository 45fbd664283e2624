import { Fifo } from "../../base/fifo.ts";
import type { Report } from "./messages.ts";

const MAX_LINES = 256;

type Line = Extract<Report, { kind: "log" }>;

/** The newest lines of a keeper's log, for as long as no server takes them. */
export class UnheardLog {
  readonly #lines = new Fifo<Line>();
  #forgotten = 0;

  add(reports: readonly Report[]): void {
    const at = new Date().toISOString();
    for (const report of reports) {
      if (report.kind !== "log") continue;
      this.#lines.push({ ...report, fields: { ...report.fields, at } });
      if (this.#lines.size <= MAX_LINES) continue;
      this.#lines.shift();
      this.#forgotten += 1;
    }
  }

  take(): Line[] {
    const lines = Array.from({ length: this.#lines.size }, () => this.#lines.shift()!);
    this.#lines.compact();
    const forgotten = this.#forgotten;
    this.#forgotten = 0;
    if (forgotten === 0) return lines;
    const message = "the keeper has forgotten the oldest lines of its log";
    return [{ kind: "log", level: "warn", message, fields: { lines: forgotten } }, ...lines];
  }
}

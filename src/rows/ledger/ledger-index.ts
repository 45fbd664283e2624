import { RowStates } from "../engine/row-states.ts";
import type { LedgerEntry } from "./ledger-entries.ts";
import { LineOffsets } from "./line-offsets.ts";

/** Index of a ledger's rows: eleven bytes for each, and the machines of the attempts. */
export class LedgerIndex {
  readonly states = new RowStates();
  /** Offsets of the latest lines about the end of an attempt. */
  readonly offsets = new LineOffsets();
  /** Every machine on which an attempt was begun. */
  readonly places = new Set<string>();
  /** By row, only for running attempts: as many as run at once. */
  readonly #placeOf = new Map<number, string>();

  placeOf(index: number): string | undefined {
    return this.#placeOf.get(index);
  }

  /** Takes in the line that begins at `offset`. */
  add(entry: LedgerEntry, offset: number): void {
    if (entry.kind !== "begin" && entry.kind !== "retry" && entry.kind !== "end") return;
    const { index } = entry;
    this.#placeOf.delete(index);
    if (entry.kind === "begin") {
      this.states.set(index, "running", entry.attempt);
      if (entry.host === undefined) return;
      this.#placeOf.set(index, entry.host);
      this.places.add(entry.host);
      return;
    }
    this.offsets.set(index, offset);
    if (entry.kind === "retry") this.states.set(index, "pending", entry.attempt);
    else this.states.set(index, entry.status, entry.attempts);
  }
}

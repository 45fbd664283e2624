import { type NumberedEvent, sizeOf } from "./process-events.ts";

/** Maximum number of events that wait for an earlier one. */
const MAX_EARLY_EVENTS = 256;
/** Bytes of output among them. */
const MAX_EARLY_BYTES = 1_048_576;

/**
 * Delivers the events of one process in order of their numbers, each once. Early events wait; if too many wait, the
 * missing one will not arrive on its own and must be read.
 */
export class EventOrder {
  readonly #publish: (event: NumberedEvent) => void;
  readonly #early = new Map<number, NumberedEvent>();
  #earlyBytes = 0;
  #lastSeq = 0;

  constructor(publish: (event: NumberedEvent) => void) {
    this.#publish = publish;
  }

  /** Number of the last published event. */
  get lastSeq(): number {
    return this.#lastSeq;
  }

  /** True if events wait for a missing earlier one. */
  get isWaiting(): boolean {
    return this.#early.size > 0;
  }

  /** Leaves out the numbers before `seq`. */
  startAt(seq: number): void {
    this.#lastSeq = Math.max(this.#lastSeq, seq - 1);
    for (const early of this.#early.values()) if (early.seq <= this.#lastSeq) this.#drop(early);
  }

  /** False if the event and all waiting ones were dropped, because the one before them is overdue. */
  add(event: NumberedEvent): boolean {
    if (event.seq <= this.#lastSeq) return true;
    if (event.seq === this.#lastSeq + 1) {
      this.#advance(event);
      return true;
    }
    if (this.#early.has(event.seq)) return true;
    if (this.#early.size >= MAX_EARLY_EVENTS || this.#earlyBytes + sizeOf(event) > MAX_EARLY_BYTES) {
      this.#early.clear();
      this.#earlyBytes = 0;
      return false;
    }
    this.#early.set(event.seq, event);
    this.#earlyBytes += sizeOf(event);
    return true;
  }

  /** Adds reread events, which have consecutive numbers. */
  merge(events: readonly NumberedEvent[]): void {
    for (const event of events) if (event.seq > this.#lastSeq) this.#advance(event);
  }

  /** Gives up on the missing events, which become a gap. */
  skipMissing(): void {
    if (!this.isWaiting) return;
    const toSeq = Math.min(...this.#early.keys()) - 1;
    this.#advance({ kind: "gap", seq: toSeq, fromSeq: this.#lastSeq + 1, toSeq });
  }

  #advance(event: NumberedEvent): void {
    let next: NumberedEvent | undefined = event;
    while (next !== undefined) {
      this.#lastSeq = next.seq;
      this.#publish(next);
      next = this.#takeEarly(this.#lastSeq + 1);
    }
    // A gap can cover events that arrived early.
    for (const [seq, early] of this.#early) if (seq <= this.#lastSeq) this.#drop(early);
  }

  #takeEarly(seq: number): NumberedEvent | undefined {
    const event = this.#early.get(seq);
    if (event !== undefined) this.#drop(event);
    return event;
  }

  #drop(event: NumberedEvent): void {
    this.#early.delete(event.seq);
    this.#earlyBytes -= sizeOf(event);
  }
}

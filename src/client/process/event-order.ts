import { type NumberedEvent, sizeOf } from "./process-events.ts";

/** Events that may wait for one before them. */
const MAX_EARLY_EVENTS = 256;
/** Bytes of output among them. */
const MAX_EARLY_BYTES = 1_048_576;

/**
 * Puts the events of one process in the order of their numbers, each once. Events that come early wait; when too many wait, what is missing will
 * not come by itself, and has to be read.
 */
export class EventOrder {
  readonly #publish: (event: NumberedEvent) => void;
  readonly #early = new Map<number, NumberedEvent>();
  #earlyBytes = 0;
  #lastSeq = 0;

  constructor(publish: (event: NumberedEvent) => void) {
    this.#publish = publish;
  }

  /** Number of the last event that was published. */
  get lastSeq(): number {
    return this.#lastSeq;
  }

  /** Events are here for which one before them is missing. */
  get isWaiting(): boolean {
    return this.#early.size > 0;
  }

  /** False when the event was given up, with all that waited, because the one before them is overdue. */
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

  /** Adds events that were read again; they follow one another without holes. */
  merge(events: readonly NumberedEvent[]): void {
    for (const event of events) if (event.seq > this.#lastSeq) this.#advance(event);
  }

  /** Gives up what is missing: it shows as a gap. */
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
    // A gap can swallow events that came early.
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

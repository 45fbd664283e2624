import { Fifo } from "../../base/fifo.ts";
import { type ProcessEvent, sizeOf } from "./process-events.ts";

/** Number of events kept for late readers. */
const MAX_HISTORY_EVENTS = 256;
/** Bytes of output among them. */
const MAX_HISTORY_BYTES = 1_048_576;

/** The latest events of a process, for late readers. The oldest are evicted first. */
export class EventHistory {
  readonly #events = new Fifo<ProcessEvent>();
  #bytes = 0;

  add(event: ProcessEvent): void {
    this.#events.push(event);
    this.#bytes += sizeOf(event);
    while (this.#events.size > MAX_HISTORY_EVENTS || this.#bytes > MAX_HISTORY_BYTES)
      this.#bytes -= sizeOf(this.#events.shift()!);
  }

  *[Symbol.iterator](): IterableIterator<ProcessEvent> {
    for (let offset = 0; offset < this.#events.size; offset += 1) yield this.#events.at(offset)!;
  }
}

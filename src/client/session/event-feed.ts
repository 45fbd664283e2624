import { createDeferred, type Deferred } from "../../base/deferred.ts";
import { Fifo } from "../../base/fifo.ts";
import { type ProcessEvent, sizeOf, type StartedEvent } from "../routes/process-events.ts";

/** Limits on a slow reader's unread events; beyond them the oldest are dropped. */
const MAX_UNREAD_EVENTS = 65_536;
const MAX_UNREAD_BYTES = 16 * 1024 * 1024;

type OneProcessEvent = (ProcessEvent | StartedEvent) & { readonly processId: string };

/** An event of any process of the session. */
export type HostEvent =
  | OneProcessEvent
  /** The reader was too slow for this many events. Readers of a single process get every event. */
  | { readonly kind: "lagged"; readonly events: number };

/** The events of all processes, for one reader. It never makes a process wait. */
export class EventFeed implements AsyncIterableIterator<HostEvent> {
  readonly #unread = new Fifo<OneProcessEvent>();
  readonly #signal: AbortSignal | undefined;
  readonly #left: (feed: EventFeed) => void;
  readonly #wake = (): void => {
    this.#waiting?.resolve();
    this.#waiting = undefined;
  };
  #unreadBytes = 0;
  #dropped = 0;
  #waiting: Deferred<void> | undefined;
  #ended = false;

  /** `left` is called once, when the reader has left. */
  constructor(signal: AbortSignal | undefined, left: (feed: EventFeed) => void) {
    this.#signal = signal;
    this.#left = left;
    signal?.addEventListener("abort", this.#wake, { once: true });
  }

  push(processId: string, event: ProcessEvent | StartedEvent): void {
    if (this.#ended) return;
    this.#unread.push({ ...event, processId });
    this.#unreadBytes += sizeOf(event);
    while (this.#unread.size > MAX_UNREAD_EVENTS || this.#unreadBytes > MAX_UNREAD_BYTES) {
      this.#unreadBytes -= sizeOf(this.#unread.shift()!);
      this.#dropped += 1;
    }
    this.#wake();
  }

  /** Nothing more will arrive; unread events can still be read. */
  end(): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#signal?.removeEventListener("abort", this.#wake);
    this.#left(this);
    this.#wake();
  }

  async next(): Promise<IteratorResult<HostEvent>> {
    for (;;) {
      if (this.#signal?.aborted) {
        this.#leave();
        throw this.#signal.reason;
      }
      if (this.#dropped > 0) {
        const events = this.#dropped;
        this.#dropped = 0;
        return { done: false, value: { kind: "lagged", events } };
      }
      const event = this.#unread.shift();
      if (event !== undefined) {
        this.#unreadBytes -= sizeOf(event);
        return { done: false, value: event };
      }
      if (this.#ended) return { done: true, value: undefined };
      this.#waiting ??= createDeferred();
      await this.#waiting.promise;
    }
  }

  return(): Promise<IteratorResult<HostEvent>> {
    this.#leave();
    return Promise.resolve({ done: true, value: undefined });
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  #leave(): void {
    this.end();
    this.#unread.clear();
    this.#dropped = 0;
  }
}

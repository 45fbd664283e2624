import { createDeferred, type Deferred } from "../../base/deferred.ts";
import { Fifo } from "../../base/fifo.ts";
import type { OutputStream } from "../../protocol/process.ts";
import { type NumberedEvent, type ProcessEvent, sizeOf } from "./process-events.ts";
import { abortable } from "../../base/deadlines.ts";

/** Unread bytes at which the process is asked to pause, and at which it may resume. */
const HOLD_BYTES = 1024 * 1024;
const RELEASE_BYTES = 256 * 1024;
/**
 * Limits for data already in transit. Beyond them, events are dropped here and reread later, as far as the server keeps
 * them.
 */
const MAX_UNREAD_BYTES = 16 * 1024 * 1024;
const MAX_UNREAD_EVENTS = 65_536;

/** Options of an event reader. */
export interface SubscriptionOptions {
  readonly signal?: AbortSignal | undefined;
  /**
   * Called with the number of events that this reader was too slow for. They are reread from the server; evicted ones
   * become a gap.
   */
  readonly onLag?: (events: number) => void;
  /** Skips the output of other streams, which then never makes the process wait. Default: every stream. */
  readonly streams?: readonly OutputStream[];
  /**
   * Gets a gap instead of output that the server has only on disk: for a reader that shows what is newest. Default:
   * false.
   */
  readonly skipMissed?: boolean;
}

/** Events that were read from the server. */
export interface Reread {
  readonly events: readonly NumberedEvent[];
  /** There are more. */
  readonly isPart: boolean;
}

/** What a subscription needs from the process it follows. */
export interface Followed {
  /** Number of the first event. */
  readonly firstSeq: number;
  /** Asks the process to pause or resume, on behalf of one reader. */
  hold(on: boolean): void;
  /** Rereads the events after a number from the server, at least one, up to the newest unless that is too much. */
  readAgain(afterSeq: number, options: { readonly fromDisk: boolean }): Promise<Reread>;
  /** Whether the server has output on disk, so that this can have events that were reported as missing. */
  readonly readsBack: boolean;
  unsubscribe(subscription: Subscription): void;
}

/** One reader of a process's events: bounded, in order, each event once. */
export class Subscription implements AsyncIterableIterator<ProcessEvent> {
  readonly #followed: Followed;
  readonly #options: SubscriptionOptions;
  readonly #unread = new Fifo<ProcessEvent>();
  /** Reread events; they come before the unread ones. */
  readonly #again = new Fifo<NumberedEvent>();
  readonly #wake = (): void => {
    this.#waiting?.resolve();
    this.#waiting = undefined;
  };
  #unreadBytes = 0;
  #missedEvents = 0;
  #behind = false;
  #held = false;
  #lastSeq = 0;
  #waiting: Deferred<void> | undefined;
  #ended = false;

  constructor(followed: Followed, history: Iterable<ProcessEvent>, options: SubscriptionOptions = {}) {
    this.#followed = followed;
    this.#lastSeq = followed.firstSeq - 1;
    this.#options = options;
    options.signal?.addEventListener("abort", this.#wake, { once: true });
    let isFirst = true;
    for (const event of history) {
      // The history may have lost its beginning.
      if (isFirst && event.kind !== "failed" && firstSeq(event) > followed.firstSeq) this.#behind = true;
      isFirst = false;
      this.push(event);
    }
  }

  push(event: ProcessEvent): void {
    if (this.#ended || !this.#isWanted(event)) return;
    if (this.#unread.size >= MAX_UNREAD_EVENTS || this.#unreadBytes > MAX_UNREAD_BYTES) this.#giveUp();
    this.#unread.push(event);
    this.#unreadBytes += sizeOf(event);
    if (this.#unreadBytes >= HOLD_BYTES) this.#hold(true);
    this.#wake();
  }

  async next(): Promise<IteratorResult<ProcessEvent>> {
    const { signal } = this.#options;
    for (;;) {
      if (signal?.aborted) {
        this.#end();
        throw signal.reason;
      }
      while (this.#behind && this.#again.size === 0) await this.#catchUp();
      const reread = this.#again.shift();
      const event = reread ?? this.#takeUnread();
      if (event !== undefined) {
        if (event.kind !== "failed" && event.seq <= this.#lastSeq) continue;
        // What the server has not sent, it may still have.
        if (event.kind === "gap" && reread === undefined && this.#readsBack) this.#behind = true;
        else if (this.#advance(event)) return { done: false, value: event };
      } else if (this.#ended) {
        return { done: true, value: undefined };
      } else {
        this.#waiting ??= createDeferred();
        await this.#waiting.promise;
      }
    }
  }

  return(): Promise<IteratorResult<ProcessEvent>> {
    this.#end();
    return Promise.resolve({ done: true, value: undefined });
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  #isWanted(event: ProcessEvent): boolean {
    const { streams } = this.#options;
    return streams === undefined || event.kind !== "output" || streams.includes(event.stream);
  }

  get #readsBack(): boolean {
    return this.#followed.readsBack && this.#options.skipMissed !== true;
  }

  /** Whether this event is to be delivered. */
  #advance(event: ProcessEvent): boolean {
    if (event.kind !== "failed") this.#lastSeq = event.seq;
    if (event.kind === "failed" || event.kind === "closed") this.#end();
    return this.#isWanted(event);
  }

  #takeUnread(): ProcessEvent | undefined {
    const event = this.#unread.shift();
    if (event !== undefined) this.#unreadBytes -= sizeOf(event);
    if (this.#unreadBytes <= RELEASE_BYTES) this.#hold(false);
    return event;
  }

  #giveUp(): void {
    this.#missedEvents += this.#unread.size;
    this.#unread.clear();
    this.#unreadBytes = 0;
    this.#behind = true;
  }

  async #catchUp(): Promise<void> {
    this.#behind = false;
    if (this.#missedEvents > 0) this.#options.onLag?.(this.#missedEvents);
    this.#missedEvents = 0;
    try {
      const read = this.#followed.readAgain(this.#lastSeq, { fromDisk: this.#readsBack });
      const { events, isPart } = await abortable(read, this.#options.signal);
      for (const event of events) this.#again.push(event);
      if (isPart && events.length > 0) this.#behind = true;
    } catch (error) {
      this.#end();
      throw error;
    }
  }

  #hold(on: boolean): void {
    if (this.#held === on) return;
    this.#held = on;
    this.#followed.hold(on);
  }

  #end(): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#behind = false;
    this.#options.signal?.removeEventListener("abort", this.#wake);
    this.#unread.clear();
    this.#again.clear();
    this.#hold(false);
    this.#followed.unsubscribe(this);
    this.#wake();
  }
}

function firstSeq(event: NumberedEvent): number {
  return event.kind === "gap" ? event.fromSeq : event.seq;
}

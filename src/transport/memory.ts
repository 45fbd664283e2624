import { Fifo } from "../base/fifo.ts";
import { SendQueue } from "./send-queue.ts";
import type { Farewell, Transport, TransportEvents } from "./transport.ts";

/** Two connected transports without any I/O. Messages arrive asynchronously and in order. */
export function createMemoryPair(): [Transport, Transport] {
  const toLeft = new MemoryQueue();
  const toRight = new MemoryQueue();
  const left = new MemoryTransport(toLeft, toRight);
  const right = new MemoryTransport(toRight, toLeft);
  return [left, right];
}

/** An entry without text marks the end, for which there may be a reason. */
interface Entry {
  readonly text: string | undefined;
  readonly flushed?: (() => void) | undefined;
  readonly reason?: string | undefined;
}

/** One direction. */
class MemoryQueue {
  readonly #entries = new Fifo<Entry>();
  readonly #queue = new SendQueue(() => this.onDrain());
  ended = false;
  onArrival: () => void = () => {};
  onDrain: () => void = () => {};

  get bytes(): number {
    return this.#queue.bytes;
  }

  push(text: string, flushed: (() => void) | undefined): void {
    this.#queue.add(text.length);
    this.#entries.push({ text, flushed });
    this.onArrival();
  }

  end(reason?: string): void {
    if (this.ended) return;
    this.ended = true;
    this.#entries.push({ text: undefined, reason });
    this.onArrival();
  }

  shift(): Entry | undefined {
    const entry = this.#entries.shift();
    if (entry?.text === undefined) return entry;
    entry.flushed?.();
    this.#queue.remove(entry.text.length);
    return entry;
  }
}

class MemoryTransport implements Transport {
  readonly source = "JSON-RPC message from exec-server memory";
  readonly #incoming: MemoryQueue;
  readonly #outgoing: MemoryQueue;
  #events: TransportEvents | undefined;
  #scheduled = false;
  #paused = false;
  #ended = false;

  constructor(incoming: MemoryQueue, outgoing: MemoryQueue) {
    this.#incoming = incoming;
    this.#outgoing = outgoing;
    incoming.onArrival = () => this.#schedule();
    outgoing.onDrain = () => {
      if (!this.#ended) this.#events?.drain();
    };
  }

  get queuedBytes(): number {
    return this.#outgoing.bytes;
  }

  open(events: TransportEvents): void {
    this.#events = events;
    this.#schedule();
  }

  send(message: string | Uint8Array, flushed?: () => void): void {
    if (this.#outgoing.ended) {
      flushed?.();
      return;
    }
    this.#outgoing.push(typeof message === "string" ? message : new TextDecoder().decode(message), flushed);
  }

  sendLazily(message: string | Uint8Array, flushed?: () => void): void {
    this.send(message, flushed);
  }

  sendParts(parts: readonly Uint8Array[], flushed?: () => void): void {
    const decoder = new TextDecoder();
    this.send(parts.map((part) => decoder.decode(part, { stream: true })).join(""), flushed);
  }

  pause(): void {
    this.#paused = true;
  }

  resume(): void {
    this.#paused = false;
    this.#schedule();
  }

  /** The other side reads what is queued, then ends, too. */
  close(farewell?: Farewell): void {
    this.#outgoing.end(farewell?.reason);
    // There is no point in waiting for what can no longer be read.
    if (this.#incoming.ended) this.#schedule();
  }

  destroy(reason?: string): void {
    this.#outgoing.end();
    this.#finish(reason);
  }

  #finish(reason?: string): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#outgoing.end();
    this.#events?.close(reason);
  }

  #schedule(): void {
    if (this.#scheduled) return;
    this.#scheduled = true;
    queueMicrotask(() => {
      this.#scheduled = false;
      this.#deliver();
    });
  }

  #deliver(): void {
    while (this.#events !== undefined && !this.#paused) {
      const entry = this.#incoming.shift();
      if (entry === undefined) return;
      if (entry.text === undefined) this.#finish(entry.reason);
      else if (!this.#ended) this.#events.message(entry.text);
    }
  }
}

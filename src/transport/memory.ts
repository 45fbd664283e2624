import type { Transport, TransportEvents } from "./transport.ts";

/** Two transports, each the other's peer, without any I/O. Messages arrive asynchronously and in order. */
export function createMemoryPair(): [Transport, Transport] {
  const left = new MemoryTransport();
  const right = new MemoryTransport();
  left.connect(right);
  right.connect(left);
  return [left, right];
}

class MemoryTransport implements Transport {
  readonly source = "JSON-RPC message from exec-server memory";
  #peer: MemoryTransport | undefined;
  #events: TransportEvents | undefined;
  #inbox: (() => void)[] = [];
  #scheduled = false;
  #paused = false;
  #ended = false;

  get queuedBytes(): number {
    return 0;
  }

  connect(peer: MemoryTransport): void {
    this.#peer = peer;
  }

  open(events: TransportEvents): void {
    this.#events = events;
    this.#schedule();
  }

  send(message: string | Uint8Array, flushed?: () => void): void {
    const text = typeof message === "string" ? message : new TextDecoder().decode(message);
    if (!this.#ended) this.#peer?.#receive(text);
    flushed?.();
  }

  pause(): void {
    this.#paused = true;
  }

  resume(): void {
    this.#paused = false;
    this.#schedule();
  }

  close(): void {
    this.destroy();
  }

  destroy(reason?: string): void {
    this.#finish(reason);
    this.#peer?.#deliver(() => this.#peer?.#finish());
  }

  #receive(text: string): void {
    this.#deliver(() => {
      if (!this.#ended) this.#events?.message(text);
    });
  }

  #deliver(event: () => void): void {
    this.#inbox.push(event);
    this.#schedule();
  }

  #finish(reason?: string): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#events?.close(reason);
  }

  #schedule(): void {
    if (this.#scheduled) return;
    this.#scheduled = true;
    queueMicrotask(() => {
      this.#scheduled = false;
      this.#flush();
    });
  }

  #flush(): void {
    while (this.#events !== undefined && !this.#paused) {
      const event = this.#inbox.shift();
      if (event === undefined) return;
      event();
    }
  }
}

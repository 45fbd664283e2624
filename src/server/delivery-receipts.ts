import type { Peer } from "./peer.ts";

/** Questions are asked no more often than this, for all that was sent meanwhile. */
const INTERVAL_MS = 250;

/** Learns when a client has read what it was sent. What was handed to the operating system can still be lost with the connection. */
export class DeliveryReceipts {
  readonly #peer: Peer;
  #unasked: (() => void)[] = [];
  #asking = false;
  #stopped = false;

  constructor(peer: Peer) {
    this.#peer = peer;
  }

  /** Calls back when the client has read all that was sent before; never, when the connection ends first. Where a client cannot be asked, it has read it. */
  confirm(read: () => void): void {
    this.#unasked.push(read);
    this.#askSoon();
  }

  stop(): void {
    this.#stopped = true;
    this.#unasked = [];
  }

  #askSoon(): void {
    if (this.#asking || this.#unasked.length === 0 || this.#stopped) return;
    this.#asking = true;
    setTimeout(() => this.#ask(), INTERVAL_MS).unref();
  }

  #ask(): void {
    const asked = this.#unasked;
    this.#unasked = [];
    const answered = (): void => {
      if (this.#stopped) return;
      this.#asking = false;
      for (const read of asked) read();
      this.#askSoon();
    };
    if (!this.#peer.ping(answered)) answered();
  }
}

import type { Peer } from "../wire/peer.ts";

/** Minimum interval between pings; one covers everything sent meanwhile. */
const INTERVAL_MS = 250;

/**
 * Learns when a client has read what it was sent. Data handed to the operating system can still be lost with the
 * connection.
 */
export class DeliveryReceipts {
  readonly #peer: Peer;
  #unasked: (() => void)[] = [];
  #asking = false;
  #stopped = false;

  constructor(peer: Peer) {
    this.#peer = peer;
  }

  /**
   * Calls back once the client has read everything sent before; never, if the connection ends first. A client that
   * cannot be pinged counts as having read it.
   */
  confirm(read: () => void): void {
    this.#unasked.push(read);
    this.#askSoon();
  }

  stop(): void {
    this.#stopped = true;
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

import type { Client } from "./client.ts";
import { LIMITS } from "./limits.ts";

/**
 * Clients for which more waits than should. Their executor has one socket for all of them. So it is held up for a client
 * that goes on reading, and for one that is alone with it, and not for one that has stopped while others read.
 */
export class FullClients {
  readonly #full = new Set<Client>();
  /** All clients of the executor. */
  readonly #clients: ReadonlySet<Client>;
  readonly #hold: (isHeld: boolean) => void;
  #isHeld = false;
  #timer: NodeJS.Timeout | undefined;

  constructor(clients: ReadonlySet<Client>, hold: (isHeld: boolean) => void) {
    this.#clients = clients;
    this.#hold = hold;
  }

  add(client: Client): void {
    if (this.#isHeld && this.#full.has(client)) return;
    this.#full.add(client);
    this.balance();
  }

  /** It is gone, or no longer full. */
  delete(client: Client): void {
    this.#full.delete(client);
    this.balance();
  }

  /** A client's socket has taken something. */
  took(client: Client): void {
    if (this.#full.has(client) && client.socket.queuedBytes <= LIMITS.fullBytes / 2) this.delete(client);
  }

  /** Holds up the executor, or no longer. */
  balance(): void {
    const isAlone = this.#clients.size === 1;
    const now = performance.now();
    let isHeld = false;
    for (const { tookAt } of this.#full) isHeld ||= isAlone || now - tookAt < LIMITS.stoppedMs;
    if (isHeld !== this.#isHeld) {
      this.#isHeld = isHeld;
      this.#hold(isHeld);
    }
    clearTimeout(this.#timer);
    if (isHeld && !isAlone) this.#timer = setTimeout(() => this.balance(), LIMITS.stoppedMs);
  }
}

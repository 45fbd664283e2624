import { after } from "../../base/duration.ts";
import type { Client } from "./client.ts";

/** Ends clients that take too long to open their streams: until then, each holds a slot that others need. */
export class HandshakeDeadlines {
  readonly #missed: (client: Client, reason: string) => void;
  readonly #cancels = new Map<Client, () => void>();

  constructor(missed: (client: Client, reason: string) => void) {
    this.#missed = missed;
  }

  /** Replaces the deadline that a client had. */
  set(client: Client, ms: number, reason: string): void {
    this.clear(client);
    const miss = (): void => this.#missed(client, reason);
    this.#cancels.set(client, after(ms, miss));
  }

  clear(client: Client): void {
    this.#cancels.get(client)?.();
    this.#cancels.delete(client);
  }
}

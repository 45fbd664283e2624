import type { Client } from "./client.ts";
import { LIMITS } from "./limits.ts";

interface Turn {
  readonly client: Client;
  readonly frame: Buffer;
}

interface Refusals {
  readonly count: number;
  readonly at: number;
}

/**
 * The handshakes of one executor's clients. Codex's executor refuses everyone's for 10 s after it has refused eight, whoever
 * sent them and however long that took. So a token has few at a time, and waits longer after each that was refused.
 */
export class Handshakes {
  /** Clients whose handshakes the executor has not answered. */
  readonly #sent = new Set<Client>();
  /** In the order of their turns. */
  readonly #waiting = new Map<Client, Buffer>();
  /** By token. */
  readonly #refusals = new Map<string, Refusals>();
  #refusedSincePause = 0;
  #pausedUntil = 0;

  /** How long a token has to wait before it may come again. */
  waitOf(token: string, now: number): number {
    const { count, at } = this.#refusals.get(token) ?? { count: 0, at: now };
    if (count === 0 || now >= at + LIMITS.refusalMemoryMs) return 0;
    const waitMs = Math.min(LIMITS.refusalMs * 2 ** (count - 1), LIMITS.maxRefusalMs);
    return Math.max(0, at + waitMs - now);
  }

  /** Whether the executor has a client's handshake, and has not answered it. */
  isSent(client: Client): boolean {
    return this.#sent.has(client);
  }

  /** Whether a handshake may be passed on now. Otherwise, it waits for its turn. */
  begin(client: Client, frame: Buffer): boolean {
    const mayBegin = this.#mayBegin(client.token);
    if (mayBegin) this.#sent.add(client);
    else this.#waiting.set(client, frame);
    return mayBegin;
  }

  /** The executor has answered, or the client is gone. Returns the handshake whose turn it is now. */
  end(client: Client): Turn | undefined {
    this.#waiting.delete(client);
    if (!this.#sent.delete(client)) return undefined;
    for (const [next, frame] of this.#waiting) {
      if (next.token !== client.token || !this.#mayBegin(next.token)) continue;
      this.#waiting.delete(next);
      this.#sent.add(next);
      return { client: next, frame };
    }
    return undefined;
  }

  /** The executor has refused a client's handshake. False if that says nothing about its token. */
  refused({ token }: Client, now: number): boolean {
    if (now < this.#pausedUntil) return false;
    this.#refusedSincePause += 1;
    if (this.#refusedSincePause === LIMITS.executorPausesAfter) {
      this.#refusedSincePause = 0;
      this.#pausedUntil = now + LIMITS.executorPauseMs;
    }
    const { count, at } = this.#refusals.get(token) ?? { count: 0, at: now };
    const isRecent = now < at + LIMITS.refusalMemoryMs;
    this.#refusals.set(token, { count: isRecent ? count + 1 : 1, at: now });
    for (const waiting of this.#waiting.keys()) if (waiting.token === token) this.#waiting.delete(waiting);
    return true;
  }

  /** The executor is gone, with all its clients. */
  clear(): void {
    this.#sent.clear();
    this.#waiting.clear();
  }

  #mayBegin(token: string): boolean {
    const most = this.#refusals.has(token) ? 1 : LIMITS.maxHandshakes;
    let sent = 0;
    for (const client of this.#sent) if (client.token === token) sent += 1;
    return sent < most;
  }
}

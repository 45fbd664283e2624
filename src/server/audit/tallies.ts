import type { ObservedConnection } from "../settings/observer.ts";
import { cut } from "./redact.ts";

/** Maximum delay of counts. */
const INTERVAL_MS = 10_000;
/** Beyond this, the oldest of a connection get their line early. */
const MAX_PER_CONNECTION = 256;
/** Clients choose ids, which may be as long as a message. */
const MAX_ID_CHARACTERS = 1_024;

type Write = (event: string, facts: object) => void;

interface Tally {
  readonly event: string;
  readonly kind: string;
  readonly id: string;
  requests: number;
  bytes: number;
}

/**
 * Counts frequent requests about one process, file or connection. The first one gets its own line at once, so that the
 * log shows who made it; the others share a line every ten seconds, and at the end.
 */
export class Tallies {
  readonly #write: Write;
  readonly #connections = new Map<ObservedConnection, Map<string, Tally>>();
  /** Connections that have left: nothing is kept for answers that arrive later. */
  readonly #left = new WeakSet<ObservedConnection>();
  #timer: NodeJS.Timeout | undefined;

  constructor(write: Write) {
    this.#write = write;
  }

  add(
    connection: ObservedConnection,
    event: string,
    [kind, id]: readonly [string, string],
    bytes: number,
  ): void {
    const name = nameOf(id);
    if (this.#left.has(connection)) {
      this.#report(connection, { event, kind, id: name, requests: 1, bytes });
      return;
    }
    let tallies = this.#connections.get(connection);
    if (tallies === undefined) {
      tallies = new Map();
      this.#connections.set(connection, tallies);
    }
    const key = `${event} ${name}`;
    const known = tallies.get(key);
    if (known !== undefined) {
      known.requests += 1;
      known.bytes += bytes;
      this.#timer ??= setTimeout(() => this.#reportAll(), INTERVAL_MS).unref();
      return;
    }
    const tally: Tally = { event, kind, id: name, requests: 1, bytes };
    this.#report(connection, tally);
    if (tallies.size >= MAX_PER_CONNECTION) {
      const [[oldest, early]] = tallies as unknown as [[string, Tally]];
      tallies.delete(oldest);
      this.#report(connection, early);
    }
    tallies.set(key, tally);
  }

  /** Ends the tallies of a process, file or connection that is gone. */
  end(connection: ObservedConnection, [kind, id]: readonly [string, string]): void {
    const tallies = this.#connections.get(connection);
    if (tallies === undefined) return;
    const name = nameOf(id);
    for (const [key, tally] of tallies) {
      if (tally.kind !== kind || tally.id !== name) continue;
      this.#report(connection, tally);
      tallies.delete(key);
    }
  }

  leave(connection: ObservedConnection): void {
    for (const tally of this.#connections.get(connection)?.values() ?? []) this.#report(connection, tally);
    this.#connections.delete(connection);
    this.#left.add(connection);
  }

  close(): void {
    clearTimeout(this.#timer);
    this.#reportAll();
  }

  #reportAll(): void {
    this.#timer = undefined;
    for (const [connection, tallies] of this.#connections)
      for (const tally of tallies.values()) this.#report(connection, tally);
  }

  #report({ number, principal }: ObservedConnection, tally: Tally): void {
    const { event, kind, id, requests, bytes } = tally;
    if (requests === 0) return;
    this.#write(event, {
      connection: number,
      principal,
      [kind]: id,
      requests,
      bytes: bytes || undefined,
    });
    tally.requests = 0;
    tally.bytes = 0;
  }
}

/** The name to show. A long one is copied, because a substring keeps the whole text in memory. */
function nameOf(id: string): string {
  return id.length <= MAX_ID_CHARACTERS ? id : Buffer.from(cut(id, MAX_ID_CHARACTERS)).toString();
}

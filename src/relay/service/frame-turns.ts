import { Fifo } from "../../base/fifo.ts";
import type { Client } from "./client.ts";
import { LIMITS } from "./limits.ts";

/** Frames of clients that wait for their executor. Tokens take turns, and within one, its clients do. */
export class FrameTurns {
  /** In the order of their turns. */
  readonly #tokens = new Map<string, Set<Client>>();
  readonly #frames = new Map<Client, Fifo<Buffer>>();
  #bytesOfTurn = 0;

  get isEmpty(): boolean {
    return this.#frames.size === 0;
  }

  has(client: Client): boolean {
    return this.#frames.has(client);
  }

  add(client: Client, frame: Buffer): void {
    let frames = this.#frames.get(client);
    if (frames === undefined) {
      frames = new Fifo();
      this.#frames.set(client, frames);
      const clients = this.#tokens.get(client.token) ?? new Set();
      this.#tokens.set(client.token, clients.add(client));
    }
    frames.push(frame);
  }

  /** The frame whose turn it is. */
  take(): { readonly client: Client; readonly frame: Buffer } | undefined {
    const [turn] = this.#tokens;
    if (turn === undefined) return undefined;
    const [token, clients] = turn;
    const [client] = clients;
    const frame = this.#frames.get(client!)!.shift()!;
    this.#bytesOfTurn += frame.length;
    clients.delete(client!);
    if (this.#frames.get(client!)!.size > 0) clients.add(client!);
    else this.#frames.delete(client!);
    if (clients.size === 0 || this.#bytesOfTurn >= LIMITS.turnBytes) {
      this.#tokens.delete(token);
      this.#bytesOfTurn = 0;
      if (clients.size > 0) this.#tokens.set(token, clients);
    }
    return { client: client!, frame };
  }

  delete(client: Client): void {
    if (!this.#frames.delete(client)) return;
    const clients = this.#tokens.get(client.token);
    clients?.delete(client);
    if (clients?.size === 0) this.#tokens.delete(client.token);
  }
}

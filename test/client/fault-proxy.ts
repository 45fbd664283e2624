import net, { type AddressInfo } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import type { SeededRandom } from "../fault/seeded-random.ts";

const MIN_LIFE_MS = 100;
const MAX_LIFE_MS = 1_500;
const MAX_PIECES = 4;
const MAX_DELAY_MS = 5;
/** How long one half of a connection outlives the other. */
const MAX_HALF_LIFE_MS = 600;
const REFUSED_SHARE = 0.1;

/** What was done to connections so far. */
export interface FaultCounts {
  connections: number;
  refused: number;
  /** Both sides at once, with a reset. */
  cuts: number;
  /** One side has seen the end, the other not yet. */
  halfCloses: number;
  /** The client cut off while the server still believes in the connection. */
  abandoned: number;
  pieces: number;
}

/**
 * Sits between a client and a server and mistreats every connection: bytes arrive late and split anywhere, also within
 * WebSocket frames, and after a random lifetime the connection ends in one of several ways. The seed determines what it
 * does; the timing also depends on the machine.
 */
export class FaultProxy implements AsyncDisposable {
  /** `maxLifeMs` bounds how long a connection lasts. */
  static async open(
    serverPort: number,
    random: SeededRandom,
    { maxLifeMs = MAX_LIFE_MS }: { maxLifeMs?: number } = {},
  ): Promise<FaultProxy> {
    const proxy = new FaultProxy(serverPort, random, maxLifeMs);
    await new Promise<void>((resolve, reject) =>
      proxy.#listener.once("error", reject).listen(0, "127.0.0.1", resolve),
    );
    return proxy;
  }

  readonly counts: FaultCounts = {
    connections: 0,
    refused: 0,
    cuts: 0,
    halfCloses: 0,
    abandoned: 0,
    pieces: 0,
  };
  readonly #serverPort: number;
  readonly #random: SeededRandom;
  readonly #maxLifeMs: number;
  readonly #listener = net.createServer({ allowHalfOpen: true }, (socket) => this.#admit(socket));
  readonly #sockets = new Set<net.Socket>();
  readonly #timers = new Set<NodeJS.Timeout>();

  private constructor(serverPort: number, random: SeededRandom, maxLifeMs: number) {
    this.#serverPort = serverPort;
    this.#random = random;
    this.#maxLifeMs = maxLifeMs;
  }

  get port(): number {
    return (this.#listener.address() as AddressInfo).port;
  }

  get url(): string {
    return `ws://127.0.0.1:${this.port}`;
  }

  #admit(client: net.Socket): void {
    if (this.#random.next() < REFUSED_SHARE) {
      this.counts.refused += 1;
      client.on("error", () => {}).destroy();
      return;
    }
    this.counts.connections += 1;
    const server = net.connect({ host: "127.0.0.1", port: this.#serverPort, allowHalfOpen: true });
    for (const socket of [client, server]) {
      this.#sockets.add(socket.setNoDelay(true));
      socket.on("error", () => {}); // `close` follows
      socket.once("close", () => this.#sockets.delete(socket));
    }
    void this.#carry(client, server);
    void this.#carry(server, client);
    this.#after(this.#random.between(MIN_LIFE_MS, this.#maxLifeMs), () => this.#end(client, server));
  }

  /** Passes bytes on until either side is gone. An end is passed on like a byte. */
  async #carry(from: net.Socket, to: net.Socket): Promise<void> {
    try {
      for await (const chunk of from.iterator({ destroyOnReturn: false })) {
        for (const piece of this.#pieces(chunk as Buffer)) {
          if (to.destroyed) return;
          this.counts.pieces += 1;
          if (!to.write(piece)) await drained(to);
          const delayMs = this.#random.between(-MAX_DELAY_MS, MAX_DELAY_MS);
          if (delayMs > 0) await delay(delayMs);
        }
      }
      to.end();
    } catch {
      // The source was cut.
    }
    this.#after(MAX_HALF_LIFE_MS, () => {
      from.destroy();
      to.destroy();
    });
  }

  #pieces(chunk: Buffer): Buffer[] {
    const cuts = Array.from({ length: this.#random.between(0, MAX_PIECES - 1) }, () =>
      this.#random.between(0, chunk.length),
    ).sort((left, right) => left - right);
    return [0, ...cuts]
      .map((start, index) => chunk.subarray(start, cuts[index] ?? chunk.length))
      .filter((piece) => piece.length > 0);
  }

  #end(client: net.Socket, server: net.Socket): void {
    const later = this.#random.between(0, MAX_HALF_LIFE_MS);
    const ways: (() => void)[] = [
      () => {
        this.counts.cuts += 1;
        client.resetAndDestroy();
        server.resetAndDestroy();
      },
      () => {
        this.counts.halfCloses += 1;
        server.end();
        this.#after(later, () => client.destroy());
      },
      () => {
        this.counts.halfCloses += 1;
        client.end();
        this.#after(later, () => server.destroy());
      },
      () => {
        this.counts.abandoned += 1;
        client.destroy();
        this.#after(later, () => server.destroy());
      },
    ];
    this.#random.pick(ways)();
    this.#after(MAX_HALF_LIFE_MS * 2, () => {
      client.destroy();
      server.destroy();
    });
  }

  #after(ms: number, act: () => void): void {
    const timer = setTimeout(() => {
      this.#timers.delete(timer);
      act();
    }, ms);
    this.#timers.add(timer);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const timer of this.#timers) clearTimeout(timer);
    await new Promise<void>((resolve) => {
      this.#listener.close(() => resolve());
      for (const socket of this.#sockets) socket.destroy();
    });
  }
}

function drained(socket: net.Socket): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      socket.off("drain", done).off("close", done);
      resolve();
    };
    socket.on("drain", done).on("close", done);
  });
}

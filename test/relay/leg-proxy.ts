import { once } from "node:events";
import net from "node:net";
import { createDeferred, type Deferred } from "../../src/base/deferred.ts";
import { freePort } from "../fixtures/free-port.ts";

/** Who is at the other end of a connection to a relay: its first line says so. */
export type Leg = "executor" | "client" | "registry";

/**
 * What can happen to a connection: it is reset; it goes silent, so that bytes are swallowed and neither end hears of it; or it
 * stalls, so that bytes are neither taken nor refused.
 */
export type Fault = "cut" | "silence" | "stall";
export const FAULTS: readonly Fault[] = ["cut", "silence", "stall"];

/** One connection, with everything that has passed. */
export interface Passage {
  readonly leg: Leg;
  readonly toRelay: readonly Buffer[];
  readonly fromRelay: readonly Buffer[];
}

interface Pair {
  readonly near: net.Socket;
  readonly far: net.Socket;
  readonly passage: { readonly leg: Leg; readonly toRelay: Buffer[]; readonly fromRelay: Buffer[] };
  state: "passing" | "silence" | "stall";
  /** In both directions. */
  bytes: number;
}

/** A handshake is done, and messages pass, when a connection has carried this much. */
const BUSY_BYTES = 8 * 1024;

/** Stands before a relay, so that both legs go through it. It disturbs what is open; new connections work. */
export class LegProxy implements AsyncDisposable {
  static async open(
    relayPort: number,
    { captures = false }: { readonly captures?: boolean } = {},
  ): Promise<LegProxy> {
    const proxy = new LegProxy(relayPort, await freePort(), captures);
    await proxy.listen();
    return proxy;
  }

  readonly counts: Record<Fault, number> = { cut: 0, silence: 0, stall: 0 };
  /** How many connections of a leg have carried messages so far. */
  readonly used: Record<Leg, number> = { executor: 0, client: 0, registry: 0 };
  /** Everything that has passed, if it is kept. */
  readonly passages: Passage[] = [];
  readonly #relayPort: number;
  readonly #port: number;
  readonly #captures: boolean;
  readonly #pairs = new Set<Pair>();
  /** While connections wait. */
  #isBack: Deferred<void> | undefined;
  readonly #listener = net.createServer({ allowHalfOpen: true }, (near) => this.#admit(near));

  private constructor(relayPort: number, port: number, captures: boolean) {
    this.#relayPort = relayPort;
    this.#port = port;
    this.#captures = captures;
  }

  get base(): string {
    return `http://127.0.0.1:${this.#port}`;
  }

  /** Admits connections again, at the same address. */
  async listen(): Promise<void> {
    this.#listener.listen(this.#port, "127.0.0.1");
    await once(this.#listener, "listening");
  }

  /** Keeps new connections waiting, as a proxy does that asks again until its program is back. */
  hold(): void {
    this.#isBack ??= createDeferred();
  }

  release(): void {
    this.#isBack?.resolve();
    this.#isBack = undefined;
  }

  /** Refuses connections, as the system does where no program listens. */
  refuse(): void {
    this.#listener.close();
  }

  /** Whether messages pass over a leg now. */
  isBusy(leg: Leg): boolean {
    return [...this.#pairs].some(
      ({ passage, state, bytes }) => passage.leg === leg && state === "passing" && bytes > BUSY_BYTES,
    );
  }

  /** Disturbs the open connections of a leg; returns how many there were. */
  disturb(leg: Leg, fault: Fault): number {
    let disturbed = 0;
    for (const pair of this.#pairs) {
      if (pair.passage.leg !== leg || pair.state !== "passing") continue;
      disturbed += 1;
      this.counts[fault] += 1;
      if (fault === "cut") {
        pair.near.resetAndDestroy();
        pair.far.resetAndDestroy();
        continue;
      }
      pair.state = fault;
      if (fault === "stall") for (const socket of [pair.near, pair.far]) socket.pause();
    }
    return disturbed;
  }

  /** Connections that stalled go on: what was on its way arrives late. */
  heal(): void {
    for (const pair of this.#pairs) {
      if (pair.state !== "stall") continue;
      pair.state = "passing";
      for (const socket of [pair.near, pair.far]) socket.resume();
    }
  }

  #admit(near: net.Socket): void {
    near.on("error", () => {});
    near.once("data", (first: Buffer) => {
      near.pause();
      if (this.#isBack === undefined) this.#join(near, first);
      else void this.#isBack.promise.then(() => near.destroyed || this.#join(near, first));
    });
  }

  #join(near: net.Socket, first: Buffer): void {
    const far = net.connect({ host: "127.0.0.1", port: this.#relayPort, allowHalfOpen: true });
    const passage = { leg: legOf(first), toRelay: [], fromRelay: [] };
    const pair: Pair = { near, far, passage, state: "passing", bytes: 0 };
    if (this.#captures) this.passages.push(passage);
    this.#pairs.add(pair);
    far.once("close", () => this.#pairs.delete(pair));
    this.#carry(pair, far, near, passage.fromRelay);
    this.#carry(pair, near, far, passage.toRelay);
    near.unshift(first);
    near.resume();
  }

  /** An end is passed on like a byte, as long as bytes are. */
  #carry(pair: Pair, from: net.Socket, to: net.Socket, captured: Buffer[]): void {
    from.setNoDelay(true).on("error", () => {});
    from.on("data", (bytes: Buffer) => {
      if (this.#captures) captured.push(bytes);
      const wasBusy = pair.bytes > BUSY_BYTES;
      pair.bytes += bytes.length;
      if (!wasBusy && pair.bytes > BUSY_BYTES) this.used[pair.passage.leg] += 1;
      if (pair.state !== "passing" || to.write(bytes)) return;
      from.pause();
      to.once("drain", () => pair.state !== "stall" && from.resume());
    });
    from.on("end", () => pair.state === "passing" && to.end());
    from.once("close", () => {
      // A silent network does not report that an end is gone; it forgets the connection when both are.
      if (pair.state === "passing") to.destroy();
      else if (to.destroyed) this.#pairs.delete(pair);
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#listener.close();
    for (const { near, far } of this.#pairs) {
      near.destroy();
      far.destroy();
    }
  }
}

function legOf(first: Buffer): Leg {
  const [, kind] = /^GET \/rendezvous\/(executor|client)\//.exec(first.toString("latin1")) ?? [];
  return (kind as Leg | undefined) ?? "registry";
}

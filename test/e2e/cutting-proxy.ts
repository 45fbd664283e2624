import net, { type AddressInfo } from "node:net";
import { withDeadline } from "../fault/deadline.ts";
import { WebSocketMessages } from "./websocket-messages.ts";

const WAIT_DEADLINE_MS = 60_000;

/** The shape depends on the method; tests look at what they know to be there. */
type Fields = Record<string, unknown>;

export interface WireMessage {
  readonly from: "client" | "server";
  /** Counts the connections from 1. */
  readonly connection: number;
  readonly id?: number | string;
  readonly method?: string;
  readonly params?: Fields;
  readonly result?: Fields;
  readonly error?: { readonly code: number; readonly message: string };
}

export interface Upgrade {
  readonly request: string;
  readonly response: string | undefined;
}

const isAnswer = (message: WireMessage, request: WireMessage): boolean =>
  message.from === "server" &&
  message.method === undefined &&
  message.connection === request.connection &&
  message.id === request.id;

type Matches = (message: WireMessage) => boolean;

/**
 * Sits between a client and a server, forwards every byte unchanged, records what was said, and can cut the connection.
 * After a cut it refuses new connections until asked to admit them.
 */
export class CuttingProxy implements AsyncDisposable {
  static async open(serverUrl: string): Promise<CuttingProxy> {
    const proxy = new CuttingProxy(Number(new URL(serverUrl).port));
    await new Promise<void>((resolve, reject) =>
      proxy.#listener.once("error", reject).listen(0, "127.0.0.1", resolve),
    );
    return proxy;
  }

  readonly messages: WireMessage[] = [];
  /** Connections turned away since the first cut. */
  refused = 0;
  readonly #serverPort: number;
  readonly #listener = net.createServer((socket) => this.#admit(socket));
  readonly #taps: { client: WebSocketMessages; server: WebSocketMessages }[] = [];
  readonly #sockets = new Set<net.Socket>();
  readonly #watchers = new Set<() => void>();
  #cutAt: Matches | undefined;
  #isCut = false;

  private constructor(serverPort: number) {
    this.#serverPort = serverPort;
  }

  get url(): string {
    return `ws://127.0.0.1:${(this.#listener.address() as AddressInfo).port}`;
  }

  get upgrades(): Upgrade[] {
    return this.#taps.map(({ client, server }) => ({ request: client.head ?? "", response: server.head }));
  }

  /** The client's requests, in order. */
  requests(method: string): WireMessage[] {
    return this.messages.filter((message) => message.from === "client" && message.method === method);
  }

  /** Requests of the client that the server has served, each with its result. */
  exchanges(method: string): [params: Fields, result: Fields][] {
    return this.requests(method).flatMap((request) => {
      const { result } = this.messages.find((message) => isAnswer(message, request)) ?? {};
      return result === undefined ? [] : [[request.params ?? {}, result]];
    });
  }

  /** The output of processes so far, from the server's notifications. */
  get output(): string {
    const chunks = this.messages
      .filter(({ method }) => method === "process/output")
      .map(({ params }) => Buffer.from(String(params?.["chunk"]), "base64"));
    return Buffer.concat(chunks).toString();
  }

  /** Waits until `look` holds; it is asked again with every message. */
  until(look: () => boolean, what: string): Promise<void> {
    const seen = new Promise<void>((resolve) => {
      const watcher = () => {
        if (!look()) return;
        this.#watchers.delete(watcher);
        resolve();
      };
      this.#watchers.add(watcher);
      watcher();
    });
    return withDeadline(seen, WAIT_DEADLINE_MS, () => what);
  }

  /** Cuts the connection within the first message of the server that matches: all but its last byte arrives. */
  cutWithin(matches: Matches): void {
    this.#cutAt = matches;
  }

  /** Cuts whatever is connected, wherever it is. New connections are let in. */
  cut(): void {
    for (const socket of this.#sockets) socket.resetAndDestroy();
  }

  get isCut(): boolean {
    return this.#isCut;
  }

  readmit(): void {
    this.#isCut = false;
  }

  #admit(client: net.Socket): void {
    if (this.#isCut) {
      this.refused += 1;
      client.destroy();
      this.#wake();
      return;
    }
    const server = net.connect({ host: "127.0.0.1", port: this.#serverPort, noDelay: true });
    client.setNoDelay(true);
    const taps = { client: new WebSocketMessages(), server: new WebSocketMessages() };
    const connection = this.#taps.push(taps);
    const hear = (from: "client" | "server", text: string): WireMessage => {
      const message = { ...(JSON.parse(text) as object), from, connection };
      this.messages.push(message);
      return message;
    };
    client.on("data", (bytes: Buffer) => {
      for (const { text } of taps.client.push(bytes)) hear("client", text);
      if (!server.destroyed) server.write(bytes);
      this.#wake();
    });
    server.on("data", (bytes: Buffer) => {
      for (const { text, end } of taps.server.push(bytes)) {
        const message = hear("server", text);
        if (!this.#cutAt?.(message)) continue;
        this.#cutAt = undefined;
        this.#isCut = true;
        client.end(bytes.subarray(0, end - 1), () => client.destroy());
        server.destroy();
        this.#wake();
        return;
      }
      if (!client.destroyed) client.write(bytes);
      this.#wake();
    });
    for (const [socket, other] of [
      [client, server],
      [server, client],
    ] as const) {
      this.#sockets.add(socket);
      socket.on("error", () => {}); // `close` follows and takes the other side along
      socket.once("close", () => {
        this.#sockets.delete(socket);
        other.destroySoon();
      });
    }
  }

  #wake(): void {
    for (const watcher of this.#watchers) watcher();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await new Promise<void>((resolve) => {
      this.#listener.close(() => resolve());
      for (const socket of this.#sockets) socket.destroy();
    });
  }
}

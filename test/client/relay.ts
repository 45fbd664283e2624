import { once } from "node:events";
import net, { type AddressInfo } from "node:net";

/** Forwards bytes between clients and a server until it is asked to cut. */
export class Relay implements AsyncDisposable {
  static async open(port: number): Promise<Relay> {
    const relay = new Relay(port);
    relay.#listener.listen(0, "127.0.0.1");
    await once(relay.#listener, "listening");
    return relay;
  }

  /** Turns new connections away. */
  refuses = false;
  /** Passed in both directions. */
  bytes = 0;
  onBytes: ((bytes: number) => void) | undefined;
  readonly #sockets = new Set<net.Socket>();
  /** From where to where bytes pass. */
  readonly #ways = new Set<readonly [from: net.Socket, to: net.Socket]>();
  readonly #listener: net.Server;

  /** Where new connections lead to. */
  port: number;

  private constructor(port: number) {
    this.port = port;
    this.#listener = net.createServer((client) => {
      if (this.refuses) {
        client.on("error", () => {}).destroy();
        return;
      }
      const server = net.connect(this.port, "127.0.0.1");
      for (const socket of [client, server]) {
        this.#sockets.add(socket.on("error", () => {}));
        socket.once("close", () => this.#sockets.delete(socket));
      }
      for (const way of [[client, server] as const, [server, client] as const]) {
        const [from, to] = way;
        this.#ways.add(way);
        from.once("close", () => this.#ways.delete(way));
        from.on("data", (chunk: Buffer) => {
          this.bytes += chunk.length;
          this.onBytes?.(this.bytes);
        });
        from.pipe(to);
      }
    });
  }

  get url(): string {
    return `ws://127.0.0.1:${(this.#listener.address() as AddressInfo).port}`;
  }

  /** Lets nothing pass on the connections of now, until `resume` or `cut`. */
  halt(): void {
    for (const [from, to] of this.#ways) from.unpipe(to).pause();
  }

  resume(): void {
    for (const [from, to] of this.#ways) from.pipe(to);
  }

  cut(): void {
    for (const socket of this.#sockets) socket.resetAndDestroy();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.cut();
    this.#listener.close();
  }
}

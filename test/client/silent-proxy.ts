import { once } from "node:events";
import net, { type AddressInfo } from "node:net";

interface Pair {
  readonly client: net.Socket;
  readonly server: net.Socket;
  silent: boolean;
}

/**
 * Sits between clients and a server like a network that can go silent: it then swallows everything on current
 * connections, in both directions, without notifying either end. New connections work.
 */
export class SilentProxy implements AsyncDisposable {
  static async open(serverPort: number): Promise<SilentProxy> {
    const proxy = new SilentProxy(serverPort);
    proxy.#listener.listen(0, "127.0.0.1");
    await once(proxy.#listener, "listening");
    return proxy;
  }

  connections = 0;
  readonly #pairs = new Set<Pair>();
  readonly #listener: net.Server;

  private constructor(serverPort: number) {
    this.#listener = net.createServer({ allowHalfOpen: true }, (client) => {
      this.connections += 1;
      const server = net.connect({ host: "127.0.0.1", port: serverPort, allowHalfOpen: true });
      const pair: Pair = { client, server, silent: false };
      this.#pairs.add(pair);
      carry(pair, client, server);
      carry(pair, server, client);
    });
  }

  get url(): string {
    return `ws://127.0.0.1:${(this.#listener.address() as AddressInfo).port}`;
  }

  silence(): void {
    for (const pair of this.#pairs) pair.silent = true;
  }

  /** Ends what the server still believes in; the clients hear nothing of it. */
  dropServerSides(): void {
    for (const { server } of this.#pairs) server.destroy();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#listener.close();
    for (const { client, server } of this.#pairs) {
      client.destroy();
      server.destroy();
    }
  }
}

function carry(pair: Pair, from: net.Socket, to: net.Socket): void {
  from.setNoDelay(true).on("error", () => {}); // `close` follows
  from.on("data", (bytes: Buffer) => {
    if (pair.silent || to.write(bytes)) return;
    from.pause();
    to.once("drain", () => from.resume());
  });
  from.on("end", () => {
    if (!pair.silent) to.end();
  });
  from.on("close", () => {
    from.resume();
    if (!pair.silent) to.destroy();
  });
}

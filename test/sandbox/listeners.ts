import { createSocket, type Socket } from "node:dgram";
import { once } from "node:events";
import { type AddressInfo, createServer, type Server } from "node:net";

/** Sockets of every kind outside, which note what they receive. */
export class Listeners implements AsyncDisposable {
  received = "";
  readonly #servers: Server[] = [];
  readonly #sockets: Socket[] = [];

  /** Returns the port, or 0 if the machine has no such address. */
  async tcp(host: string): Promise<number> {
    const server = await this.#listen({ host, port: 0 });
    return server === undefined ? 0 : (server.address() as AddressInfo).port;
  }

  async unix(path: string): Promise<void> {
    if ((await this.#listen({ path })) === undefined) throw new Error(`cannot listen on ${path}`);
  }

  /** Returns the port, or 0 if the machine has no such address. */
  async udp(kind: "udp4" | "udp6", host: string): Promise<number> {
    const socket = createSocket(kind, (data) => {
      this.received += `${data.toString("latin1")}\n`;
    });
    try {
      socket.bind(0, host);
      await once(socket, "listening");
    } catch {
      socket.close();
      return 0;
    }
    this.#sockets.push(socket);
    return socket.address().port;
  }

  async #listen(options: { host: string; port: number } | { path: string }): Promise<Server | undefined> {
    const server = createServer((socket) => {
      // The other side may end at any moment.
      socket.on("error", () => {});
      socket.on("data", (data) => {
        this.received += `${data.toString("latin1")}\n`;
      });
    });
    try {
      server.listen({ ...options, ...(onDisk(options) && { readableAll: true, writableAll: true }) });
      await once(server, "listening");
    } catch {
      return undefined;
    }
    this.#servers.push(server);
    return server;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const socket of this.#sockets) socket.close();
    await Promise.all(
      this.#servers.map(async (server) => {
        const closed = once(server, "close");
        server.close();
        await closed;
      }),
    );
  }
}

/** An abstract name has no mode. */
const onDisk = (options: { host: string } | { path: string }): boolean =>
  "path" in options && options.path.startsWith("/");

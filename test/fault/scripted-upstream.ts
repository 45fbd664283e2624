import { once } from "node:events";
import { type AddressInfo, createServer, type Server, type Socket } from "node:net";

/** Handles one connection: called when it is opened, and with each head that arrives. */
export interface Script {
  connected?(socket: Socket): void;
  requested?(socket: Socket, target: string, count: number): void;
}

/** A server on loopback that writes exactly the given bytes, and reads only the heads of requests without a body. */
export class ScriptedUpstream implements AsyncDisposable {
  /** Every connection that was ever made, in order. */
  readonly sockets: Socket[] = [];
  /** The requests, in order, with their connections. */
  readonly requests: { readonly target: string; readonly connection: number }[] = [];
  readonly #server: Server;

  static async listen(script: Script): Promise<ScriptedUpstream> {
    const server = createServer({ noDelay: true });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    return new ScriptedUpstream(server, script);
  }

  constructor(server: Server, script: Script) {
    this.#server = server;
    server.on("connection", (socket: Socket) => {
      const connection = this.sockets.push(socket) - 1;
      // A reset is an end like any other.
      socket.on("error", () => {});
      script.connected?.(socket);
      if (script.requested === undefined) return;
      let received = "";
      socket.on("data", (bytes: Buffer) => {
        received += bytes.toString("latin1");
        for (let end = received.indexOf("\r\n\r\n"); end >= 0; end = received.indexOf("\r\n\r\n")) {
          const target = received.split(" ", 2)[1] ?? "";
          received = received.slice(end + 4);
          this.requests.push({ target, connection });
          script.requested?.(socket, target, this.requests.length);
        }
      });
    });
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  url(path = "/"): string {
    return `http://127.0.0.1:${this.port}${path}`;
  }

  /** Connections that have not ended. */
  get open(): number {
    return this.sockets.filter((socket) => !socket.destroyed).length;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const socket of this.sockets) socket.destroy();
    this.#server.close();
    await once(this.#server, "close");
  }
}

/**
 * Writes the same bytes until the other side has gone, no faster than it reads; returns a counter of what was written.
 */
export function writeForEver(socket: Socket, bytes: string | Buffer): { written: number } {
  const block = Buffer.from(bytes);
  const counter = { written: 0 };
  const write = (): void => {
    while (!socket.destroyed && socket.writable) {
      counter.written += block.length;
      if (!socket.write(block)) return;
    }
  };
  socket.on("drain", write);
  write();
  return counter;
}

export const OK = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok";
export const CHUNKED = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n";

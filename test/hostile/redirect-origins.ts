import { once } from "node:events";
import { readFileSync } from "node:fs";
import http from "node:http";
import https from "node:https";
import net, { type AddressInfo } from "node:net";
import { fileURLToPath } from "node:url";

export const CERTIFICATE = fileURLToPath(new URL("../fixtures/loopback-certificate.pem", import.meta.url));
const KEY = fileURLToPath(new URL("../fixtures/loopback-key.pem", import.meta.url));

/** The first byte of a client that speaks TLS. */
const TLS_HANDSHAKE = 0x16;

/** One request as a server saw it. */
export interface Seen {
  readonly origin: string;
  readonly path: string;
  readonly headers: http.IncomingHttpHeaders;
}

/** Servers of two schemes on several ports, each redirecting along a chain: `/CHAIN/STEP`. */
export class RedirectOrigins implements AsyncDisposable {
  readonly seen: Seen[] = [];
  /** Scheme, host and port, in every combination that reaches a server. */
  readonly origins: string[] = [];
  readonly #chains = new Map<string, readonly Hop[]>();
  readonly #listeners: net.Server[] = [];
  readonly #sockets = new Set<net.Socket>();

  static async listen(ports: number): Promise<RedirectOrigins> {
    const all = new RedirectOrigins();
    for (let left = ports; left > 0; left--) await all.#listen();
    return all;
  }

  /** One port that speaks both schemes, so that an origin can differ from another in nothing but its scheme. */
  async #listen(): Promise<void> {
    const clear = this.#serve("http", http.createServer());
    const secure = this.#serve(
      "https",
      https.createServer({ cert: readFileSync(CERTIFICATE), key: readFileSync(KEY) }),
    );
    const listener = net.createServer((socket) => {
      this.#sockets.add(socket);
      socket.once("close", () => this.#sockets.delete(socket));
      socket.on("error", () => {}); // the client has left
      socket.once("readable", () => {
        const first = socket.read(1) as Buffer | null;
        if (first === null) return; // left without a word
        socket.unshift(first);
        (first[0] === TLS_HANDSHAKE ? secure : clear).emit("connection", socket);
      });
    });
    listener.listen(0, "127.0.0.1");
    await once(listener, "listening");
    this.#listeners.push(listener);
    const { port } = listener.address() as AddressInfo;
    for (const scheme of ["http", "https"])
      for (const host of ["127.0.0.1", "localhost"]) this.origins.push(`${scheme}://${host}:${port}`);
  }

  #serve(scheme: "http" | "https", server: http.Server): http.Server {
    return server.on("request", (request: http.IncomingMessage, response: http.ServerResponse) => {
      const path = request.url ?? "";
      this.seen.push({ origin: `${scheme}://${request.headers.host}`, path, headers: request.headers });
      request.resume();
      const [, chain = "", step = "0"] = path.split("/");
      const hop = this.#chains.get(chain)?.[Number(step)];
      if (hop === undefined) response.end("arrived");
      else response.writeHead(hop.status, { Location: hop.location }).end();
    });
  }

  /** The answer to `/NAME/STEP`, from any server. */
  setChain(name: string, hops: readonly Hop[]): void {
    this.#chains.set(name, hops);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    for (const listener of this.#listeners) listener.close();
  }
}

export interface Hop {
  readonly status: number;
  readonly location: string;
}

import { createHash, type Hash } from "node:crypto";
import { once } from "node:events";
import http from "node:http";
import type { AddressInfo } from "node:net";

const BLOCK_BYTES = 64 * 1024;

/** A body that is being sent. `written` grows as fast as the connection takes it. */
export interface SentBody {
  written: number;
  readonly hash: Hash;
}

/**
 * The server that requests are made to. `/body?bytes=N` sends a body that never repeats itself, `/endless` one without an end, `/hang` nothing at all,
 * everything else its own path.
 */
export class HttpUpstream implements AsyncDisposable {
  readonly bodies: SentBody[] = [];
  /** Paths of requests that were given up before they were answered in full. */
  readonly abandoned: string[] = [];
  #active = 0;
  readonly #server = http.createServer((request, response) => {
    this.#active += 1;
    response.once("close", () => {
      this.#active -= 1;
      if (!response.writableFinished) this.abandoned.push(request.url ?? "");
    });
    void this.#answer(new URL(request.url ?? "", "http://upstream"), response);
  });

  static async listen(): Promise<HttpUpstream> {
    const upstream = new HttpUpstream();
    upstream.#server.listen(0, "127.0.0.1");
    await once(upstream.#server, "listening");
    return upstream;
  }

  /** Requests that are not answered yet. */
  get active(): number {
    return this.#active;
  }

  url(path: string): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}${path}`;
  }

  /** Ends the connections that a client keeps for later. */
  closeConnections(): void {
    this.#server.closeAllConnections();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.closeConnections();
    this.#server.close();
    await once(this.#server, "close");
  }

  async #answer(url: URL, response: http.ServerResponse): Promise<void> {
    if (url.pathname === "/hang") return;
    if (url.pathname === "/body") await this.#sendBody(response, Number(url.searchParams.get("bytes")));
    else if (url.pathname === "/endless") await this.#sendBody(response, Number.POSITIVE_INFINITY);
    else response.end(url.pathname);
  }

  async #sendBody(response: http.ServerResponse, bytes: number): Promise<void> {
    const body: SentBody = { written: 0, hash: createHash("sha256") };
    this.bodies.push(body);
    const gone = new AbortController();
    response.once("close", () => gone.abort());
    while (body.written < bytes && !response.destroyed) {
      const block = Buffer.alloc(Math.min(BLOCK_BYTES, bytes - body.written), `at ${body.written} `);
      body.hash.update(block);
      body.written += block.length;
      if (response.write(block)) continue;
      await once(response, "drain", { signal: gone.signal }).catch(() => {}); // nobody reads any more
    }
    response.end();
  }
}

import { connect, type Socket } from "node:net";

export interface HttpAnswer {
  status: number;
  headers: Record<string, string>;
  body: string;
}

const TIMEOUT_MS = 15_000;

/** The header lines of a websocket upgrade, one by one, so that a test can leave one out or change it. */
export const upgradeHeaders = {
  upgrade: "Upgrade: websocket",
  connection: "Connection: Upgrade",
  version: "Sec-WebSocket-Version: 13",
  key: "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
} as const;

/** A TCP connection to the server on which a test writes what no HTTP or websocket library would. */
export class RawSocket {
  readonly socket: Socket;
  /** Resolves when the server has ended the connection. */
  readonly ended: Promise<void>;
  #received = Buffer.alloc(0);
  #changed: () => void = () => {};
  #isEnded = false;

  constructor(url: string) {
    const { hostname, port } = new URL(url);
    this.socket = connect(Number(port), hostname.replace(/^\[|\]$/g, ""));
    this.socket.on("data", (bytes: Buffer) => {
      this.#received = Buffer.concat([this.#received, bytes]);
      this.#changed();
    });
    // A reset is an end like any other here.
    this.socket.on("error", () => {});
    this.ended = new Promise((resolve) => {
      this.socket.on("close", () => {
        this.#isEnded = true;
        this.#changed();
        resolve();
      });
    });
  }

  write(data: string | Uint8Array): void {
    this.socket.write(data);
  }

  destroy(): void {
    this.socket.destroy();
  }

  /** Reads one HTTP answer; `bodiless` for the answer to HEAD. */
  async readAnswer(options: { bodiless?: boolean } = {}): Promise<HttpAnswer> {
    const head = await this.#take(() => {
      const end = this.#received.indexOf("\r\n\r\n");
      return end === -1 ? -1 : end + 4;
    });
    const [statusLine = "", ...lines] = head.trimEnd().split("\r\n");
    const headers = Object.fromEntries(
      lines.map((line) => {
        const colon = line.indexOf(":");
        return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()];
      }),
    );
    const status = Number(statusLine.split(" ")[1]);
    if (options.bodiless === true || status === 101) return { status, headers, body: "" };
    if (headers["transfer-encoding"] === "chunked")
      return { status, headers, body: await this.#readChunks() };
    return { status, headers, body: await this.#takeBytes(Number(headers["content-length"] ?? 0)) };
  }

  async #readChunks(): Promise<string> {
    let body = "";
    for (;;) {
      const size = Number.parseInt(await this.#takeLine(), 16);
      body += await this.#takeBytes(size);
      await this.#takeLine();
      if (size === 0) return body;
    }
  }

  async #takeLine(): Promise<string> {
    return this.#take(() => {
      const end = this.#received.indexOf("\r\n");
      return end === -1 ? -1 : end + 2;
    });
  }

  async #takeBytes(count: number): Promise<string> {
    return this.#take(() => (this.#received.length >= count ? count : -1));
  }

  /** Takes as many bytes as `enough` says; -1 is not yet. */
  async #take(enough: () => number): Promise<string> {
    const deadline = Date.now() + TIMEOUT_MS;
    for (;;) {
      const count = enough();
      if (count !== -1) {
        const text = this.#received.subarray(0, count).toString("utf8");
        this.#received = this.#received.subarray(count);
        return text;
      }
      const left = deadline - Date.now();
      if (this.#isEnded || left <= 0) {
        throw new Error(
          `${this.#isEnded ? "the connection ended" : "timeout"} with ${JSON.stringify(this.#received.toString("utf8"))}`,
        );
      }
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, left);
        this.#changed = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    }
  }
}

/** Sends one HTTP/1.1 request and returns its answer. */
export async function httpRequest(
  url: string,
  method: string,
  path: string,
  headers: readonly string[] = [],
): Promise<HttpAnswer> {
  const socket = new RawSocket(url);
  try {
    socket.write(requestText(url, method, path, headers));
    return await socket.readAnswer({ bodiless: method === "HEAD" });
  } finally {
    socket.destroy();
  }
}

export function requestText(
  url: string,
  method: string,
  path: string,
  headers: readonly string[] = [],
): string {
  const lines = [`${method} ${path} HTTP/1.1`, `Host: ${new URL(url).host}`, ...headers];
  if (method !== "GET" && method !== "HEAD") lines.push("Content-Length: 0");
  return `${lines.join("\r\n")}\r\n\r\n`;
}

/** A connection that has been upgraded, for frames no websocket library would send. */
export async function openRawWebSocket(url: string): Promise<RawSocket> {
  const socket = new RawSocket(url);
  try {
    socket.write(requestText(url, "GET", "/", Object.values(upgradeHeaders)));
    const { status } = await socket.readAnswer();
    if (status !== 101) throw new Error(`the upgrade was answered with ${status}`);
    return socket;
  } catch (error) {
    socket.destroy();
    throw error;
  }
}

/** One frame, masked with zeros by default. The payload must be shorter than 65536 bytes. */
export function frame(firstByte: number, payload: Uint8Array, options: { masked?: boolean } = {}): Buffer {
  const mask = (options.masked ?? true) ? 0x80 : 0;
  const length =
    payload.length < 126
      ? Buffer.from([mask | payload.length])
      : Buffer.from([mask | 126, payload.length >> 8, payload.length & 0xff]);
  return Buffer.concat([Buffer.from([firstByte]), length, Buffer.alloc(mask === 0 ? 0 : 4), payload]);
}

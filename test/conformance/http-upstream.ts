import { once } from "node:events";
import { createServer, type Server, type Socket } from "node:net";
import type { RawPeer } from "./raw-peer.ts";
import type { Target } from "./targets.ts";
import type { VerifyContext } from "./verifies.ts";

export interface UpstreamRequest {
  method: string;
  /** The request target: a path, an absolute URL or host:port. */
  target: string;
  /** The header lines as they were written, in order. */
  lines: readonly string[];
  /** The body as it was written: not decoded when it is chunked. */
  body: Buffer;
  socket: Socket;
  /** Resolves when the connection that carried the request has ended. */
  closed: Promise<void>;
}

export type Answer = (request: UpstreamRequest) => void | Promise<void>;

const REQUEST_TIMEOUT_MS = 15_000;

/**
 * An HTTP/1.1 server on loopback that writes exactly what it is given, valid or not, and records every request byte for
 * byte: an HTTP library would repair the one and hide the other.
 */
export class HttpUpstream {
  /** Every request received so far, in order. */
  readonly requests: UpstreamRequest[] = [];
  readonly port: number;
  /** `http://127.0.0.1:PORT`, without a slash at its end. */
  readonly origin: string;
  #server: Server;
  #sockets = new Set<Socket>();
  #arrived: () => void = () => {};

  /** The server must be listening. `event` is its event for a new connection. */
  constructor(server: Server, answer: Answer, event: "connection" | "secureConnection" = "connection") {
    const address = server.address();
    if (address === null || typeof address === "string") throw new TypeError("not a TCP address");
    this.port = address.port;
    this.origin = `http://127.0.0.1:${address.port}`;
    this.#server = server;
    server.on(event, (socket: Socket) => this.#accept(socket, answer));
  }

  /** The nth request, from 1, also when it has yet to come. */
  async request(count: number): Promise<UpstreamRequest> {
    const deadline = Date.now() + REQUEST_TIMEOUT_MS;
    for (;;) {
      const request = this.requests[count - 1];
      if (request !== undefined) return request;
      const left = deadline - Date.now();
      if (left <= 0) throw new Error(`${this.requests.length} requests came, not ${count}`);
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, left);
        this.#arrived = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    }
  }

  close(): void {
    this.#server.close();
    for (const socket of this.#sockets) socket.destroy();
  }

  #accept(socket: Socket, answer: Answer): void {
    this.#sockets.add(socket);
    const closed = new Promise<void>((resolve) => {
      socket.on("close", () => {
        this.#sockets.delete(socket);
        resolve();
      });
    });
    // A reset is an end like any other here.
    socket.on("error", () => {});
    let received = Buffer.alloc(0);
    socket.on("data", (bytes: Buffer) => {
      received = Buffer.concat([received, bytes]);
      for (;;) {
        const parsed = parseRequest(received);
        if (parsed === undefined) return;
        received = received.subarray(parsed.length);
        const request = { ...parsed.request, socket, closed };
        this.requests.push(request);
        this.#arrived();
        void answer(request);
      }
    });
  }
}

/** An upstream for the length of `use`. */
export async function withUpstream<T>(
  answer: Answer,
  use: (upstream: HttpUpstream) => Promise<T>,
  host = "127.0.0.1",
): Promise<T> {
  const server = createServer({ noDelay: true }).listen(0, host);
  await once(server, "listening");
  const upstream = new HttpUpstream(server, answer);
  try {
    return await use(upstream);
  } finally {
    upstream.close();
  }
}

/** The path of a request without its query. */
export function pathOf(request: UpstreamRequest): string {
  return request.target.replace(/\?.*$/, "");
}

/** The text of an answer with a body of known length. */
export function response(status: number, lines: readonly string[] = [], body = ""): string {
  return [`HTTP/1.1 ${status} Some Reason`, ...lines, `Content-Length: ${body.length}`, "", body].join(
    "\r\n",
  );
}

/** Answers every request alike. */
export function always(status: number, lines: readonly string[] = [], body = ""): Answer {
  return ({ socket }) => void socket.write(response(status, lines, body));
}

/** The head of an answer whose body is `length` bytes, all of them still to be written. */
export function head(length: number, lines: readonly string[] = []): string {
  return `${["HTTP/1.1 200 OK", ...lines, `Content-Length: ${length}`].join("\r\n")}\r\n\r\n`;
}

/** The head of a chunked answer. */
export const CHUNKED_HEAD = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";

export function chunk(data: string | Buffer): Buffer {
  return Buffer.concat([
    Buffer.from(`${data.length.toString(16)}\r\n`),
    Buffer.from(data),
    Buffer.from("\r\n"),
  ]);
}

export const LAST_CHUNK = "0\r\n\r\n";

export interface UpstreamContext extends VerifyContext {
  connection: RawPeer;
  upstream: HttpUpstream;
  /** Requests a path of the upstream. Default: GET. */
  // oxlint-disable-next-line typescript/no-explicit-any
  send: (path: string, more?: Record<string, unknown>) => Promise<any>;
}

/** The body of a test on a connection and an upstream that answers so. */
export function onUpstream(
  answer: Answer,
  body: (context: UpstreamContext) => Promise<void>,
): (context: VerifyContext) => Promise<void> {
  return async (context) =>
    withUpstream(answer, async (upstream) => {
      const connection = await context.peer();
      const send: UpstreamContext["send"] = (path, more) =>
        httpRequest(connection, `${upstream.origin}${path}`, more);
      await body({ ...context, connection, upstream, send });
    });
}

export function httpRequest(connection: RawPeer, url: string, more: Record<string, unknown> = {}) {
  const params = { method: "GET", url, requestId: "r", ...more };
  return connection.request("http/request", params, { timeoutMs: REQUEST_TIMEOUT_MS });
}

/** The error message for a request without an answer. */
export function sendingFailed(url: string): string {
  return `http/request failed: error sending request for url (${url})`;
}

/**
 * The lines of a head as the server writes them: the real one in the order given here. Ours adds `connection`, starts
 * with it and `host`, and ends with the body headers.
 */
export function sentLines({ kind }: Target, lines: readonly string[]): string[] {
  if (kind !== "ours") return [...lines];
  const named = (name: string): string[] => lines.filter((line) => line.startsWith(`${name}: `));
  const rest = lines.filter((line) => !/^(?:host|content-length|transfer-encoding): /.test(line));
  const last = [...named("content-length"), ...named("transfer-encoding")];
  return [...named("host"), "connection: keep-alive", ...rest, ...last];
}

export const BODY_FAILED = "failed to read http/request response body: error decoding response body";

function parseRequest(
  bytes: Buffer,
): { request: Pick<UpstreamRequest, "method" | "target" | "lines" | "body">; length: number } | undefined {
  const headEnd = bytes.indexOf("\r\n\r\n");
  if (headEnd === -1) return undefined;
  // Latin-1 keeps every byte of a header apart.
  const [start = "", ...lines] = bytes.subarray(0, headEnd).toString("latin1").split("\r\n");
  const [method = "", target = ""] = start.split(" ");
  const bodyStart = headEnd + 4;
  const bodyEnd = endOfBody(bytes, bodyStart, lines);
  if (bodyEnd === -1) return undefined;
  return { request: { method, target, lines, body: bytes.subarray(bodyStart, bodyEnd) }, length: bodyEnd };
}

function endOfBody(bytes: Buffer, start: number, lines: readonly string[]): number {
  if (lines.some((line) => /^transfer-encoding: *(?:.*, *)?chunked$/i.test(line))) {
    const last = bytes.indexOf(LAST_CHUNK, start);
    return last === -1 ? -1 : last + LAST_CHUNK.length;
  }
  const length = lines.map((line) => /^content-length: *(\d+)$/i.exec(line)?.[1]).find((value) => value);
  const end = start + Number(length ?? 0);
  return bytes.length < end ? -1 : end;
}

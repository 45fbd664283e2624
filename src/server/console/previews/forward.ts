import {
  type ClientRequest,
  type IncomingMessage,
  request as httpRequest,
  type ServerResponse,
  STATUS_CODES,
} from "node:http";
import type { Socket } from "node:net";
import { type Duplex, pipeline } from "node:stream";
import { ConnectionError } from "../../../base/errors.ts";
import { endToEndHeaders } from "../../../capabilities/network-proxy/forwarded-headers.ts";

/** The name of the cookie that lets a browser in. What it opens must not learn it. */
export const COOKIE = "exec-server-preview";

/**
 * Sends a request over a connection, and its answer back. Resolves when the client has the answer or has left; rejects
 * if there is no answer. Either way the connection is closed.
 */
export function forwardRequest(
  request: IncomingMessage,
  response: ServerResponse,
  upstream: Duplex,
): Promise<void> {
  return new Promise<void>((resolve, reject) => {
    if (response.closed) return resolve();
    response.once("close", resolve);
    /** From then on, the connection may end before the client has read everything. */
    let isAnswered = false;
    const fail = (error: Error): void => {
      if (!isAnswered) reject(error);
    };
    const chunked = request.headers["transfer-encoding"] !== undefined;
    const forwarded = send(upstream, request, [
      "connection",
      "close",
      ...(chunked ? ["transfer-encoding", "chunked"] : []),
    ]);
    forwarded.on("error", fail);
    forwarded.once("close", () => fail(new ConnectionError("it sent no answer")));
    forwarded.once("response", (answer) => {
      try {
        response.writeHead(answer.statusCode!, endToEndHeaders(answer.rawHeaders));
      } catch (error) {
        reject(error);
        return;
      }
      isAnswered = true;
      // Events of a stream may come much later.
      response.flushHeaders();
      pipeline(answer, response, () => {});
    });
    if (chunked || request.headers["content-length"] !== undefined) request.pipe(forwarded);
    else forwarded.end();
  }).finally(() => upstream.destroy());
}

/** The same for an upgrade to a WebSocket: resolves when both sides have ended. */
export function forwardUpgrade(
  request: IncomingMessage,
  socket: Socket,
  head: Buffer,
  upstream: Duplex,
): Promise<void> {
  return new Promise<void>((resolve, reject) => {
    if (socket.destroyed) return resolve();
    socket.once("close", resolve);
    let isAnswered = false;
    const forwarded = send(upstream, request, ["connection", "Upgrade", "upgrade", "websocket"]);
    forwarded.on("error", (error) => {
      if (!isAnswered) reject(error);
    });
    forwarded.once("upgrade", (answer, stream, first) => {
      isAnswered = true;
      socket.write(headText(101, answer, ["Connection", "Upgrade", "Upgrade", "websocket"]), "latin1");
      if (first.length > 0) socket.write(first);
      if (head.length > 0) stream.write(head);
      pipeline(socket, stream, socket, () => socket.destroy());
    });
    forwarded.once("response", (answer) => {
      isAnswered = true;
      socket.write(headText(answer.statusCode ?? 502, answer, ["Connection", "close"]), "latin1");
      pipeline(answer, socket, () => socket.destroySoon());
    });
    forwarded.end();
  }).finally(() => upstream.destroy());
}

/** Begins a request with the end-to-end headers of another. Its Host stays, because addresses are made from it. */
function send(upstream: Duplex, request: IncomingMessage, more: readonly string[]): ClientRequest {
  const headers = endToEndHeaders(request.rawHeaders, ["cookie", "expect"]);
  const cookies = otherCookies(request.headers.cookie ?? "");
  return httpRequest({
    createConnection: () => upstream,
    method: request.method,
    path: request.url,
    headers: [...headers, ...(cookies === "" ? [] : ["cookie", cookies]), ...more],
  });
}

/** The value of the cookie that lets a browser in; undefined without one. */
export function ownCookie(header: string): string | undefined {
  const own = cookiesIn(header).find((cookie) => cookie.startsWith(`${COOKIE}=`));
  return own?.slice(COOKIE.length + 1);
}

function otherCookies(header: string): string {
  return cookiesIn(header)
    .filter((cookie) => cookie.split("=", 1)[0]?.trim() !== COOKIE)
    .join("; ");
}

function cookiesIn(header: string): string[] {
  return header
    .split(";")
    .map((cookie) => cookie.trim())
    .filter((cookie) => cookie !== "");
}

function headText(status: number, { rawHeaders }: IncomingMessage, more: readonly string[]): string {
  const headers = [...endToEndHeaders(rawHeaders), ...more];
  const lines = [`HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ""}`];
  for (let at = 0; at + 1 < headers.length; at += 2) lines.push(`${headers[at]}: ${headers[at + 1]}`);
  return `${lines.join("\r\n")}\r\n\r\n`;
}

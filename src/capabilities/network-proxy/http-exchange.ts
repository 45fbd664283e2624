import {
  type Agent,
  type ClientRequest,
  type IncomingMessage,
  request as startRequest,
  type ServerOptions,
  type ServerResponse,
  STATUS_CODES,
} from "node:http";
import type { Socket } from "node:net";
import type { Transform } from "node:stream";
import { type BlockedAnswer, plainAnswer } from "./blocked.ts";
import { endToEndHeaders, headerValues } from "./forwarded-headers.ts";
import type { HttpTarget } from "./http-target.ts";
import type { Restoring } from "./secrets/replacement.ts";
import { restoredAnswer, restoredHeaders, UNRESTORABLE_HEADERS } from "./secrets/restored-answer.ts";
import { RestoredMessages } from "./secrets/restored-messages.ts";
import { IDLE_TIMEOUT_MS, tunnel } from "./tunnel.ts";

const MAX_HEADER_BYTES = 64 * 1024;
const HEADERS_TIMEOUT_MS = 30_000;
const KEEP_ALIVE_TIMEOUT_MS = 60_000;
/** Methods whose requests need no length to have no body. */
const BODILESS: ReadonlySet<string> = new Set(["GET", "HEAD", "OPTIONS", "TRACE", "DELETE"]);
export const UPSTREAM_FAILURE = plainAnswer(502, "upstream failure");
export const TOO_MANY = plainAnswer(503, "too many connections from this process");
const UNREADABLE_ANSWER = plainAnswer(
  502,
  "upstream failure: the answer has an unknown content or transfer coding",
);

export const SERVER_OPTIONS: ServerOptions = {
  maxHeaderSize: MAX_HEADER_BYTES,
  headersTimeout: HEADERS_TIMEOUT_MS,
  keepAliveTimeout: KEEP_ALIVE_TIMEOUT_MS,
  // Uploads may take as long as they make progress.
  requestTimeout: 0,
  // Whether one is needed depends on the URL.
  requireHostHeader: false,
  noDelay: true,
};

/** A request that has been checked, as it goes out. */
export interface Outgoing {
  readonly target: HttpTarget;
  /** The client's headers with its secrets in their place. */
  readonly headers: readonly string[];
  /** What must not come back; undefined for a process without secrets. */
  readonly restoring: Restoring | undefined;
  /** A connection for this request alone, or the one that all requests of a tunnel share. */
  readonly connection: Socket | Agent;
}

/** Forwards one request, and the answer back. Resolves when both are done. */
export function forward(
  request: IncomingMessage,
  response: ServerResponse,
  outgoing: Outgoing,
): Promise<void> {
  return new Promise((resolve) => {
    const { connection, restoring } = outgoing;
    const own = "write" in connection ? connection : undefined;
    own?.setTimeout(IDLE_TIMEOUT_MS, () => own.destroy());
    const upstream = requestOn(outgoing, request, ["Connection", own === undefined ? "keep-alive" : "close"]);
    response.once("close", () => {
      if (!response.writableFinished || own !== undefined) upstream.destroy();
      own?.destroy();
      resolve();
    });
    // An answer to `Expect: 100-continue`; Node sends it only to clients that wait for one.
    if (request.headers.expect !== undefined && request.httpVersion === "1.1") response.writeContinue();
    upstream.once("response", (answered) => {
      if (!isFinal(answered)) {
        upstream.destroy(new Error("the status code is invalid"));
        return;
      }
      const headers = endToEndHeaders(answered.rawHeaders);
      const method = request.method ?? "GET";
      const passed =
        restoring === undefined
          ? { headers, stages: [] }
          : restoredAnswer(answered, { method, headers, restoring });
      if (passed === undefined) {
        upstream.destroy();
        send(response, UNREADABLE_ANSWER);
        return;
      }
      response.writeHead(answered.statusCode, passed.headers);
      // With the body if it is there, and without it if it takes its time.
      setImmediate(() => {
        if (!response.writableEnded && !response.destroyed) response.flushHeaders();
      });
      passOn([answered, ...passed.stages, response]);
    });
    // The request did not ask for a protocol change, so an answer with one is invalid.
    upstream.once("upgrade", (_answered, upgraded) => {
      upgraded.destroy();
      send(response, UPSTREAM_FAILURE);
    });
    // One request can fail more than once, as can everything here with an untrusted peer.
    upstream.on("error", (error: NodeJS.ErrnoException) => {
      // As in a tunnel, the client learns that a connection which it has used before is gone.
      if (response.headersSent || upstream.reusedSocket) response.destroy();
      else send(response, upstreamFailure(error));
    });
    // A stream's head must not wait for its first chunk: the answer to it may be what the client waits for.
    if (request.headers["transfer-encoding"] !== undefined) upstream.flushHeaders();
    request.pipe(upstream);
  });
}

/** Certificates are checked here, so only this program can say what is wrong with one. */
function upstreamFailure({ code = "", message }: NodeJS.ErrnoException): BlockedAnswer {
  return /CERT|SELF_SIGNED|ISSUER|SIGNATURE|_SSL_/.test(code)
    ? plainAnswer(502, `upstream failure: ${message.split("\n", 1)[0]} (${code})`)
    : UPSTREAM_FAILURE;
}

/** Node parses status codes that it would not write. */
function isFinal(answered: IncomingMessage): answered is IncomingMessage & { statusCode: number } {
  return answered.statusCode !== undefined && answered.statusCode >= 200 && answered.statusCode <= 999;
}

/** Node has parsed every part of it, so it can also be written. */
function requestOn(outgoing: Outgoing, request: IncomingMessage, extra: readonly string[]): ClientRequest {
  const { connection, target } = outgoing;
  return startRequest({
    ...("write" in connection ? { createConnection: () => connection } : { agent: connection }),
    method: request.method ?? "GET",
    path: target.path,
    headers: requestHeaders(outgoing, request, extra),
    maxHeaderSize: MAX_HEADER_BYTES,
    setHost: false,
  });
}

/** Node frames the request again: it was parsed, and is serialized anew. */
function requestHeaders(
  { target, headers, restoring }: Outgoing,
  request: IncomingMessage,
  extra: readonly string[],
): string[] {
  const hides = restoring !== undefined;
  const passed = endToEndHeaders(headers, ["host", "expect", ...(hides ? UNRESTORABLE_HEADERS : [])]);
  const isChunked = request.headers["transfer-encoding"] !== undefined;
  const hasLength = request.headers["content-length"] !== undefined;
  return [
    "Host",
    target.authority,
    ...passed,
    ...(hides ? ["Accept-Encoding", "identity"] : []),
    ...(isChunked
      ? ["Transfer-Encoding", "chunked"]
      : hasLength || BODILESS.has(request.method ?? "")
        ? []
        : ["Content-Length", "0"]),
    ...extra,
  ];
}

/** Passes an upgrade on. The connection ends after any other answer, because the parser has let go of it. */
export function switchProtocol(
  request: IncomingMessage,
  socket: Socket,
  head: Buffer,
  outgoing: Outgoing,
): Promise<BlockedAnswer | undefined> {
  return new Promise((resolve) => {
    const { connection, restoring } = outgoing;
    const asked = headerValues(request.rawHeaders, "upgrade").join(", ");
    // Only WebSockets can be looked through: anything else is asked for without the upgrade.
    const isPassed = restoring === undefined || asked === "websocket";
    const upstream = requestOn(
      outgoing,
      request,
      isPassed ? ["Connection", "Upgrade", "Upgrade", asked] : ["Connection", "close"],
    );
    socket.once("close", () => {
      upstream.destroy();
      if ("write" in connection) connection.destroy();
      resolve(undefined);
    });
    const restored = ({ rawHeaders }: IncomingMessage): string[] => {
      const headers = endToEndHeaders(rawHeaders);
      return restoring === undefined ? headers : restoredHeaders(headers, restoring);
    };
    upstream.once("upgrade", (answered, switched: Socket, rest: Buffer) => {
      const chosen = headerValues(answered.rawHeaders, "upgrade").join(", ");
      if (restoring !== undefined && (!isPassed || chosen !== "websocket" || hasExtensions(answered))) {
        switched.destroy();
        resolve(UPSTREAM_FAILURE);
        return;
      }
      socket.write(headOf(101, [...restored(answered), "connection", "upgrade", "upgrade", chosen]));
      if (rest.length > 0) switched.unshift(rest);
      if (head.length > 0) switched.write(head);
      tunnel(socket, switched, restoring === undefined ? undefined : new RestoredMessages(restoring));
      socket.once("close", () => switched.destroy());
    });
    upstream.once("response", (answered) => {
      if (!isFinal(answered)) {
        upstream.destroy(new Error("the status code is invalid"));
        return;
      }
      const headers = endToEndHeaders(answered.rawHeaders);
      const passed =
        restoring === undefined
          ? { headers, stages: [] }
          : restoredAnswer(answered, { method: request.method ?? "GET", headers, restoring });
      if (passed === undefined) {
        resolve(UNREADABLE_ANSWER);
        return;
      }
      socket.write(headOf(answered.statusCode, [...passed.headers, "connection", "close"]));
      passOn([answered, ...passed.stages, socket]);
      socket.once("finish", () => socket.destroy());
    });
    upstream.on("error", (error: NodeJS.ErrnoException) => resolve(upstreamFailure(error)));
    upstream.end();
  });
}

/** Extensions, which nobody has asked for, would change what frames contain. */
function hasExtensions({ headers }: IncomingMessage): boolean {
  return headers["sec-websocket-extensions"] !== undefined;
}

/** With back-pressure; what fails ends all of it. `pipeline` does more, and takes longer than the rest of a small exchange. */
function passOn(streams: readonly [IncomingMessage, ...(Transform | ServerResponse | Socket)[]]): void {
  const end = (): void => {
    for (const each of streams) each.destroy();
  };
  const [answered, ...others] = streams;
  // An answer that is cut short must not look complete.
  answered.once("aborted", end);
  for (const each of streams) each.on("error", end);
  // Its reader may leave before the end.
  streams.at(-1)!.once("close", end);
  // The records of one read are written together: each write would be encrypted and sent on its own.
  const last = streams.at(-1) as ServerResponse | Socket;
  let isCorked = false;
  streams.at(-2)!.on("data", () => {
    if (isCorked) return;
    isCorked = true;
    last.cork();
    process.nextTick(() => {
      isCorked = false;
      last.uncork();
    });
  });
  others.reduce(
    (from: NodeJS.ReadableStream, to) => from.pipe(to) as unknown as NodeJS.ReadableStream,
    answered,
  );
}

export function send(response: ServerResponse, { status, headers, body }: BlockedAnswer): void {
  if (response.headersSent || response.destroyed) return;
  response.writeHead(status, [...headers, "content-length", String(Buffer.byteLength(body))]);
  response.end(body);
}

/** For a connection that Node's parser has released. */
export function sendRaw(socket: Socket, answer: BlockedAnswer): void {
  socket.on("error", () => socket.destroy());
  socket.setTimeout(KEEP_ALIVE_TIMEOUT_MS, () => socket.destroy());
  socket.end(formatAnswer(answer));
  socket.resume();
}

export function formatAnswer({ status, headers, body }: BlockedAnswer): string {
  const length = String(Buffer.byteLength(body));
  return headOf(status, [...headers, "content-length", length, "connection", "close"]) + body;
}

function headOf(status: number, headers: readonly string[]): string {
  const lines = [`HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ""}`];
  for (let index = 0; index + 1 < headers.length; index += 2)
    lines.push(`${headers[index]}: ${headers[index + 1]}`);
  return `${lines.join("\r\n")}\r\n\r\n`;
}

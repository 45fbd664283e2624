import {
  type ClientRequest,
  createServer,
  type IncomingMessage,
  request as startRequest,
  type Server,
  type ServerResponse,
  STATUS_CODES,
} from "node:http";
import type { Socket } from "node:net";
import { pipeline } from "node:stream";
import { type BlockedAnswer, blockedAnswer, plainAnswer } from "./blocked.ts";
import { endToEndHeaders, headerValues } from "./forwarded-headers.ts";
import { type Attempt, attemptOf } from "./gatekeeper.ts";
import { connectTarget, type HttpTarget, httpTarget } from "./http-target.ts";
import { connectOutward } from "./outward.ts";
import type { ProxyContext } from "./proxy-context.ts";
import { IDLE_TIMEOUT_MS, tunnel } from "./tunnel.ts";

const MAX_HEADER_BYTES = 64 * 1024;
const HEADERS_TIMEOUT_MS = 30_000;
const KEEP_ALIVE_TIMEOUT_MS = 60_000;
/** Methods whose requests need no length to have no body. */
const BODILESS: ReadonlySet<string> = new Set(["GET", "HEAD", "OPTIONS", "TRACE", "DELETE"]);
const UPSTREAM_FAILURE = plainAnswer(502, "upstream failure");
const TOO_MANY = plainAnswer(503, "too many connections from this process");

/** Answer to a connection whose requests are not read. */
export function httpRefusal(): string {
  return formatAnswer(plainAnswer(403, "this proxy serves only the user who runs its process"));
}

/** The HTTP proxy of one process: requests with absolute URLs, CONNECT, and upgrades. Node parses; this decides. */
export function createHttpProxy(context: ProxyContext): Server {
  const server = createServer({
    maxHeaderSize: MAX_HEADER_BYTES,
    headersTimeout: HEADERS_TIMEOUT_MS,
    keepAliveTimeout: KEEP_ALIVE_TIMEOUT_MS,
    // Uploads may take as long as they make progress.
    requestTimeout: 0,
    // The absolute URL names the host.
    requireHostHeader: false,
    noDelay: true,
  });
  server.timeout = IDLE_TIMEOUT_MS;
  const take = (request: IncomingMessage, response: ServerResponse): void => {
    void answer(context, request, response);
  };
  server.on("request", take);
  server.on("checkContinue", take);
  server.on("connect", (request: IncomingMessage, socket: Socket, head: Buffer) => {
    void openTunnel(context, request, socket, head);
  });
  // Without a listener, Node treats these as ordinary requests and drops the header.
  if (!context.limited)
    server.on("upgrade", (request: IncomingMessage, socket: Socket, head: Buffer) => {
      void upgrade(context, request, socket, head);
    });
  return server;
}

/** Asks the gatekeeper, and connects. Never rejects. */
async function reach(
  context: ProxyContext,
  attempt: Attempt,
  form: "json" | "text",
): Promise<Socket | BlockedAnswer> {
  const decided = await context.gatekeeper.admit(attempt, context.signal);
  if ("decision" in decided) return blockedAnswer(decided, form);
  try {
    return await connectOutward(decided.addresses, attempt.port, context.signal);
  } catch {
    return UPSTREAM_FAILURE;
  }
}

async function answer(
  context: ProxyContext,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const refused = await context.slots.with(() => exchange(context, request, response));
  if (refused === "full") send(response, TOO_MANY);
}

async function exchange(
  context: ProxyContext,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  request.on("error", () => {});
  response.on("error", () => {});
  const target = checked(context, request);
  if (!("path" in target)) return send(response, target);
  const reached = await reach(context, attemptOf("http", target, request.socket, request.method), "json");
  if (!("write" in reached)) return send(response, reached);
  if (response.destroyed) {
    reached.destroy();
    return undefined;
  }
  if (target.secure) {
    reached.destroy();
    return send(response, plainAnswer(501, "use CONNECT for https"));
  }
  return forward(request, response, target, reached);
}

/** Forwards one request on its own connection, and the answer back. Resolves when both are done. */
function forward(
  request: IncomingMessage,
  response: ServerResponse,
  target: HttpTarget,
  socket: Socket,
): Promise<void> {
  return new Promise((resolve) => {
    socket.setTimeout(IDLE_TIMEOUT_MS, () => socket.destroy());
    const upstream = requestOn(socket, request, target, ["Connection", "close"]);
    response.once("close", () => {
      upstream.destroy();
      socket.destroy();
      resolve();
    });
    // An answer to `Expect: 100-continue`; Node sends it only to clients that wait for one.
    if (request.headers.expect !== undefined && request.httpVersion === "1.1") response.writeContinue();
    upstream.once("response", (answered) => {
      if (!isFinal(answered)) {
        upstream.destroy(new Error("the status code is invalid"));
        return;
      }
      response.writeHead(answered.statusCode, endToEndHeaders(answered.rawHeaders));
      pipeline(answered, response, (error) => {
        if (error) response.destroy();
      });
    });
    // The request did not ask for a protocol change, so an answer with one is invalid.
    upstream.once("upgrade", (_answered, upgraded) => {
      upgraded.destroy();
      send(response, UPSTREAM_FAILURE);
    });
    // One request can fail more than once, as can everything here with an untrusted peer.
    upstream.on("error", () => {
      if (response.headersSent) response.destroy();
      else send(response, UPSTREAM_FAILURE);
    });
    request.pipe(upstream);
  });
}

/** Node parses status codes that it would not write. */
function isFinal(answered: IncomingMessage): answered is IncomingMessage & { statusCode: number } {
  return answered.statusCode !== undefined && answered.statusCode >= 200 && answered.statusCode <= 999;
}

/** Node has parsed every part of it, so it can also be written. */
function requestOn(
  socket: Socket,
  request: IncomingMessage,
  target: HttpTarget,
  extra: readonly string[],
): ClientRequest {
  return startRequest({
    createConnection: () => socket,
    method: request.method ?? "GET",
    path: target.path,
    headers: requestHeaders(request, target, extra),
    maxHeaderSize: MAX_HEADER_BYTES,
    setHost: false,
  });
}

/** Node frames the request again: it was parsed, and is serialized anew. */
function requestHeaders(
  request: IncomingMessage,
  { authority }: HttpTarget,
  extra: readonly string[],
): string[] {
  const headers = endToEndHeaders(request.rawHeaders, ["host", "expect"]);
  const isChunked = request.headers["transfer-encoding"] !== undefined;
  const hasLength = request.headers["content-length"] !== undefined;
  return [
    "Host",
    authority,
    ...headers,
    ...(isChunked
      ? ["Transfer-Encoding", "chunked"]
      : hasLength || BODILESS.has(request.method ?? "")
        ? []
        : ["Content-Length", "0"]),
    ...extra,
  ];
}

async function openTunnel(
  context: ProxyContext,
  request: IncomingMessage,
  socket: Socket,
  head: Buffer,
): Promise<void> {
  await withSocket(context, socket, async () => {
    const target = connectTarget(request);
    if (typeof target === "string") return plainAnswer(400, target);
    const reached = await reach(
      context,
      attemptOf("https_connect", target, request.socket, request.method),
      "text",
    );
    if (!("write" in reached)) return reached;
    socket.write("HTTP/1.1 200 OK\r\n\r\n");
    if (head.length > 0) reached.write(head);
    tunnel(socket, reached);
    return undefined;
  });
}

async function upgrade(
  context: ProxyContext,
  request: IncomingMessage,
  socket: Socket,
  head: Buffer,
): Promise<void> {
  await withSocket(context, socket, async () => {
    const target = checked(context, request);
    if (!("path" in target)) return target;
    // The bytes after the head would be a body or the new protocol, depending on the answer.
    if (request.headers["content-length"] !== undefined || request.headers["transfer-encoding"] !== undefined)
      return plainAnswer(400, "an upgrade with a body is not supported");
    const reached = await reach(context, attemptOf("http", target, request.socket, request.method), "json");
    if (!("write" in reached)) return reached;
    if (!target.secure) return switchProtocol(request, socket, head, target, reached);
    reached.destroy();
    return plainAnswer(501, "use CONNECT for https");
  });
}

/** Passes an upgrade on. The connection ends after any other answer, because the parser has let go of it. */
function switchProtocol(
  request: IncomingMessage,
  socket: Socket,
  head: Buffer,
  target: HttpTarget,
  reached: Socket,
): Promise<BlockedAnswer | undefined> {
  return new Promise((resolve) => {
    const asked = headerValues(request.rawHeaders, "upgrade").join(", ");
    const upstream = requestOn(reached, request, target, ["Connection", "Upgrade", "Upgrade", asked]);
    socket.once("close", () => {
      upstream.destroy();
      reached.destroy();
      resolve(undefined);
    });
    upstream.once("upgrade", (answered, switched: Socket, rest: Buffer) => {
      const chosen = headerValues(answered.rawHeaders, "upgrade").join(", ");
      socket.write(
        headOf(101, [...endToEndHeaders(answered.rawHeaders), "connection", "upgrade", "upgrade", chosen]),
      );
      if (rest.length > 0) socket.write(rest);
      if (head.length > 0) switched.write(head);
      tunnel(socket, switched);
    });
    upstream.once("response", (answered) => {
      const headers = endToEndHeaders(answered.rawHeaders);
      socket.write(
        headOf(isFinal(answered) ? answered.statusCode : 502, [...headers, "connection", "close"]),
      );
      pipeline(answered, socket, () => socket.destroy());
    });
    upstream.on("error", () => resolve(UPSTREAM_FAILURE));
    upstream.end();
  });
}

/** Checks that need no network and no client. */
function checked(context: ProxyContext, request: IncomingMessage): HttpTarget | BlockedAnswer {
  const coding = request.headers["transfer-encoding"];
  if (coding !== undefined && coding.toLowerCase() !== "chunked")
    return plainAnswer(501, "unsupported transfer coding");
  if (request.headers["x-unix-socket"] !== undefined) {
    const attempt = attemptOf("http", { host: "unix-socket", port: 0 }, request.socket, request.method);
    context.gatekeeper.refuseUnsupported(attempt, "unix_socket_unsupported");
    return plainAnswer(501, "unix sockets unsupported");
  }
  const target = httpTarget(request);
  return typeof target === "string" ? plainAnswer(400, target) : target;
}

/** For connections that Node's parser has released. Sends the answer, if there is one, and ends the connection. */
async function withSocket(
  { slots }: ProxyContext,
  socket: Socket,
  work: () => Promise<BlockedAnswer | undefined>,
): Promise<void> {
  const exchanged = await slots.with(async () => {
    socket.on("error", () => socket.destroy());
    // The client may take its time to decide.
    socket.setTimeout(0);
    const refused = await work();
    if (refused !== undefined) sendRaw(socket, refused);
    else if (!socket.destroyed) await new Promise<void>((resolve) => socket.once("close", () => resolve()));
  });
  if (exchanged === "full") sendRaw(socket, TOO_MANY);
}

function send(response: ServerResponse, { status, headers, body }: BlockedAnswer): void {
  if (response.headersSent || response.destroyed) return;
  response.writeHead(status, [...headers, "content-length", String(Buffer.byteLength(body))]);
  response.end(body);
}

function sendRaw(socket: Socket, answer: BlockedAnswer): void {
  socket.on("error", () => socket.destroy());
  socket.setTimeout(KEEP_ALIVE_TIMEOUT_MS, () => socket.destroy());
  socket.end(formatAnswer(answer));
  socket.resume();
}

function formatAnswer({ status, headers, body }: BlockedAnswer): string {
  const length = String(Buffer.byteLength(body));
  return headOf(status, [...headers, "content-length", length, "connection", "close"]) + body;
}

function headOf(status: number, headers: readonly string[]): string {
  const lines = [`HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ""}`];
  for (let index = 0; index + 1 < headers.length; index += 2)
    lines.push(`${headers[index]}: ${headers[index + 1]}`);
  return `${lines.join("\r\n")}\r\n\r\n`;
}

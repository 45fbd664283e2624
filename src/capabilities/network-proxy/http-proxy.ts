import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { type BlockedAnswer, blockedAnswer, NO_SECRET, plainAnswer } from "./blocked.ts";
import { type Admission, type Attempt, attemptOf } from "./gatekeeper.ts";
import {
  formatAnswer,
  forward,
  type Outgoing,
  SERVER_OPTIONS,
  send,
  sendRaw,
  switchProtocol,
  TOO_MANY,
  UPSTREAM_FAILURE,
} from "./http-exchange.ts";
import { connectTarget, type HttpTarget, httpTarget } from "./http-target.ts";
import { connectOutward } from "./outward.ts";
import type { ProxyContext } from "./proxy-context.ts";
import { IDLE_TIMEOUT_MS, tunnel } from "./tunnel.ts";

const IN_CLEAR = plainAnswer(
  403,
  "a secret is for this host in clear: send it requests through the HTTP proxy, without a tunnel",
);
const CONNECTED = "HTTP/1.1 200 OK\r\n\r\n";

/** Answer to a connection whose requests are not read. */
export function httpRefusal(): string {
  return formatAnswer(plainAnswer(403, "this proxy serves only the user who runs its process"));
}

/** The HTTP proxy of one process: requests with absolute URLs, CONNECT, and upgrades. Node parses; this decides. */
export function createHttpProxy(context: ProxyContext): Server {
  const server = createServer(SERVER_OPTIONS);
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
async function reach(context: ProxyContext, attempt: Attempt): Promise<Socket | BlockedAnswer> {
  const decided = await context.gatekeeper.admit(attempt, context.signal);
  return "decision" in decided ? blockedAnswer(decided, "json") : connectTo(context, attempt, decided);
}

async function connectTo(
  { signal }: ProxyContext,
  { port }: Attempt,
  { addresses }: Admission,
): Promise<Socket | BlockedAnswer> {
  try {
    return await connectOutward(addresses, port, signal);
  } catch {
    return UPSTREAM_FAILURE;
  }
}

/** A request in clear as it goes out on `connection`; or why it does not. */
function outgoing(
  { secrets, gatekeeper }: ProxyContext,
  request: IncomingMessage,
  target: HttpTarget,
  connection: Socket,
): Outgoing | BlockedAnswer {
  if (target.secure) return plainAnswer(501, "use CONNECT for https");
  const swapped = secrets?.outgoing({ scheme: "http", ...target }, request.rawHeaders);
  if (swapped === "misdirected") {
    const attempt = attemptOf("http", target, request.socket, request.method);
    return blockedAnswer(gatekeeper.refuseStandIn(attempt), "json");
  }
  if (swapped === "unavailable") return NO_SECRET;
  const { headers = request.rawHeaders } = swapped ?? {};
  return { target, headers, restoring: secrets?.restoring, connection };
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
  await context.secrets?.refresh({ scheme: "http", ...target });
  const reached = await reach(context, attemptOf("http", target, request.socket, request.method));
  if (!("write" in reached)) return send(response, reached);
  const checkedOut = outgoing(context, request, target, reached);
  if (!response.destroyed && !("status" in checkedOut)) return forward(request, response, checkedOut);
  reached.destroy();
  return "status" in checkedOut ? send(response, checkedOut) : undefined;
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
    const { gatekeeper, inspector, signal } = context;
    const attempt = attemptOf("https_connect", target, request.socket, request.method);
    const decided = await gatekeeper.admit(attempt, signal);
    if ("decision" in decided) return blockedAnswer(decided, "text");
    if (context.secrets?.isInClear(target.port, decided.addresses) === true) return IN_CLEAR;
    if (inspector?.inspects(target) === true) {
      socket.write(CONNECTED);
      inspector.take(socket, head, target, decided.addresses);
      return undefined;
    }
    const reached = await connectTo(context, attempt, decided);
    if (!("write" in reached)) return reached;
    socket.write(CONNECTED);
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
    await context.secrets?.refresh({ scheme: "http", ...target });
    const reached = await reach(context, attemptOf("http", target, request.socket, request.method));
    if (!("write" in reached)) return reached;
    const checkedOut = outgoing(context, request, target, reached);
    if (!("status" in checkedOut)) return switchProtocol(request, socket, head, checkedOut);
    reached.destroy();
    return checkedOut;
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

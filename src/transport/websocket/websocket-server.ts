import {
  createServer,
  type IncomingMessage,
  type Server as HttpServer,
  type ServerResponse,
} from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { WebSocketServer } from "ws";
import type { ConnectionEnds } from "../../base/connection-ends.ts";
import type { RefusalCause, RefusedConnection } from "../../base/refused-connection.ts";
import { socketUrl } from "../../base/socket-url.ts";
import { MAX_FRAME_BYTES, MAX_MESSAGE_BYTES } from "../../protocol/wire-limits.ts";
import { type PendingLimits, PendingSockets } from "./pending-sockets.ts";
import { installFastPath } from "./fast-path.ts";
import { addressOf, formatHost } from "./socket-address.ts";
import type { Transport } from "../transport.ts";
import { bindUnixSocket } from "./unix-socket.ts";
import { CLOSING, WebSocketTransport } from "./websocket.ts";

/** A half-open peer is detected after about this long, so that its session can be resumed. */
const TCP_KEEP_ALIVE_MS = 15_000;
/** Time a refused peer has to read the reason. */
const LINGER_MS = 1_000;

/** A listening server. */
export interface WebSocketListener {
  /** The URL for clients, with the port actually bound: `ws://127.0.0.1:38977`, or `ws+unix:///run/exec.sock`. */
  readonly url: string;
  /** Stops accepting. Existing connections continue. */
  close(): Promise<void>;
}

/** Where to listen: an address, or the path of a Unix socket. */
export type ListenPlace = { readonly host: string; readonly port: number } | { readonly path: string };

/** Where to listen, and whom to admit. */
export type ListenOptions<Credential = unknown> = ListenPlace & AdmissionOptions<Credential>;

/** What a peer shows when it connects. */
interface PresentedCredentials {
  /** Its Authorization header. */
  readonly authorization: string | undefined;
  /** Its address. */
  readonly from: string;
}

/** Whom to admit. `PendingLimits` limits sockets that are not connections yet. */
export interface AdmissionOptions<Credential = unknown> extends PendingLimits {
  /**
   * Checks what the peer of an upgrade shows; resolves with the reason of a refusal, which is answered with 401, or with
   * what `accept` is given. Without it, everyone is admitted.
   */
  authenticate?(
    presented: PresentedCredentials,
  ): Promise<{ readonly refusal: string } | { readonly credential: Credential }>;
  /** Why the holder of the other end must not connect, if so; the answer is then 403. Not called for Unix sockets. */
  exclude?(ends: ConnectionEnds): Promise<string | undefined> | undefined;
  /** Why no further connection is accepted, if so; the answer is then 503. */
  refuse?(): string | undefined;
  /** Called for each upgrade that is turned away. */
  refused?(connection: RefusedConnection): void;
  /** Maximum message length. Default and maximum: the limit of the wire. */
  readonly maxMessageBytes?: number;
  /** Also gets the result of `authenticate`, if there is one. */
  accept(transport: Transport, credential: Credential | undefined): void;
}

/** Serves WebSockets on `/`, and answers plain HTTP requests for probes and stray browsers. */
export async function listenWebSocket<Credential = unknown>(
  options: ListenOptions<Credential>,
): Promise<WebSocketListener> {
  const maxMessageBytes = Math.min(options.maxMessageBytes ?? MAX_MESSAGE_BYTES, MAX_MESSAGE_BYTES);
  const webSockets = new WebSocketServer({
    noServer: true,
    perMessageDeflate: false,
    clientTracking: false,
    maxPayload: maxMessageBytes,
    ...CLOSING,
    // Offered subprotocols are ignored: none is ever selected.
    handleProtocols: () => false,
  });
  const pending = new PendingSockets(options);
  const http = createServer({ keepAlive: true, keepAliveInitialDelay: TCP_KEEP_ALIVE_MS, noDelay: true });
  http.on("connection", (socket) => pending.admit(socket));
  http.on("request", (request, response) => {
    // A body that continues after the answer gets no more time.
    response.once("close", () => request.complete && pending.renew(request.socket));
    answer(request, response);
  });
  http.on("upgrade", (request: IncomingMessage, socket: Socket, head: Buffer) => {
    socket.on("error", destroyThis);
    const turnAway = (refusal: Refusal): void => {
      const reason = refusal.body === "" ? (STATUS_TEXTS[refusal.status] ?? "") : refusal.body;
      options.refused?.({ cause: refusal.cause, reason, from: addressOf(socket) });
      answerAndEnd(formatRefusal(refusal));
    };
    const answerAndEnd = (text: string): void => {
      pending.renew(socket, LINGER_MS);
      // Unread bytes would turn the end into a reset, and the peer could lose the answer.
      socket.resume();
      socket.end(text);
    };
    const refusal = refuse(request);
    if (refusal === undefined && pathOf(request) === "/readyz") {
      answerAndEnd("HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
      return;
    }
    const refused = refusal ?? refuseUpgrade(request);
    if (refused !== undefined) {
      turnAway(refused);
      return;
    }
    const decide = ({ refusal, credential }: Examined<Credential>): void => {
      if (socket.destroyed) return;
      // Checked in the same step in which the connection is accepted, so that two cannot take the last slot.
      const full = options.refuse?.();
      if (refusal !== undefined) turnAway(refusal);
      else if (full !== undefined) turnAway({ cause: "limit", status: 503, body: full });
      else upgrade(request, socket, head, credential);
    };
    const examined = examine(socket, request.headers.authorization, options);
    if (examined === undefined) decide({});
    else
      examined.then(decide, () =>
        turnAway({ cause: "login", status: 503, body: "authentication is not possible now" }),
      );
  });

  function upgrade(
    request: IncomingMessage,
    socket: Socket,
    head: Buffer,
    credential: Credential | undefined,
  ): void {
    webSockets.handleUpgrade(request, socket, head, (webSocket) => {
      pending.release(socket);
      const transport = new WebSocketTransport(webSocket, socket, {
        side: "server",
        describeSource: () => describeSource(socket),
      });
      installFastPath(webSocket, {
        maxMessageBytes,
        takeSmall: (chunk) => transport.deliverSmall(chunk, maxMessageBytes),
        messageTooLong: () => transport.refuseLongMessage(),
        frameTooLong: () => transport.destroy(`a frame is longer than ${MAX_FRAME_BYTES} bytes`),
      });
      transport.keepAlive();
      options.accept(transport, credential);
    });
  }

  const { url, release } = await bind(http, options);
  // A connection that cannot be accepted for lack of a descriptor is lost; the next one may succeed.
  http.on("error", () => {});
  return {
    url,
    close: () =>
      new Promise((resolve) => {
        // First, so that from now on nobody finds the socket of a server that is about to end.
        release();
        http.close(() => resolve());
        http.closeAllConnections();
        pending.destroyAll();
      }),
  };
}

interface Examined<Credential> {
  readonly refusal?: Refusal;
  readonly credential?: Credential;
}

/** Who connects, and with what right. Undefined if nobody asks. */
function examine<Credential>(
  socket: Socket,
  authorization: string | undefined,
  options: AdmissionOptions<Credential>,
): Promise<Examined<Credential>> | undefined {
  const { remoteAddress, remotePort = 0, localAddress = "", localPort = 0 } = socket;
  const excluded = remoteAddress && options.exclude?.({ remoteAddress, remotePort, localAddress, localPort });
  const authenticated = options.authenticate?.({ authorization, from: addressOf(socket) });
  if (!excluded && authenticated === undefined) return undefined;
  return Promise.all([excluded, authenticated]).then(([forbidden, answer]) => {
    if (forbidden) return { refusal: { cause: "sandbox", status: 403, body: forbidden } };
    if (answer === undefined) return {};
    return "refusal" in answer ? { refusal: { cause: "login", status: 401, body: answer.refusal } } : answer;
  });
}

interface Refusal {
  readonly cause: RefusalCause;
  readonly status: number;
  readonly body: string;
  readonly headers?: Readonly<Record<string, string>>;
}

const STATUS_TEXTS: Readonly<Record<number, string>> = {
  400: "Bad Request",
  401: "Unauthorized",
  403: "Forbidden",
  404: "Not Found",
  405: "Method Not Allowed",
  426: "Upgrade Required",
  503: "Service Unavailable",
};

/** Reasons to refuse any request, upgrade or not. Browsers send an Origin; no page may use this server. */
function refuse(request: IncomingMessage): Refusal | undefined {
  if (request.headers.origin !== undefined) return { cause: "origin", status: 403, body: "" };
  const path = pathOf(request);
  if (path === "/readyz") {
    const known = request.method === "GET" || request.method === "HEAD";
    return known ? undefined : { cause: "request", status: 405, body: "", headers: { allow: "GET,HEAD" } };
  }
  return path === "/" ? undefined : { cause: "request", status: 404, body: "" };
}

function refuseUpgrade(request: IncomingMessage): Refusal | undefined {
  const { headers } = request;
  if (request.method !== "GET")
    return { cause: "request", status: 405, body: "Request method must be `GET`" };
  if (headers.upgrade?.toLowerCase() !== "websocket")
    return { cause: "request", status: 400, body: "`Upgrade` header did not include 'websocket'" };
  if (headers["sec-websocket-version"] !== "13")
    return { cause: "request", status: 400, body: "`Sec-WebSocket-Version` header did not include '13'" };
  if (headers["sec-websocket-key"] === undefined)
    return { cause: "request", status: 400, body: "`Sec-WebSocket-Key` header missing" };
  return undefined;
}

function answer(request: IncomingMessage, response: ServerResponse): void {
  const refusal = refuse(request) ?? (pathOf(request) === "/readyz" ? undefined : refusePlain(request));
  if (refusal === undefined) {
    response.writeHead(200).end();
    return;
  }
  const type = refusal.body === "" ? {} : { "content-type": "text/plain; charset=utf-8" };
  response.writeHead(refusal.status, { ...type, ...refusal.headers }).end(refusal.body);
}

function refusePlain(request: IncomingMessage): Refusal {
  if (request.method !== "GET")
    return { cause: "request", status: 405, body: "Request method must be `GET`" };
  const asksForUpgrade = /\bupgrade\b/i.test(request.headers.connection ?? "");
  return {
    cause: "request",
    status: 400,
    body: asksForUpgrade
      ? "`Upgrade` header did not include 'websocket'"
      : "Connection header did not include 'upgrade'",
  };
}

function formatRefusal({ status, body, headers }: Refusal): string {
  const lines = [
    `HTTP/1.1 ${status} ${STATUS_TEXTS[status] ?? ""}`,
    `content-length: ${Buffer.byteLength(body)}`,
  ];
  if (body !== "") lines.push("content-type: text/plain; charset=utf-8");
  for (const [name, value] of Object.entries(headers ?? {})) lines.push(`${name}: ${value}`);
  return `${lines.join("\r\n")}\r\nconnection: close\r\n\r\n${body}`;
}

function pathOf(request: IncomingMessage): string {
  return request.url?.split("?", 1)[0] ?? "/";
}

function destroyThis(this: Socket): void {
  this.destroy();
}

function describeSource(socket: Socket): string {
  return `websocket JSON-RPC message from exec-server websocket ${addressOf(socket)}`;
}

/** `release` removes what the server leaves in its place. */
async function bind(http: HttpServer, place: ListenPlace): Promise<{ url: string; release: () => void }> {
  if ("path" in place) return { url: socketUrl(place.path), release: await bindUnixSocket(http, place.path) };
  await new Promise<void>((resolve, reject) => {
    http.once("error", reject);
    http.listen({ host: place.host, port: place.port }, () => {
      http.off("error", reject);
      resolve();
    });
  });
  const { address, port } = http.address() as AddressInfo;
  return { url: `ws://${formatHost(address)}:${port}`, release: () => {} };
}

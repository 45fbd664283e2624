import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo, Server, Socket } from "node:net";
import { hostname } from "node:os";
import { socketUrl } from "../../base/socket-url.ts";
import { pathOf, type Refusal, refusePlain } from "./http-refusal.ts";
import { ownHosts } from "./own-hosts.ts";
import { type PendingLimits, PendingSockets } from "./pending-sockets.ts";
import { type RequestRules, refuseRequest } from "./request-rules.ts";
import { formatHost, TCP_OPTIONS } from "./socket-address.ts";
import { type TlsMaterial, tlsFront, type TlsOptions } from "./tls-front.ts";
import { bindUnixSocket } from "./unix-socket.ts";
import { turnAwayFrom, type UpgradeOptions, upgrades } from "./websocket-upgrade.ts";

/** A listening server. */
export interface WebSocketListener {
  /** The URL for clients, with the port actually bound: `ws://127.0.0.1:38977`, or `ws+unix:///run/exec.sock`. */
  readonly url: string;
  /** Uses other certificates for new connections. Throws if they do not fit; those before then stay. */
  renewTls(material: TlsMaterial): void;
  /** Stops accepting. Existing connections continue. */
  close(): Promise<void>;
}

/** Where to listen: an address, with or without TLS, or the path of a Unix socket. */
export type ListenPlace =
  | { readonly host: string; readonly port: number; readonly tls?: TlsOptions | undefined }
  | { readonly path: string };

/** Where to listen, and whom to admit. */
export type ListenOptions<Credential = unknown> = ListenPlace & AdmissionOptions<Credential>;

/** Whom to admit. `PendingLimits` limits sockets that are not connections yet. */
export interface AdmissionOptions<Credential = unknown> extends UpgradeOptions<Credential>, PendingLimits {
  /**
   * Names by which clients reach the server besides its address and those of loopback, such as that of a proxy. A request
   * for any other host is refused.
   */
  readonly publicHosts?: readonly string[] | undefined;
  /** Origins whose pages may connect, such as `https://example.com`. Default: none. */
  readonly allowedOrigins?: readonly string[] | undefined;
}

/** Serves WebSockets on `/`, and answers plain HTTP requests for probes and stray browsers. */
export async function listenWebSocket<Credential = unknown>(
  options: ListenOptions<Credential>,
): Promise<WebSocketListener> {
  const pending = new PendingSockets(options);
  const takeUpgrade = upgrades(options, pending);
  const rules = rulesOf(options);
  const http = createServer(TCP_OPTIONS);
  http.on("request", (request, response) => {
    // A body that continues after the answer gets no more time.
    response.once("close", () => request.complete && pending.renew(request.socket));
    answer(request, response, rules);
  });
  http.on("upgrade", (request: IncomingMessage, socket: Socket, head: Buffer) => {
    socket.on("error", destroyThis);
    const refusal = refuse(request, rules);
    if (refusal !== undefined) turnAwayFrom(socket, refusal, options, pending);
    else if (pathOf(request) === "/readyz") pending.turnAway(socket, READY);
    else takeUpgrade(request, socket, head);
  });
  const tls =
    "host" in options && options.tls ? tlsFront(http, reporting(options.tls, options), pending) : undefined;
  if (tls === undefined) http.on("connection", (socket) => pending.admit(socket));
  const listener = tls?.listener ?? http;
  const { url, release } = await bind(listener, options);
  // A connection that cannot be accepted for lack of a descriptor is lost; the next one may succeed.
  listener.on("error", () => {});
  return {
    url,
    renewTls: (material) => tls?.renew(material),
    close: () =>
      new Promise((resolve) => {
        // First, so that from now on nobody finds the socket of a server that is about to end.
        release();
        listener.close(() => resolve());
        http.closeAllConnections();
        pending.destroyAll();
      }),
  };
}

/** The refusals of TLS are those of the server. */
function reporting(tls: TlsOptions, options: UpgradeOptions): TlsOptions {
  return {
    ...tls,
    refused: (reason, from) => {
      tls.refused?.(reason, from);
      options.refused?.({ cause: "login", reason, from });
    },
  };
}

const READY = "HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";

function rulesOf(options: ListenOptions): RequestRules {
  const allowedOrigins = new Set(options.allowedOrigins);
  if ("path" in options) return { isOwnHost: undefined, allowedOrigins };
  // No stranger's page is served under the machine's own name.
  const names = [...(options.publicHosts ?? []), hostname()];
  return { isOwnHost: ownHosts({ address: options.host, names }), allowedOrigins };
}

/** Reasons to refuse any request, upgrade or not. */
function refuse(request: IncomingMessage, rules: RequestRules): Refusal | undefined {
  const refusal = refuseRequest(request, rules);
  if (refusal !== undefined) return refusal;
  const path = pathOf(request);
  if (path === "/readyz") {
    const known = request.method === "GET" || request.method === "HEAD";
    return known ? undefined : { cause: "request", status: 405, body: "", headers: { allow: "GET,HEAD" } };
  }
  return path === "/" ? undefined : { cause: "request", status: 404, body: "" };
}

function answer(request: IncomingMessage, response: ServerResponse, rules: RequestRules): void {
  const refusal =
    refuse(request, rules) ?? (pathOf(request) === "/readyz" ? undefined : refusePlain(request));
  if (refusal === undefined) {
    response.writeHead(200).end();
    return;
  }
  const type = refusal.body === "" ? {} : { "content-type": "text/plain; charset=utf-8" };
  response.writeHead(refusal.status, { ...type, ...refusal.headers }).end(refusal.body);
}

function destroyThis(this: Socket): void {
  this.destroy();
}

/** `release` removes what the server leaves in its place. */
async function bind(server: Server, place: ListenPlace): Promise<{ url: string; release: () => void }> {
  if ("path" in place)
    return { url: socketUrl(place.path), release: await bindUnixSocket(server, place.path) };
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen({ host: place.host, port: place.port }, () => {
      server.off("error", reject);
      resolve();
    });
  });
  const { address, port } = server.address() as AddressInfo;
  return {
    url: `${place.tls === undefined ? "ws" : "wss"}://${formatHost(address)}:${port}`,
    release: () => {},
  };
}

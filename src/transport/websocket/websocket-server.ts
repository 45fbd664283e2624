import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { type AddressInfo, Server, type Socket } from "node:net";
import { hostname } from "node:os";
import { setTimeout as delay } from "node:timers/promises";
import { socketUrl } from "../../base/socket-url.ts";
import { subprotocolAuthorization } from "../../base/subprotocol-token.ts";
import {
  answerPage,
  askerOf,
  type Guests,
  type Page,
  type PageAnswer,
  type Pages,
  refuseMethod,
  sendPlain,
  type Site,
  report,
  withProbes,
} from "./http-pages.ts";
import { answerEndpoint, type Endpoints } from "./http-endpoint.ts";
import { formatRefusal, pathOf, type Refusal, refusePlain } from "./http-refusal.ts";
import { ownHosts } from "./own-hosts.ts";
import { type PendingOptions, PendingSockets } from "./pending-sockets.ts";
import { RequestTurns } from "./request-turns.ts";
import { isOwnPage, type RequestRules, refuseRequest } from "./request-rules.ts";
import { formatHost, TCP_OPTIONS } from "./socket-address.ts";
import { type TlsMaterial, tlsFront, type TlsOptions } from "./tls-front.ts";
import { bindUnixSocket } from "./unix-socket.ts";
import { askUnixHolder, turnAwayFrom, type UpgradeOptions, upgrades } from "./websocket-upgrade.ts";

const LEAVE_MS = 5_000;
const LEAVE_CHECK_MS = 5;

/** A listening server. */
export interface WebSocketListener {
  /** The URL for clients, with the port actually bound: `ws://127.0.0.1:38977`, or `ws+unix:///run/exec.sock`. */
  readonly url: string;
  /** Uses other certificates for new connections. Throws if they do not fit; those before then stay. */
  renewTls(material: TlsMaterial): void;
  /**
   * Stops accepting, and resolves when those who have connected are clients or were refused, or after a moment. For a
   * socket on which another program goes on to listen.
   */
  leave(): Promise<void>;
  /** Stops accepting. Existing connections continue. */
  close(): Promise<void>;
}

/** Where to listen: an address, with or without TLS, or the path of a Unix socket. */
export type ListenPlace =
  | {
      readonly host: string;
      readonly port: number;
      /** A socket that listens there already. */
      readonly fd?: number;
      readonly tls?: TlsOptions | undefined;
    }
  | { readonly path: string };

/** Listen address and admission rules. */
export type ListenOptions<Credential = unknown> = ListenPlace & AdmissionOptions<Credential>;

/** Admission rules. `PendingOptions` are about sockets that are not connections yet. */
export interface AdmissionOptions<Credential = unknown> extends UpgradeOptions<Credential>, PendingOptions {
  /**
   * Names with which clients reach the server, besides its address and those of loopback, such as a proxy's. A request
   * for any other host is refused.
   */
  readonly publicHosts?: readonly string[] | undefined;
  /** Origins whose pages may connect, such as `https://example.com`. Default: none. */
  readonly allowedOrigins?: readonly string[] | undefined;
  /** Whether the server is ready to serve, for its probe. Default: whether it admits clients. */
  readonly isReady?: (() => boolean) | undefined;
  /** Other paths that are served, besides probes. */
  readonly pages?: Pages | undefined;
  readonly endpoints?: Endpoints | undefined;
  /** The server's own web site, whose pages may connect if `authenticatePage` admits them. */
  readonly site?: Site | undefined;
}

/** Serves WebSockets on `/`, and answers plain HTTP requests for probes and stray browsers. */
export async function listenWebSocket<Credential = unknown>(
  options: ListenOptions<Credential>,
): Promise<WebSocketListener> {
  const pending = new PendingSockets(options);
  const takeUpgrade = upgrades(options, pending);
  const rules = rulesOf(options);
  const isReady = options.isReady ?? (() => options.refuse?.(undefined) === undefined);
  const pages = withProbes(options.pages, isReady);
  const turns = new RequestTurns();
  const guests = options.site?.guests;
  const answerGuest = (to: Guests, request: IncomingMessage, response: ServerResponse): void => {
    const { socket } = request;
    pending.release(socket);
    response.once("close", () => {
      if (socket.destroyed) return;
      pending.admit(socket);
      pending.asked(socket);
    });
    to.answer(request, response, askerOf(request, false, options)).catch(() => response.destroy());
  };
  const upgradeGuest = (to: Guests, request: IncomingMessage, socket: Socket, head: Buffer): void => {
    pending.release(socket);
    const turnAway = (refusal: Refusal): void => {
      if (socket.destroyed) return;
      pending.admit(socket);
      pending.turnAway(socket, formatRefusal(refusal));
    };
    to.upgrade(request, socket, head).then(
      (refusal) => refusal && turnAway(refusal),
      () => socket.destroy(),
    );
  };
  const http = createServer(TCP_OPTIONS);
  http.on("request", (request, response) => {
    pending.asked(request.socket);
    // More requests may have arrived with one too many.
    if (request.socket.destroyed) return;
    if (guests?.covers(request)) {
      turns.take(request.socket, response, () => answerGuest(guests, request, response));
      return;
    }
    const fail = (): void => {
      if (!response.headersSent) sendPlain(response, { status: 503, body: "not possible right now" });
    };
    const endpoint = options.endpoints?.get(pathOf(request));
    // A body that continues after the answer gets no more time.
    response.once("close", () => request.complete && pending.renew(request.socket));
    if (endpoint !== undefined) {
      turns.take(request.socket, response, () => {
        answerEndpoint(endpoint, request, response, { rules, options, pending }).catch(fail);
      });
      return;
    }
    const page = pages.get(pathOf(request));
    const site = page === undefined && options.site?.covers(request) === true ? options.site : undefined;
    const refusal =
      site === undefined
        ? (refuse(request, rules, page) ?? (page === undefined ? refusePlain(request) : undefined))
        : refuseRequest(request, rules, true);
    const answer = (): Promise<void> | undefined =>
      site?.answer(request, response, askerOf(request, isOwnPage(request, rules), options)) ??
      (page && answerPage(page, request, response, options));
    turns.take(request.socket, response, () => {
      if (refusal !== undefined) {
        // A foreign page or host name is worth logging; a missing path is not.
        if (refusal.cause !== "request") report(request, refusal, options);
        sendPlain(response, refusal);
      } else answer()?.catch(fail);
    });
  });
  http.on("upgrade", (request: IncomingMessage, socket: Socket, head: Buffer) => {
    socket.on("error", destroyThis);
    pending.asked(socket);
    if (guests?.covers(request)) {
      upgradeGuest(guests, request, socket, head);
      return;
    }
    const page = pages.get(pathOf(request));
    // Without a token, its own page is refused like any other: nothing else distinguishes it from other programs in a
    // browser.
    const from =
      page === undefined && isOwnPage(request, rules) && showsToken(request) ? "own-page" : undefined;
    const refusal = refuse(request, rules, page, from);
    if (refusal !== undefined) turnAwayFrom(socket, refusal, options, pending);
    else if (page === undefined) takeUpgrade(request, socket, head, from);
    else answerUpgrade(page, socket, pending);
  });
  const tls =
    "host" in options && options.tls ? tlsFront(http, reporting(options.tls, options), pending) : undefined;
  if (tls === undefined) http.on("connection", (socket) => pending.admit(socket));
  if ("path" in options) http.on("connection", (socket) => void askUnixHolder(socket, options));
  const listener = tls?.listener ?? http;
  const { url, release } = await bind(listener, options);
  // A connection that cannot be accepted for lack of a descriptor is lost; the next one may succeed. libuv closes most of
  // them by itself, without a word.
  listener.on("error", ({ code, message }: NodeJS.ErrnoException) =>
    options.failed?.(`cannot accept (${code ?? message})`, undefined),
  );
  return {
    url,
    renewTls: (material) => tls?.renew(material),
    leave: async () => {
      // That of HTTP would also cut those who have not asked yet.
      Server.prototype.close.call(listener);
      const deadline = performance.now() + LEAVE_MS;
      while (pending.size > 0 && performance.now() < deadline) await delay(LEAVE_CHECK_MS);
    },
    close: () =>
      new Promise((resolve) => {
        // First, so that new clients do not find the socket of a server that is about to end.
        release();
        listener.close(() => resolve());
        http.closeAllConnections();
        pending.destroyAll();
      }),
  };
}

/** TLS refusals are reported like the server's own. */
function reporting(tls: TlsOptions, options: UpgradeOptions): TlsOptions {
  return {
    ...tls,
    refused: (reason, from) => {
      tls.refused?.(reason, from);
      options.refused?.({ cause: "login", reason, from });
    },
  };
}

const NOT_FOUND: Refusal = { cause: "request", status: 404, body: "" };

/** A probe may ask for an upgrade; such a request never gets a protected page. */
function answerUpgrade(page: Page, socket: Socket, pending: PendingSockets): void {
  const answer = page.isProtected ? { status: 401 } : page.answer();
  const send = ({ status, body = "" }: PageAnswer): void =>
    pending.turnAway(socket, formatRefusal({ status, body }));
  if (answer instanceof Promise) answer.then(send, () => send({ status: 503 }));
  else send(answer);
}

function rulesOf(options: ListenOptions): RequestRules {
  const allowedOrigins = new Set(options.allowedOrigins);
  // Browsers cannot reach a Unix socket.
  if ("path" in options) return { isOwnHost: undefined, allowedOrigins };
  const ownOrigins = options.site && new Set(options.site.origins);
  // No page of another origin is served under the machine's own name.
  const names = [...(options.publicHosts ?? []), hostname()];
  return { isOwnHost: ownHosts({ address: options.host, names }), allowedOrigins, ownOrigins };
}

/** Reasons to refuse any request, upgrade or not. */
function refuse(
  request: IncomingMessage,
  rules: RequestRules,
  page: Page | undefined,
  from?: "own-page",
): Refusal | undefined {
  const refusal = refuseRequest(request, rules, from === "own-page");
  if (refusal !== undefined) return refusal;
  if (page !== undefined) return refuseMethod(request);
  return pathOf(request) === "/" ? undefined : NOT_FOUND;
}

function showsToken({ headers }: IncomingMessage): boolean {
  return subprotocolAuthorization(headers["sec-websocket-protocol"]) !== undefined;
}

function destroyThis(this: Socket): void {
  this.destroy();
}

/** `release` removes what the server leaves in its place. */
async function bind(server: Server, place: ListenPlace): Promise<{ url: string; release: () => void }> {
  if ("path" in place)
    return { url: socketUrl(place.path), release: await bindUnixSocket(server, place.path) };
  server.listen(place.fd === undefined ? { host: place.host, port: place.port } : { fd: place.fd });
  await once(server, "listening");
  const { address, port } = server.address() as AddressInfo;
  return {
    url: `${place.tls === undefined ? "ws" : "wss"}://${formatHost(address)}:${port}`,
    release: () => {},
  };
}

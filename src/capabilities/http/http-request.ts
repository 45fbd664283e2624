import type { Socket } from "node:net";
import { CapabilityError } from "../../base/errors.ts";
import { ConnectionPool } from "./connection-pool.ts";
import { type BodySink, type Carrier, Exchange } from "./exchange.ts";
import { findProxy } from "./proxy.ts";
import { nextHop } from "./redirect.ts";
import type { ResponseHead } from "./response-head.ts";
import { openTunnel } from "./tunnel.ts";
import {
  endpointOf,
  openConnection,
  openConnectionThrough,
  type UpstreamConnection,
} from "./upstream-connection.ts";
import { inGroups, type WrittenRequest, writeRequest } from "./written-request.ts";

export type Header = readonly [name: string, value: string];

export interface HttpRequest {
  readonly method: string;
  readonly url: URL;
  /** In the order they are sent; repeats follow the first of their name. */
  readonly headers: readonly Header[];
  readonly body: Uint8Array | undefined;
}

export interface HttpResponse {
  readonly status: number;
  /** In the order they came, names in lower case; repeats follow the first of their name. */
  readonly headers: readonly Header[];
  /** Hands over the body as it came: nothing is decompressed. To be called once. */
  readBody(sink: BodySink): void;
  /** Makes the upstream server wait, and go on. */
  pause(): void;
  resume(): void;
}

/** Ends a request before its time. One listener is all it takes, and costs less than an AbortSignal. */
export interface Abortion {
  readonly aborted: boolean;
  onAbort: (() => void) | undefined;
}

export interface SendOptions {
  readonly followRedirects: boolean;
  readonly abortion: Abortion;
  /** Names the proxies of the machine. */
  readonly environment: Readonly<Record<string, string | undefined>>;
}

export const MAX_REDIRECTS = 10;
/** Methods that may be sent twice, because the second time changes nothing. */
const IDEMPOTENT: ReadonlySet<string> = new Set(["GET", "HEAD", "OPTIONS", "TRACE", "PUT", "DELETE"]);
const VISIBLE_ASCII = /^[\t\x20-\x7e]*$/;

const pool = new ConnectionPool();

/** Sends a request and returns when the headers of the final response are there. Aborting also ends its body. */
export async function sendHttpRequest(request: HttpRequest, options: SendOptions): Promise<HttpResponse> {
  let current = withUrlCredentials(request);
  for (let redirects = 0; ; redirects += 1) {
    const response = await sendOnce(current, options);
    const next = options.followRedirects ? nextHop(current, response) : undefined;
    if (next === undefined) return response;
    discardBody(response);
    if (redirects === MAX_REDIRECTS) throw new CapabilityError("OS_ERROR", "too many redirects");
    current = next;
  }
}

/** A name and password in the URL are basic authorization, unless there is another. */
function withUrlCredentials(request: HttpRequest): HttpRequest {
  if (request.url.username === "" && request.url.password === "") return request;
  const url = new URL(request.url);
  url.username = "";
  url.password = "";
  if (request.headers.some(([name]) => name.toLowerCase() === "authorization")) return { ...request, url };
  return {
    ...request,
    url,
    headers: [...request.headers, ["authorization", basic(request.url)]],
  };
}

function basic({ username, password }: URL): string {
  return `Basic ${Buffer.from(`${decodeURIComponent(username)}:${decodeURIComponent(password)}`).toString("base64")}`;
}

/** Reads a body to its end for nobody, so that its connection can serve another request. */
function discardBody(response: HttpResponse): void {
  response.readBody({ data: () => {}, end: () => {} });
}

function sendOnce(request: HttpRequest, { abortion, environment }: SendOptions): Promise<HttpResponse> {
  return new Promise((resolve, reject) => {
    const fail = (cause: unknown): void =>
      reject(
        cause instanceof CapabilityError
          ? cause
          : new CapabilityError("OS_ERROR", `error sending request for url (${request.url.href})`, { cause }),
      );
    const attempt = (route: Route, idle: UpstreamConnection | undefined): void => {
      const failed = (cause: Error): void => {
        // The server may have closed an idle connection just when it was used again.
        const mayRepeat = idle !== undefined && exchange.untouched && IDEMPOTENT.has(request.method);
        if (mayRepeat && !abortion.aborted) attempt(route, undefined);
        else fail(cause);
      };
      const exchange = new Exchange((head) => resolve(toResponse(head, exchange)), failed);
      abortion.onAbort = () => exchange.abort(aborted());
      start(exchange, route, idle);
    };
    try {
      if (abortion.aborted) throw aborted();
      const route = routeTo(request, environment);
      attempt(route, pool.take(route.key));
    } catch (error) {
      fail(error);
    }
  });
}

function aborted(): Error {
  return new Error("the request was aborted");
}

/** How a request leaves the machine. */
interface Route {
  /** Requests with the same key can share a connection. */
  readonly key: string;
  readonly written: WrittenRequest;
  /** What the connection leads to: the server, or a proxy that is asked for the whole URL. */
  readonly url: URL;
  /** A proxy that gives a tunnel to the server. */
  readonly tunnel?: URL;
}

function routeTo(request: HttpRequest, environment: SendOptions["environment"]): Route {
  const { url } = request;
  const proxy = findProxy(url, environment);
  if (proxy === undefined)
    return { key: url.origin, url, written: writeRequest(request, url.pathname + url.search) };
  // Another way than the one the machine asks for would be a way round it.
  if (proxy.protocol !== "http:" && proxy.protocol !== "https:")
    throw new CapabilityError(
      "UNSUPPORTED",
      `proxies of the kind ${proxy.protocol.slice(0, -1)} are not supported`,
    );
  if (url.protocol === "https:")
    return {
      key: `${proxy.href} ${url.origin}`,
      url,
      tunnel: proxy,
      written: writeRequest(request, url.pathname + url.search),
    };
  const written = writeRequest(request, url.href.replace(/#.*$/, ""), proxyCredentials(proxy));
  return { key: `${proxy.origin} `, url: proxy, written };
}

function proxyCredentials(proxy: URL): Header[] {
  return proxy.username === "" ? [] : [["proxy-authorization", basic(proxy)]];
}

function start(
  exchange: Exchange,
  { key, url, tunnel, written }: Route,
  idle: UpstreamConnection | undefined,
): void {
  const carry = (connection: UpstreamConnection): void =>
    connection.carry(exchange, written, (promisedMs) => pool.give(key, connection, promisedMs));
  const carryBy = (open: (ended: () => void) => UpstreamConnection): void => {
    const connection = open(() => pool.drop(connection));
    carry(connection);
  };
  if (idle !== undefined) carry(idle);
  else if (tunnel === undefined) carryBy((ended) => openConnection(endpointOf(url), ended));
  else
    openTunnel(endpointOf(tunnel), `${url.hostname}:${endpointOf(url).port}`, {
      headers: proxyCredentials(tunnel),
      opened: (socket) => exchange.carriedBy(carrierOf(socket)),
    }).then(
      (socket) => carryBy((ended) => openConnectionThrough(socket, endpointOf(url), ended)),
      (error: Error) => exchange.fail(error),
    );
}

/** Nothing flows while a tunnel is being opened; it can only be given up. */
function carrierOf(socket: Socket): Carrier {
  return { pause: () => {}, resume: () => {}, destroy: () => socket.destroy() };
}

function toResponse({ status, headers }: ResponseHead, exchange: Exchange): HttpResponse {
  return {
    status,
    // Values that are not visible ASCII have no faithful text and are left out.
    headers: inGroups(headers.filter(([, value]) => VISIBLE_ASCII.test(value))),
    readBody: (sink) => exchange.readBody(sink),
    pause: () => exchange.pause(),
    resume: () => exchange.resume(),
  };
}

import { CapabilityError } from "../../base/errors.ts";
import { shorten } from "../../base/shorten.ts";
import { ConnectionPool } from "./connection-pool.ts";
import { toDispatch } from "./dispatched-request.ts";
import { Exchange, type ResponseHead } from "./exchange.ts";
import { inGroups, urlCredentials } from "./header.ts";
import type { HttpRequest, HttpResponse } from "./http-message.ts";
import { nextHop } from "./redirect.ts";
import { type Route, routeTo } from "./route.ts";
import { sendFailure } from "./send-failure.ts";
import { loadClient, type UndiciClientConstructor } from "./undici.ts";
import { UpstreamConnection } from "./upstream-connection.ts";

/** Cancels a request. It supports a single listener, and costs less than an AbortSignal. */
export interface Abortion {
  readonly aborted: boolean;
  /** The time limit has passed, whether or not its timer could say so. */
  readonly expired: boolean;
  onAbort: (() => void) | undefined;
}

export interface SendOptions {
  readonly followRedirects: boolean;
  readonly abortion: Abortion;
  /** Defines the machine's proxies. */
  readonly environment: Readonly<Record<string, string | undefined>>;
}

const MAX_REDIRECTS = 10;
/** Idempotent methods, which may be sent twice. */
const IDEMPOTENT: ReadonlySet<string> = new Set(["GET", "HEAD", "OPTIONS", "TRACE", "PUT", "DELETE"]);
/** Maximum length of a URL in bytes, as in Codex. */
const MAX_URL_LENGTH = 65_534;
const VISIBLE_ASCII = /^[\t\x20-\x7e]*$/;

const pool = new ConnectionPool();

/** Sends a request and resolves when the headers of the final response have arrived. Aborting also ends its body. */
export async function sendHttpRequest(request: HttpRequest, options: SendOptions): Promise<HttpResponse> {
  const Client = await loadClient();
  let current = withUrlCredentials(request);
  for (let redirects = 0; ; redirects += 1) {
    const { head, exchange } = await sendOnce(Client, current, options);
    const response = toResponse(head, exchange);
    const next = options.followRedirects ? nextHop(current, response) : undefined;
    if (next === undefined) return response;
    discardBody(exchange);
    if (redirects === MAX_REDIRECTS) throw new CapabilityError("OS_ERROR", "too many redirects");
    current = next;
  }
}

export function urlTooLong(url: string): CapabilityError {
  return new CapabilityError("OS_ERROR", `builder error for url (${shorten(url)})`);
}

/** User and password in the URL become basic authorization, unless the request has its own. */
function withUrlCredentials(request: HttpRequest): HttpRequest {
  const credentials = urlCredentials(request.url);
  const url = new URL(request.url);
  url.username = "";
  url.password = "";
  if (credentials === undefined || request.headers.some(([name]) => name.toLowerCase() === "authorization"))
    return { ...request, url };
  return { ...request, url, headers: [...request.headers, ["authorization", credentials]] };
}

/**
 * Skips a body if it has arrived completely; otherwise closes its connection, because the remaining length is unknown.
 */
function discardBody(exchange: Exchange): void {
  exchange.readBody({ data: () => {}, end: () => {} });
  exchange.abort(new Error("the body is not wanted"));
}

function sendOnce(
  Client: UndiciClientConstructor,
  request: HttpRequest,
  { abortion, environment }: SendOptions,
): Promise<{ head: ResponseHead; exchange: Exchange }> {
  return new Promise((resolve, reject) => {
    const fail = (cause: unknown): void =>
      reject(cause instanceof CapabilityError ? cause : sendFailure(request.url, cause));
    const attempt = (route: Route, mayBeIdle: boolean): void => {
      // Before taking a connection: it throws for invalid requests.
      const dispatched = toDispatch(request, route);
      const idle = mayBeIdle ? pool.take(route.key) : undefined;
      const connection = idle ?? new UpstreamConnection(Client, route, (ended) => pool.drop(ended));
      const exchange = new Exchange({
        head: (head) => {
          if (!abortion.expired) {
            resolve({ head, exchange });
            return;
          }
          exchange.abort(aborted());
          fail(aborted());
        },
        failed: (cause) => {
          // The server may have closed an idle connection just as it was reused.
          const mayRepeat = idle !== undefined && exchange.untouched && IDEMPOTENT.has(request.method);
          if (mayRepeat && !abortion.aborted) attempt(route, false);
          else fail(cause);
        },
        complete: () => {
          if (connection.release()) pool.give(route.key, connection);
        },
        broken: () => connection.destroy(),
      });
      abortion.onAbort = () => exchange.abort(aborted());
      connection.carry(exchange, dispatched);
    };
    try {
      // Nothing is sent once the time is over, not even after a redirect that came in time. The words are Codex's.
      if (abortion.expired) throw new CapabilityError("TIMED_OUT", "route-aware request timed out");
      if (abortion.aborted) throw aborted();
      if (request.url.href.length > MAX_URL_LENGTH) throw urlTooLong(request.url.href);
      attempt(routeTo(request.url, environment), true);
    } catch (error) {
      fail(error);
    }
  });
}

function aborted(): Error {
  return new Error("the request was aborted");
}

function toResponse({ status, headers }: ResponseHead, exchange: Exchange): HttpResponse {
  return {
    status,
    // Values that are not visible ASCII have no faithful text and are dropped.
    headers: inGroups(headers.filter(([, value]) => VISIBLE_ASCII.test(value))),
    readBody: (sink) => exchange.readBody(sink),
    pause: () => exchange.pause(),
    resume: () => exchange.resume(),
  };
}

import { CapabilityError } from "../../base/errors.ts";
import { shorten } from "../../base/shorten.ts";
import { ConnectionPool } from "./connection-pool.ts";
import { toDispatch } from "./dispatched-request.ts";
import { Exchange, type ResponseHead } from "./exchange.ts";
import { inGroups, urlCredentials } from "./header.ts";
import type { HttpRequest, HttpResponse } from "./http-message.ts";
import { nextHop } from "./redirect.ts";
import { type Route, routeTo } from "./route.ts";
import { loadClient, type UndiciClientConstructor } from "./undici.ts";
import { UpstreamConnection } from "./upstream-connection.ts";

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
/** Bytes of a URL, as for the real server. */
const MAX_URL_LENGTH = 65_534;
const VISIBLE_ASCII = /^[\t\x20-\x7e]*$/;

const pool = new ConnectionPool();

/** Sends a request and returns when the headers of the final response are there. Aborting also ends its body. */
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

/** A URL that is too long to be sent. */
export function urlTooLong(url: string): CapabilityError {
  return new CapabilityError("OS_ERROR", `builder error for url (${shorten(url)})`);
}

/** A name and password in the URL are basic authorization, unless there is another. */
function withUrlCredentials(request: HttpRequest): HttpRequest {
  const credentials = urlCredentials(request.url);
  const url = new URL(request.url);
  url.username = "";
  url.password = "";
  if (credentials === undefined || request.headers.some(([name]) => name.toLowerCase() === "authorization"))
    return { ...request, url };
  return { ...request, url, headers: [...request.headers, ["authorization", credentials]] };
}

/** Passes over a body, if all of it is there; otherwise its connection ends, because nobody knows how long it is. */
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
      reject(
        cause instanceof CapabilityError
          ? cause
          : new CapabilityError("OS_ERROR", `error sending request for url (${request.url.href})`, { cause }),
      );
    const attempt = (route: Route, mayBeIdle: boolean): void => {
      // Before a connection is taken: it throws for what cannot be sent.
      const dispatched = toDispatch(request, route);
      const idle = mayBeIdle ? pool.take(route.key) : undefined;
      const connection = idle ?? new UpstreamConnection(Client, route, (ended) => pool.drop(ended));
      const exchange = new Exchange({
        head: (head) => resolve({ head, exchange }),
        failed: (cause) => {
          // The server may have closed an idle connection just when it was used again.
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
    // Values that are not visible ASCII have no faithful text and are left out.
    headers: inGroups(headers.filter(([, value]) => VISIBLE_ASCII.test(value))),
    readBody: (sink) => exchange.readBody(sink),
    pause: () => exchange.pause(),
    resume: () => exchange.resume(),
  };
}

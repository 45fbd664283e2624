import { CapabilityError, type ErrorCode } from "../../base/errors.ts";
import { shorten } from "../../base/shorten.ts";
import { toDispatch } from "./dispatched-request.ts";
import { Exchange, type HttpRequest, type HttpResponse, type ResponseHead } from "./exchange.ts";
import { inGroups, urlCredentials } from "./header.ts";
import { nextHop } from "./redirect.ts";
import { type Route, routeTo } from "./route.ts";
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

const MAX_IDLE_CONNECTIONS = 256;
/** Meaning of socket and name lookup errors. */
const CODES: Readonly<Record<string, ErrorCode>> = {
  ECONNREFUSED: "CONNECTION_REFUSED",
  ENOTFOUND: "UNKNOWN_HOST",
  EAI_AGAIN: "UNKNOWN_HOST",
  EAI_NODATA: "UNKNOWN_HOST",
  ETIMEDOUT: "TIMED_OUT",
};

/** Idle connections, by route. Each connection limits its own idle time. */
class ConnectionPool {
  /** Longest idle first. */
  readonly #idle: { readonly key: string; readonly connection: UpstreamConnection }[] = [];

  /** The most recently used connection for that route. */
  take(key: string): UpstreamConnection | undefined {
    const index = this.#idle.findLastIndex((idle) => idle.key === key);
    return index < 0 ? undefined : this.#idle.splice(index, 1)[0]!.connection;
  }

  /** Beyond the limit, closes the connection that has been idle longest. */
  give(key: string, connection: UpstreamConnection): void {
    this.#idle.push({ key, connection });
    if (this.#idle.length > MAX_IDLE_CONNECTIONS) this.#idle[0]!.connection.destroy();
  }

  /** Forgets a connection that has ended. */
  drop(connection: UpstreamConnection): void {
    const index = this.#idle.findIndex((idle) => idle.connection === connection);
    if (index >= 0) this.#idle.splice(index, 1);
  }
}

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
      // Before taking a connection, because it throws for invalid requests.
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
      // Nothing is sent after the deadline, not even after a redirect that arrived in time. The wording is Codex's.
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
    // Values that are not visible ASCII cannot be represented and are dropped.
    headers: inGroups(headers.filter(([, value]) => VISIBLE_ASCII.test(value))),
    readBody: (sink) => exchange.readBody(sink),
    pause: () => exchange.pause(),
    resume: () => exchange.resume(),
  };
}

/** A request that was not sent or not answered. Its message says no more than Codex's; the code does. */
function sendFailure(url: URL, cause: unknown): CapabilityError {
  const errno = errnoOf(cause);
  return new CapabilityError(
    (errno === undefined ? undefined : CODES[errno]) ?? "OS_ERROR",
    `error sending request for url (${url.href})`,
    { cause, errno },
  );
}

/** The underlying system error: a connection wraps it once for undici. Codes of libraries are ignored. */
function errnoOf(error: unknown): string | undefined {
  const { code, cause } = (error ?? {}) as { code?: unknown; cause?: unknown };
  if (typeof code === "string" && /^E(?!RR_)[A-Z0-9_]{1,30}$/.test(code)) return code;
  return cause === undefined || cause === error ? undefined : errnoOf(cause);
}

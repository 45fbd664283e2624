import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { report, sendPlain } from "./http-pages.ts";
import type { Refusal } from "./http-refusal.ts";
import type { PendingSockets } from "./pending-sockets.ts";
import { type RequestRules, refuseRequest } from "./request-rules.ts";
import { examine, type UpgradeOptions } from "./websocket-upgrade.ts";

/** Answers any request on a path, for clients that could connect. */
export interface Endpoint {
  /** Names of request headers that pages of other origins may set. */
  readonly requestHeaders: readonly string[];
  /** Names of response headers that they may read. */
  readonly responseHeaders: readonly string[];
  /** Why a client that could connect may still not use it. */
  refuse(credential: unknown): string | undefined;
  /** Answers a request. How many there may be at once, and for how long, is up to the endpoint. */
  answer(request: IncomingMessage, response: ServerResponse, credential: unknown): Promise<void>;
}

/** Endpoints by path. */
export type Endpoints = ReadonlyMap<string, Endpoint>;

/** The only way to get in. */
const CHALLENGE = { "www-authenticate": "Bearer" };
const OF_HOST: ReadonlySet<string> = new Set();
const METHODS = "GET, POST, DELETE";
/** How long a browser need not ask again. */
const PREFLIGHT_SECONDS = 600;

interface EndpointContext<Credential> {
  readonly rules: RequestRules;
  readonly options: UpgradeOptions<Credential>;
  readonly pending: PendingSockets;
}

/** Checks who sent a request for an endpoint, and has it answered. */
export async function answerEndpoint<Credential>(
  endpoint: Endpoint,
  request: IncomingMessage,
  response: ServerResponse,
  { rules, options, pending }: EndpointContext<Credential>,
): Promise<void> {
  const turnAway = (refusal: Refusal): void => {
    report(request, refusal, options);
    sendPlain(response, refusal);
  };
  // Nobody else can serve a page of this server's own origin.
  const stranger = refuseRequest(request, { ...rules, ownOrigins: rules.ownOrigins ?? OF_HOST }, true);
  if (stranger !== undefined) {
    turnAway(stranger);
    return;
  }
  admitPage(endpoint, request, response);
  // It asks on behalf of a page, and never shows a token.
  if (request.method === "OPTIONS") {
    sendPlain(response, { status: 204, body: "" });
    return;
  }
  const { refusal, credential } = (await examine(request.socket, request, options)) ?? {};
  if (response.destroyed) return;
  const forbidden = refusal === undefined ? endpoint.refuse(credential) : undefined;
  if (refusal !== undefined)
    turnAway(
      refusal.status === 401 ? { ...refusal, headers: { ...refusal.headers, ...CHALLENGE } } : refusal,
    );
  else if (forbidden !== undefined) turnAway({ cause: "request", status: 403, body: forbidden });
  else {
    leavePending(request.socket, response, pending);
    await endpoint.answer(request, response, credential);
  }
}

/** While it is answered, the endpoint limits how long that takes. */
function leavePending(socket: Socket, response: ServerResponse, pending: PendingSockets): void {
  pending.release(socket);
  response.once("close", () => {
    if (socket.destroyed) return;
    pending.admit(socket);
    pending.asked(socket);
  });
}

/** Lets a page of an allowed origin read the answer. */
function admitPage(
  { requestHeaders, responseHeaders }: Endpoint,
  { method, headers: { origin } }: IncomingMessage,
  response: ServerResponse,
): void {
  if (origin === undefined) return;
  response.setHeader("access-control-allow-origin", origin);
  response.setHeader("vary", "origin");
  response.setHeader("access-control-expose-headers", responseHeaders.join(", "));
  if (method !== "OPTIONS") return;
  response.setHeader("access-control-allow-methods", METHODS);
  response.setHeader("access-control-allow-headers", requestHeaders.join(", "));
  response.setHeader("access-control-max-age", PREFLIGHT_SECONDS);
}

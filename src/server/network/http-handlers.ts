import { invalidParams } from "../wire/refusals.ts";
import { base64Length } from "../../capabilities/base64-into.ts";
import { decodeBase64 } from "../../base/base64.ts";
import { CapabilityError, RpcError } from "../../base/errors.ts";
import type { Header } from "../../capabilities/http/header.ts";
import { readHeaderVariable } from "../../capabilities/http/header-values.ts";
import type { HttpRequest, HttpResponse } from "../../capabilities/http/exchange.ts";
import { sendHttpRequest, urlTooLong } from "../../capabilities/http/http-request.ts";
import type { Environment } from "../../capabilities/process/env-policy.ts";
import { RpcCode } from "../../protocol/errors.ts";
import type { Params } from "../../protocol/index.ts";
import { dataOf } from "../../rpc/error-wire.ts";
import type { Attachment } from "../../rpc/incoming-request.ts";
import type { Handlers } from "../../rpc/router.ts";
import { DeferredAnswer } from "../../rpc/deferred-answer.ts";
import { ActiveHttpRequest } from "./active-http-request.ts";
import type { Reservation } from "../wire/byte-budget.ts";
import type { ClientConnection } from "../clients/client-connection.ts";
import type { Sandboxes } from "../sandbox/sandboxes.ts";
import { perClient } from "../wire/per-client.ts";
import { answerWithBody, streamBody } from "./http-body.ts";

type RequestParams = Params<"http/request">;

const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
const MAX_URL_TEXT = 256 * 1024;
/** Far more than any server accepts: Node's stops at 2 000. */
const MAX_HEADERS = 4096;
const HEADER_VALUE = /^[\t\x20-\x7e\x80-\u{10ffff}]*$/u;

export function httpHandlers(environment: Environment, sandboxes: Sandboxes) {
  return {
    "http/request": (client, params, attachment) => {
      sandboxes.checkNetwork(client);
      const requests = requestsOf(client);
      const { requestId } = params;
      if (params.streamResponse && requests.streams.has(requestId))
        throw invalidParams(`http/request streamResponse requestId \`${requestId}\` is already active`);
      const request = decodeRequest(params, environment, attachment);
      const held = client.budget.open();
      const begin = () => {
        const active = new ActiveHttpRequest(requestId, params.timeoutMs ?? undefined, (ended) =>
          requests.delete(ended),
        );
        requests.add(active);
        if (params.streamResponse) requests.streams.set(requestId, active);
        // From now on the request only waits for the upstream server, which does not hold up others.
        return new DeferredAnswer(
          perform(client, params, { request, environment, active, held }).finally(() => held.release()),
        );
      };
      // The body is kept as received, in base64.
      return held.grow(base64Length(request.body?.length ?? 0))?.then(begin) ?? begin();
    },

    "http/cancel": (client, { requestId }) => {
      requestsOf(client).streams.get(requestId)?.cancel();
      return {};
    },

    "http/flow": (client, { requestId, paused }) => {
      requestsOf(client).streams.get(requestId)?.flow(paused);
      return {};
    },
  } satisfies Handlers<ClientConnection>;
}

/** Active requests of one client. */
class ActiveRequests {
  /** Requests with streamed bodies, by the id their client chose. */
  readonly streams = new Map<string, ActiveHttpRequest>();
  readonly #all = new Set<ActiveHttpRequest>();
  #ended = false;

  constructor(signal: AbortSignal) {
    const end = (): void => {
      this.#ended = true;
      for (const request of this.#all) request.abort();
    };
    if (signal.aborted) end();
    else signal.addEventListener("abort", end, { once: true });
  }

  add(request: ActiveHttpRequest): void {
    this.#all.add(request);
    if (this.#ended) request.abort();
  }

  delete(request: ActiveHttpRequest): void {
    this.#all.delete(request);
    if (this.streams.get(request.id) === request) this.streams.delete(request.id);
  }
}

const requestsOf = perClient((client: ClientConnection) => new ActiveRequests(client.signal));

interface HttpWork {
  readonly request: HttpRequest;
  readonly environment: Environment;
  readonly active: ActiveHttpRequest;
  readonly held: Reservation;
}

async function perform(
  client: ClientConnection,
  params: RequestParams,
  { request, environment, active, held }: HttpWork,
) {
  let response: HttpResponse;
  try {
    const followRedirects = params.redirectPolicy !== "stop";
    response = await sendHttpRequest(request, { followRedirects, abortion: active, environment });
  } catch (error) {
    active.end();
    throw active.cancelled
      ? new RpcError(RpcCode.internal, "http/request failed: cancelled", { cause: error })
      : requestFailure(error, active);
  }
  const headers = response.headers.map(([name, value]) => ({ name, value }));
  if (!params.streamResponse) {
    try {
      return await answerWithBody(response, headers, { active, held });
    } finally {
      active.end();
    }
  }
  // The answer is sent when this function returns; deltas follow it.
  setImmediate(() => void streamBody(client, response, active));
  return { status: response.status, headers, bodyBase64: "" };
}

function requestFailure(error: unknown, { expired }: ActiveHttpRequest): unknown {
  if (!(error instanceof CapabilityError)) return error;
  return requestFailed(expired ? new CapabilityError("TIMED_OUT", error.message, { cause: error }) : error);
}

function requestFailed(cause: CapabilityError): RpcError {
  return new RpcError(RpcCode.internal, `http/request failed: ${cause.message}`, {
    data: dataOf(cause),
    cause,
  });
}

function decodeRequest(
  params: RequestParams,
  environment: Environment,
  attachment: Attachment | undefined,
): HttpRequest {
  if (!TOKEN.test(params.method)) throw invalidParams("http/request method is invalid: invalid HTTP method");
  const url = parseUrl(params.url);
  if (url.protocol !== "http:" && url.protocol !== "https:")
    throw invalidParams(`http/request only supports http and https URLs, got ${url.protocol.slice(0, -1)}`);
  const { method, headers = [], bodyBase64 } = params;
  if (headers.length > MAX_HEADERS)
    throw invalidParams(`http/request accepts at most ${MAX_HEADERS} headers, got ${headers.length}`);
  const decoded = headers.map((header) => decodeHeader(header, environment));
  const body =
    attachment?.bytes ??
    (typeof bodyBase64 === "string" ? decodeBase64(bodyBase64, invalidParams) : undefined);
  return { method, url, headers: decoded, body };
}

function parseUrl(text: string): URL {
  // Parsing may shorten the text, but a sensible URL never shrinks that much.
  if (text.length > MAX_URL_TEXT) throw requestFailed(urlTooLong(text));
  try {
    return new URL(text);
  } catch {
    throw invalidParams("http/request url is invalid: relative URL without a base");
  }
}

function decodeHeader(
  { name, value, valueEnvVar }: NonNullable<RequestParams["headers"]>[number],
  environment: Environment,
): Header {
  if (!TOKEN.test(name)) throw invalidParams("http/request header name is invalid: invalid HTTP header name");
  const full = typeof valueEnvVar === "string" ? value + variable(name, valueEnvVar, environment) : value;
  if (!HEADER_VALUE.test(full))
    throw invalidParams(`http/request header value is invalid for ${name}: failed to parse header value`);
  return [name, full];
}

function variable(header: string, name: string, environment: Environment): string {
  try {
    return readHeaderVariable(header, name, environment);
  } catch (error) {
    if (error instanceof CapabilityError) throw invalidParams(error.message);
    throw error;
  }
}

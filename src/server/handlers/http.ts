import { Base64Error, decodeBase64, encodeBase64 } from "../../base/base64.ts";
import { createDeferred, type Deferred } from "../../base/deferred.ts";
import { CapabilityError, RpcError } from "../../base/errors.ts";
import type { Header } from "../../capabilities/http/header.ts";
import { readHeaderVariable } from "../../capabilities/http/header-values.ts";
import {
  type Abortion,
  type HttpRequest,
  type HttpResponse,
  sendHttpRequest,
} from "../../capabilities/http/http-request.ts";
import type { Environment } from "../../capabilities/process/env-policy.ts";
import { RpcCode } from "../../protocol/errors.ts";
import type { Params } from "../../protocol/index.ts";
import { attachedBytes } from "../../rpc/attachment.ts";
import type { Handlers } from "../../rpc/router.ts";
import { Waiting } from "../../rpc/waiting.ts";
import type { ClientConnection } from "../client-connection.ts";

type RequestParams = Params<"http/request">;

const MAX_DELTA_BYTES = 1024 * 1024;
/** A larger body cannot reach a client in one message anyway. */
const MAX_BUFFERED_BODY_BYTES = 64 * 1024 * 1024;
const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
const HEADER_VALUE = /^[\t\x20-\x7e\x80-\u{10ffff}]*$/u;
const MAX_TIMER_MS = 2 ** 31 - 1;

export function httpHandlers(environment: Environment) {
  return {
    "http/request": (client, params) => {
      const requests = requestsOf(client);
      const { requestId } = params;
      if (params.streamResponse && requests.streams.has(requestId))
        throw new RpcError(
          RpcCode.invalidParams,
          `http/request streamResponse requestId \`${requestId}\` is already active`,
        );
      const request = decodeRequest(params, environment);
      const active = new ActiveRequest(requestId, params.timeoutMs ?? undefined, (ended) =>
        requests.delete(ended),
      );
      requests.add(active);
      if (params.streamResponse) requests.streams.set(requestId, active);
      // From here on only the upstream server is waited for, and that holds up nobody.
      return new Waiting(perform(client, params, { request, environment, active }));
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

/** The requests of one client that are under way. */
class ActiveRequests {
  /** Those whose bodies are streamed, by the id their client chose. */
  readonly streams = new Map<string, ActiveRequest>();
  readonly #all = new Set<ActiveRequest>();
  #ended = false;

  constructor(client: ClientConnection) {
    const end = (): void => {
      this.#ended = true;
      for (const request of this.#all) request.abort();
    };
    if (client.signal.aborted) end();
    else client.signal.addEventListener("abort", end, { once: true });
  }

  add(request: ActiveRequest): void {
    this.#all.add(request);
    if (this.#ended) request.abort();
  }

  delete(request: ActiveRequest): void {
    this.#all.delete(request);
    if (this.streams.get(request.id) === request) this.streams.delete(request.id);
  }
}

const activeRequests = new WeakMap<ClientConnection, ActiveRequests>();

function requestsOf(client: ClientConnection): ActiveRequests {
  let requests = activeRequests.get(client);
  if (requests === undefined) {
    requests = new ActiveRequests(client);
    activeRequests.set(client, requests);
  }
  return requests;
}

async function perform(
  client: ClientConnection,
  params: RequestParams,
  { request, environment, active }: { request: HttpRequest; environment: Environment; active: ActiveRequest },
) {
  let response: HttpResponse;
  try {
    const followRedirects = params.redirectPolicy !== "stop";
    response = await sendHttpRequest(request, { followRedirects, abortion: active, environment });
  } catch (error) {
    active.end();
    throw active.cancelled
      ? new RpcError(RpcCode.internal, "http/request failed: cancelled", { cause: error })
      : requestFailure(error, params);
  }
  const headers = response.headers.map(([name, value]) => ({ name, value }));
  if (!params.streamResponse) {
    try {
      const body = await readBody(response, active);
      return { status: response.status, headers, bodyBase64: encodeBase64(body) };
    } finally {
      active.end();
    }
  }
  // The answer is sent when this function returns; deltas follow it.
  setImmediate(() => streamBody(client, response, active));
  return { status: response.status, headers, bodyBase64: "" };
}

/** One request: aborts when the time is over, the client is gone or has cancelled. */
class ActiveRequest implements Abortion {
  readonly id: string;
  readonly #timer: NodeJS.Timeout | undefined;
  readonly #ended: (request: ActiveRequest) => void;
  aborted = false;
  cancelled = false;
  onAbort: (() => void) | undefined;
  #paused: Deferred<void> | undefined;

  constructor(id: string, timeoutMs: number | undefined, ended: (request: ActiveRequest) => void) {
    this.id = id;
    this.#ended = ended;
    if (timeoutMs === 0) this.aborted = true;
    else if (timeoutMs !== undefined)
      this.#timer = setTimeout(() => this.abort(), Math.min(timeoutMs, MAX_TIMER_MS));
  }

  abort(): void {
    if (this.aborted) return;
    this.aborted = true;
    this.onAbort?.();
    this.#release();
  }

  cancel(): void {
    this.cancelled = true;
    this.abort();
  }

  /** Makes the body wait, or go on. */
  flow(paused: boolean): void {
    if (!paused) this.#release();
    else if (this.#paused === undefined && !this.aborted) this.#paused = createDeferred();
  }

  /** Resolves when the body need not wait, or is not wanted any more; undefined when it need not wait at all. */
  get released(): Promise<void> | undefined {
    return this.#paused?.promise;
  }

  #release(): void {
    this.#paused?.resolve();
    this.#paused = undefined;
  }

  end(): void {
    clearTimeout(this.#timer);
    this.#ended(this);
  }
}

function readBody(response: HttpResponse, active: ActiveRequest): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let bytes = 0;
    response.readBody({
      data: (chunk) => {
        bytes += chunk.length;
        if (bytes > MAX_BUFFERED_BODY_BYTES) active.abort();
        else chunks.push(Buffer.from(chunk));
      },
      end: (failure) => {
        if (bytes > MAX_BUFFERED_BODY_BYTES)
          reject(bodyFailure(`it is larger than ${MAX_BUFFERED_BODY_BYTES} bytes; ask for a stream`));
        else if (failure !== undefined) reject(bodyFailure("error decoding response body", failure));
        else resolve(chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks));
      },
    });
  });
}

function bodyFailure(reason: string, cause?: Error): RpcError {
  return new RpcError(RpcCode.internal, `failed to read http/request response body: ${reason}`, { cause });
}

/** One notification a piece, as fast as the client takes them; the upstream server waits meanwhile. */
function streamBody(client: ClientConnection, response: HttpResponse, active: ActiveRequest): void {
  let seq = 0;
  let waiting = false;
  /** Holds the upstream server up until the client has taken what it was sent and wants more. */
  const wait = async (): Promise<void> => {
    waiting = true;
    response.pause();
    while (client.full || active.released !== undefined) {
      await client.drained();
      await active.released;
    }
    waiting = false;
    response.resume();
  };
  response.readBody({
    data: (bytes) => {
      for (let start = 0; start < bytes.length; start += MAX_DELTA_BYTES) {
        seq += 1;
        client.sendBodyDelta(active.id, seq, bytes.subarray(start, start + MAX_DELTA_BYTES));
      }
      if (!waiting && (client.full || active.released !== undefined)) void wait();
    },
    end: (failure) => {
      const reason = active.cancelled ? "cancelled" : "error decoding response body";
      client.notify("http/request/bodyDelta", {
        requestId: active.id,
        seq: seq + 1,
        deltaBase64: "",
        done: true,
        error: failure === undefined ? null : reason,
      });
      active.end();
    },
  });
}

function requestFailure(error: unknown, { timeoutMs }: RequestParams): unknown {
  if (!(error instanceof CapabilityError)) return error;
  const reason = timeoutMs === 0 ? "route-aware request timed out" : error.message;
  return new RpcError(RpcCode.internal, `http/request failed: ${reason}`, { cause: error });
}

function decodeRequest(params: RequestParams, environment: Environment): HttpRequest {
  if (!TOKEN.test(params.method)) throw refusal("http/request method is invalid: invalid HTTP method");
  const url = parseUrl(params.url);
  if (url.protocol !== "http:" && url.protocol !== "https:")
    throw refusal(`http/request only supports http and https URLs, got ${url.protocol.slice(0, -1)}`);
  const headers = (params.headers ?? []).map((header) => decodeHeader(header, environment));
  return {
    method: params.method,
    url,
    headers,
    body: attachedBytes(params) ?? decodeBody(params.bodyBase64 ?? undefined),
  };
}

function parseUrl(text: string): URL {
  try {
    return new URL(text);
  } catch {
    throw refusal("http/request url is invalid: relative URL without a base");
  }
}

function decodeHeader(
  { name, value, valueEnvVar }: NonNullable<RequestParams["headers"]>[number],
  environment: Environment,
): Header {
  if (!TOKEN.test(name)) throw refusal("http/request header name is invalid: invalid HTTP header name");
  const full = typeof valueEnvVar === "string" ? value + variable(name, valueEnvVar, environment) : value;
  if (!HEADER_VALUE.test(full))
    throw refusal(`http/request header value is invalid for ${name}: failed to parse header value`);
  return [name, full];
}

function variable(header: string, name: string, environment: Environment): string {
  try {
    return readHeaderVariable(header, name, environment);
  } catch (error) {
    if (error instanceof CapabilityError) throw refusal(error.message);
    throw error;
  }
}

function decodeBody(bodyBase64: string | undefined): Uint8Array | undefined {
  if (bodyBase64 === undefined) return undefined;
  try {
    return decodeBase64(bodyBase64);
  } catch (error) {
    if (error instanceof Base64Error) throw refusal(error.message);
    throw error;
  }
}

function refusal(message: string): RpcError {
  return new RpcError(RpcCode.invalidParams, message);
}

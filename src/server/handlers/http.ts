import { Base64Error, decodeBase64, encodeBase64 } from "../../base/base64.ts";
import { createDeferred, type Deferred } from "../../base/deferred.ts";
import { CapabilityError, RpcError } from "../../base/errors.ts";
import { readHeaderVariable } from "../../capabilities/http/header-values.ts";
import {
  type Header,
  type HttpRequest,
  type HttpResponse,
  sendHttpRequest,
} from "../../capabilities/http/http-request.ts";
import type { Environment } from "../../capabilities/process/env-policy.ts";
import { RpcCode } from "../../protocol/errors.ts";
import type { Params } from "../../protocol/index.ts";
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
      const streams = streamsOf(client);
      if (params.streamResponse && streams.has(params.requestId))
        throw new RpcError(
          RpcCode.invalidParams,
          `http/request streamResponse requestId \`${params.requestId}\` is already active`,
        );
      const request = decodeRequest(params, environment);
      const active = new ActiveRequest(params.timeoutMs ?? undefined, client.signal);
      if (params.streamResponse) streams.set(params.requestId, active);
      // From here on only the upstream server is waited for, and that holds up nobody.
      return new Waiting(perform(client, params, { request, environment, active }));
    },

    "http/cancel": (client, { requestId }) => {
      streamsOf(client).get(requestId)?.cancel();
      return {};
    },

    "http/flow": (client, { requestId, paused }) => {
      streamsOf(client).get(requestId)?.flow(paused);
      return {};
    },
  } satisfies Handlers<ClientConnection>;
}

/** Requests whose bodies are being streamed, by connection. */
const activeStreams = new WeakMap<ClientConnection, Map<string, ActiveRequest>>();

function streamsOf(client: ClientConnection): Map<string, ActiveRequest> {
  const found = activeStreams.get(client) ?? new Map<string, ActiveRequest>();
  activeStreams.set(client, found);
  return found;
}

async function perform(
  client: ClientConnection,
  params: RequestParams,
  { request, environment, active }: { request: HttpRequest; environment: Environment; active: ActiveRequest },
) {
  const { requestId } = params;
  let response: HttpResponse;
  try {
    const followRedirects = params.redirectPolicy !== "stop";
    response = await sendHttpRequest(request, { followRedirects, signal: active.signal, environment });
  } catch (error) {
    active.end();
    streamsOf(client).delete(requestId);
    throw active.cancelled
      ? new RpcError(RpcCode.internal, "http/request failed: cancelled", { cause: error })
      : requestFailure(error, params);
  }
  const headers = response.headers.map(([name, value]) => ({ name, value }));
  if (!params.streamResponse) {
    const body = await readBody(response).finally(() => active.end());
    return { status: response.status, headers, bodyBase64: encodeBase64(body) };
  }
  // The answer is sent when this function returns; deltas follow it.
  setImmediate(() => {
    void streamBody(client, requestId, { response, active }).finally(() => {
      active.end();
      streamsOf(client).delete(requestId);
    });
  });
  return { status: response.status, headers, bodyBase64: "" };
}

/** One request: aborts when the time is over, the client is gone or has cancelled. */
class ActiveRequest {
  readonly #controller = new AbortController();
  readonly #timer: NodeJS.Timeout | undefined;
  readonly #client: AbortSignal;
  cancelled = false;
  #paused: Deferred<void> | undefined;
  readonly #abort = (): void => {
    this.#controller.abort();
    this.#release();
  };

  constructor(timeoutMs: number | undefined, client: AbortSignal) {
    this.#client = client;
    if (timeoutMs !== undefined) this.#timer = setTimeout(this.#abort, Math.min(timeoutMs, MAX_TIMER_MS));
    client.addEventListener("abort", this.#abort, { once: true });
    if (client.aborted || timeoutMs === 0) this.#abort();
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  cancel(): void {
    this.cancelled = true;
    this.#abort();
  }

  /** Makes the body wait, or go on. */
  flow(paused: boolean): void {
    if (!paused) this.#release();
    else if (this.#paused === undefined && !this.signal.aborted) this.#paused = createDeferred();
  }

  /** Resolves when the body need not wait, or is not wanted any more. */
  released(): Promise<void> | undefined {
    return this.#paused?.promise;
  }

  #release(): void {
    this.#paused?.resolve();
    this.#paused = undefined;
  }

  end(): void {
    clearTimeout(this.#timer);
    this.#client.removeEventListener("abort", this.#abort);
  }
}

async function readBody({ body }: HttpResponse): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  try {
    for await (const chunk of body) {
      bytes += chunk.length;
      if (bytes > MAX_BUFFERED_BODY_BYTES) break;
      chunks.push(chunk);
    }
  } catch (cause) {
    throw new RpcError(
      RpcCode.internal,
      "failed to read http/request response body: error decoding response body",
      { cause },
    );
  }
  if (bytes > MAX_BUFFERED_BODY_BYTES)
    throw new RpcError(
      RpcCode.internal,
      `failed to read http/request response body: it is larger than ${MAX_BUFFERED_BODY_BYTES} bytes; ask for a stream`,
    );
  return Buffer.concat(chunks);
}

/** One notification a piece, as fast as the client takes them; the upstream server waits meanwhile. */
async function streamBody(
  client: ClientConnection,
  requestId: string,
  { response: { body }, active }: { response: HttpResponse; active: ActiveRequest },
): Promise<void> {
  let seq = 0;
  let failure: string | null = null;
  try {
    for await (const chunk of body) {
      for (let start = 0; start < chunk.length; start += MAX_DELTA_BYTES) {
        seq += 1;
        const piece = chunk.subarray(start, start + MAX_DELTA_BYTES);
        client.sendBodyDelta(requestId, seq, piece);
        await client.drained();
        await active.released();
      }
    }
  } catch {
    failure = active.cancelled ? "cancelled" : "error decoding response body";
  }
  client.notify("http/request/bodyDelta", {
    requestId,
    seq: seq + 1,
    deltaBase64: "",
    done: true,
    error: failure,
  });
}

function requestFailure(error: unknown, { timeoutMs }: RequestParams): unknown {
  if (!(error instanceof CapabilityError)) return error;
  const reason = timeoutMs === 0 ? "route-aware request timed out" : error.message;
  return new RpcError(RpcCode.internal, `http/request failed: ${reason}`, { cause: error });
}

function decodeRequest(params: RequestParams, environment: Environment): HttpRequest {
  if (!TOKEN.test(params.method)) throw refusal("http/request method is invalid: invalid HTTP method");
  if (!URL.canParse(params.url)) throw refusal("http/request url is invalid: relative URL without a base");
  const url = new URL(params.url);
  if (url.protocol !== "http:" && url.protocol !== "https:")
    throw refusal(`http/request only supports http and https URLs, got ${url.protocol.slice(0, -1)}`);
  const headers = (params.headers ?? []).map((header) => decodeHeader(header, environment));
  return { method: params.method, url, headers, body: decodeBody(params.bodyBase64 ?? undefined) };
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

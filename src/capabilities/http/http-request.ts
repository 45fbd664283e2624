import type { Readable } from "node:stream";
import { CapabilityError } from "../../base/errors.ts";
import { nextHop } from "./redirect.ts";

export type Header = readonly [name: string, value: string];

export interface HttpRequest {
  readonly method: string;
  readonly url: URL;
  /** In the order they are sent, repeats included. */
  readonly headers: readonly Header[];
  readonly body: Uint8Array | undefined;
}

export interface HttpResponse {
  readonly status: number;
  /** In the order they came, names in lower case. */
  readonly headers: readonly Header[];
  /** As it came: nothing is decompressed. Reading slowly makes the upstream server wait. */
  readonly body: Readable;
}

export const MAX_REDIRECTS = 10;

type Undici = typeof import("undici");
type Dispatcher = import("undici").Dispatcher;

/** Loaded at the first request: most servers never make one. */
let loading: Promise<{ undici: Undici; agent: Dispatcher }> | undefined;

function load(): Promise<{ undici: Undici; agent: Dispatcher }> {
  loading ??= import("undici").then((undici) => ({
    undici,
    // Time limits are the caller's: it gives a signal.
    agent: new undici.Agent({ headersTimeout: 0, bodyTimeout: 0, connect: { timeout: 0 } }),
  }));
  return loading;
}

/** Sends a request and returns when the headers of the final response are there. Aborting also ends its body. */
export async function sendHttpRequest(
  request: HttpRequest,
  options: { followRedirects: boolean; signal: AbortSignal },
): Promise<HttpResponse> {
  let current = request;
  for (let redirects = 0; ; redirects += 1) {
    const response = await sendOnce(current, options.signal);
    const next = options.followRedirects ? nextHop(current, response) : undefined;
    if (next === undefined) return response;
    response.body.on("error", () => {}).resume();
    if (redirects === MAX_REDIRECTS) throw new CapabilityError("OS_ERROR", "too many redirects");
    current = next;
  }
}

async function sendOnce(request: HttpRequest, signal: AbortSignal): Promise<HttpResponse> {
  const { undici, agent } = await load();
  const { statusCode, headers, body } = await undici.request(request.url, {
    dispatcher: agent,
    method: request.method,
    headers: request.headers.flat(),
    body: request.body ?? null,
    signal,
    responseHeaders: "raw",
  });
  return { status: statusCode, headers: pairs(headers as unknown as string[]), body };
}

/** Values that are not visible ASCII have no faithful text and are left out. */
function pairs(raw: readonly string[]): Header[] {
  const result: Header[] = [];
  for (let index = 0; index + 1 < raw.length; index += 2) {
    const value = raw[index + 1]!;
    if (/^[\t\x20-\x7e]*$/.test(value)) result.push([raw[index]!.toLowerCase(), value]);
  }
  return result;
}

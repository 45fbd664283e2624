import { abortable } from "../../base/deadlines.ts";
import { joinBytes } from "../../base/join-bytes.ts";
import { MAX_BYTES_IN_MESSAGE } from "../calls/wire-bytes.ts";

export type FetchInput = Parameters<typeof fetch>[0];
export type FetchInit = NonNullable<Parameters<typeof fetch>[1]>;

/** The normalized arguments of `fetch`. */
export interface FetchRequest {
  readonly method: string;
  /** Without a fragment. */
  readonly url: string;
  readonly headers: Headers;
  readonly body: Uint8Array | undefined;
  readonly redirect: "follow" | "manual" | "error";
  readonly signal: AbortSignal | undefined;
}

/** Methods that `fetch` converts to upper case; all others are sent unchanged. */
const NORMALIZED_METHODS = ["DELETE", "GET", "HEAD", "OPTIONS", "POST", "PUT"];
const FORBIDDEN_METHODS = ["CONNECT", "TRACE", "TRACK"];
/** Headers that belong to the connection or follow from the body. A wrong length would keep the server waiting. */
const CONNECTION_HEADERS = [
  "connection",
  "content-length",
  "expect",
  "keep-alive",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
];

/** Interprets the arguments as `fetch` does; rejects with a TypeError, or the signal's reason. */
export async function readRequest(input: FetchInput, init: FetchInit): Promise<FetchRequest> {
  const base = typeof input === "string" || input instanceof URL ? undefined : input;
  const signal = (init.signal === undefined ? base?.signal : init.signal) ?? undefined;
  signal?.throwIfAborted();
  const url = parseUrl(typeof input === "string" || input instanceof URL ? String(input) : input.url);
  const method = parseMethod(init.method ?? base?.method ?? "GET");
  const redirect = init.redirect ?? base?.redirect ?? "follow";
  if (redirect !== "follow" && redirect !== "manual" && redirect !== "error")
    throw new TypeError(`redirect must be follow, manual or error, not ${String(redirect)}`);
  if (init.integrity) throw new TypeError("integrity is not supported: nothing would verify it");
  const headers = new Headers(init.headers ?? base?.headers);
  const content = await readContent(base, init, { method, signal });
  if (content?.type !== undefined && !headers.has("content-type")) headers.set("content-type", content.type);
  for (const name of CONNECTION_HEADERS) headers.delete(name);
  // Part of a compressed body cannot be decompressed.
  if (!headers.has("accept-encoding"))
    headers.set("accept-encoding", headers.has("range") ? "identity" : "gzip, deflate");
  return { method, url, headers, body: content?.bytes, redirect, signal };
}

function parseUrl(text: string): string {
  if (!URL.canParse(text)) throw new TypeError(`not an absolute URL: ${text}`);
  const url = new URL(text);
  if (url.protocol !== "http:" && url.protocol !== "https:")
    throw new TypeError(`only http and https URLs can be fetched, not ${url.protocol}`);
  url.hash = "";
  return url.href;
}

function parseMethod(method: string): string {
  const upper = method.toUpperCase();
  if (FORBIDDEN_METHODS.includes(upper)) throw new TypeError(`the method ${method} cannot be fetched`);
  return NORMALIZED_METHODS.includes(upper) ? upper : method;
}

interface Content {
  readonly bytes: Uint8Array;
  /** Content type implied by the kind of body. */
  readonly type: string | undefined;
}

async function readContent(
  base: Request | undefined,
  init: FetchInit,
  { method, signal }: { method: string; signal: AbortSignal | undefined },
): Promise<Content | undefined> {
  const body = init.body ?? undefined;
  if (body === undefined && !base?.body) {
    if (base?.bodyUsed) throw new TypeError("the body of the Request has already been used");
    return undefined;
  }
  if (method === "GET" || method === "HEAD") throw new TypeError(`a ${method} request cannot have a body`);
  // A Response accepts every kind of body and reports its type.
  const source = body === undefined ? base! : new Response(body);
  const type = body === undefined ? undefined : (source.headers.get("content-type") ?? undefined);
  return { bytes: await readAll(source, signal), type };
}

async function readAll(source: Request | Response, signal: AbortSignal | undefined): Promise<Uint8Array> {
  if (source.bodyUsed) throw new TypeError("the body of the Request has already been used");
  const reader = source.body!.getReader();
  const pieces: Uint8Array[] = [];
  let length = 0;
  try {
    for (;;) {
      const { done, value } = await abortable(reader.read(), signal);
      if (done) break;
      if (!(value instanceof Uint8Array))
        throw new TypeError(`a body stream must yield Uint8Array chunks, not ${typeof value}`);
      length += value.length;
      if (length > MAX_BYTES_IN_MESSAGE)
        throw new TypeError(
          `the body of a request is sent in one message and must not exceed ${MAX_BYTES_IN_MESSAGE} bytes`,
        );
      pieces.push(value);
    }
  } catch (error) {
    void reader.cancel(error).catch(() => {}); // The first failure is the one to report.
    throw error;
  }
  return joinBytes(pieces);
}

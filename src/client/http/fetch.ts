import { encodeBase64 } from "../../base/base64.ts";
import { type ErrorCode, ExecError, ProtocolError } from "../../base/errors.ts";
import type { Result } from "../../protocol/index.ts";
import type { Caller } from "../calls/caller.ts";
import { decodeContent } from "./decompress.ts";
import { type FetchRequest, readRequest } from "./fetch-request.ts";
import type { BodyStream, HttpBodies } from "./http-bodies.ts";
import { ownBytes } from "../calls/wire-bytes.ts";

const REDIRECT_STATUSES = [301, 302, 303, 307, 308];
const NULL_BODY_STATUSES = [204, 205, 304];

/**
 * Frees an abandoned body's share of the common queue. The source of the stream is registered: browsers collect the
 * object of a stream that is still being read, and create another one when needed.
 */
const abandonedBodies = new FinalizationRegistry<BodyStream>((body) => void body.return());

/**
 * A `fetch` whose requests are made by the server's machine. It differs from the platform's as follows. There are no
 * cookies, no cache and no CORS, and all headers except those of the connection are sent as given. `url` is the
 * requested one, because the wire does not report the target of redirects. `redirect: "manual"` returns the response
 * itself. A request body is sent in one message of up to 47 MiB. `integrity` is refused. gzip and deflate are
 * decompressed; other content encodings are passed through. Reading a response body slowly applies back-pressure to the
 * upstream server, if the server supports it; otherwise it fails beyond 16 MiB of unread data.
 */
export function createFetch(caller: Caller, bodies: HttpBodies): typeof fetch {
  return async (input, init) => {
    const request = await readRequest(input, init ?? {});
    const signal = request.signal === undefined ? {} : { signal: request.signal };
    const body = bodies.open(signal);
    let head: Result<"http/request">;
    try {
      head = await caller.request("http/request", toParams(request, body.id), signal);
    } catch (error) {
      body.forget();
      throw networkError("fetch failed", error);
    }
    try {
      return toResponse(request, head, body);
    } catch (error) {
      // The body will not be read.
      void body.return();
      throw networkError("fetch failed", error);
    }
  };
}

function toParams({ method, url, headers, body, redirect }: FetchRequest, requestId: string) {
  const list: { name: string; value: string }[] = [];
  headers.forEach((value, name) => list.push({ name, value }));
  return {
    method,
    url,
    requestId,
    headers: list,
    redirectPolicy: redirect === "follow" ? ("follow" as const) : ("stop" as const),
    streamResponse: true,
    ...(body === undefined ? {} : { bodyBase64: encodeBase64(body) }),
  };
}

function toResponse(request: FetchRequest, head: Result<"http/request">, body: BodyStream): Response {
  const { status } = head;
  if (request.redirect === "error" && REDIRECT_STATUSES.includes(status))
    throw new TypeError(`fetch failed: ${request.url} answered with a redirect, status ${status}`);
  if (status < 200 || status > 599)
    throw new TypeError(`fetch failed: ${request.url} answered with status ${status}`);
  if (head.bodyBase64 !== "")
    throw new ProtocolError("the response head contains a body that should have been streamed");
  const headers = toHeaders(head);
  if (request.method === "HEAD" || NULL_BODY_STATUSES.includes(status)) {
    body.forget();
    return withUrl(new Response(null, { status, headers }), request.url);
  }
  const length = headers.get("content-length");
  if (length !== null && /^\d{1,15}$/.test(length)) body.expectBytes(Number(length));
  const readable = toReadable(body, headers.get("content-encoding"));
  return withUrl(new Response(readable, { status, headers }), request.url);
}

function toHeaders({ headers }: Result<"http/request">): Headers {
  try {
    return new Headers(headers.map(({ name, value }): [string, string] => [name, value]));
  } catch (cause) {
    throw new ProtocolError("the response has an invalid header", { cause });
  }
}

/** Takes nothing from the body before it is requested. */
function toReadable(body: BodyStream, contentEncoding: string | null): ReadableStream<Uint8Array> {
  const pieces = decodeContent(body, contentEncoding)[Symbol.asyncIterator]();
  const source = {
    type: "bytes" as const,
    async pull(controller: ReadableByteStreamController) {
      const { done, value } = await pieces.next().catch((error) => {
        throw networkError("the body failed", error);
      });
      if (!done) {
        // The stream detaches the memory from its holder.
        controller.enqueue(ownBytes(value));
        return;
      }
      controller.close();
      controller.byobRequest?.respond(0);
    },
    cancel() {
      // The source first: the decompressor may be waiting for it.
      void body.return();
      void pieces.return?.();
    },
  };
  abandonedBodies.register(source, body);
  return new ReadableStream(source);
}

/** A constructed Response has no URL, and neither does its clone. */
function withUrl(response: Response, url: string): Response {
  const clone = (): Response => withUrl(Response.prototype.clone.call(response), url);
  return Object.defineProperties(response, { url: { value: url }, clone: { value: clone } });
}

/** Details that the message of such an error lacks. */
const NETWORK_FAILURES: Partial<Record<ErrorCode, string>> = {
  CONNECTION_REFUSED: "connection refused",
  UNKNOWN_HOST: "unknown host",
};

/** Network failures become TypeErrors, as with `fetch`; the signal's reason stays unchanged. */
function networkError(what: string, error: unknown): unknown {
  if (!(error instanceof ExecError)) return error;
  const why = NETWORK_FAILURES[error.code];
  return new TypeError(`${what}: ${why === undefined ? "" : `${why}: `}${error.message}`, { cause: error });
}

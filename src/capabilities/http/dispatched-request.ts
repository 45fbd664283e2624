import { Readable } from "node:stream";
import type { Dispatcher } from "undici";
import { CapabilityError } from "../../base/errors.ts";
import type { HttpRequest } from "./exchange.ts";
import { flatHeaders, type Header, inGroups, toBytes, tokens } from "./header.ts";
import type { Route } from "./route.ts";

const DIGITS = /^[0-9]+$/;
/** Headers that undici writes itself or refuses; each is handled separately. */
const NOT_PASSED = new Set([
  "host",
  "connection",
  "content-length",
  "transfer-encoding",
  "upgrade",
  "keep-alive",
  "expect",
]);

/** Converts a request to undici's form. */
export function toDispatch(request: HttpRequest, route: Route): Dispatcher.DispatchOptions {
  const headers = request.headers.map(([name, value]): Header => [name.toLowerCase(), value]);
  const connection = tokens(headers, "connection");
  const upgrade = valueOf(headers, "upgrade");
  const { method } = request;
  return {
    method,
    path: method === "CONNECT" ? authorityOf(request.url) : route.target,
    headers: flatHeaders([
      ["host", valueOf(headers, "host") ?? request.url.host],
      ...inGroups(passed(headers)),
      ...route.proxyHeaders,
    ]),
    body: bodyToSend(request, headers),
    ...(upgrade !== undefined && { upgrade: toBytes(upgrade) }),
    ...(connection.includes("close") && { reset: true }),
  };
}

/** The caller's headers that undici passes through, plus a default accept header. */
function passed(headers: readonly Header[]): Header[] {
  const kept = headers.filter(([name]) => !NOT_PASSED.has(name));
  if (!kept.some(([name]) => name === "accept")) kept.push(["accept", "*/*"]);
  return kept;
}

/** Undici sets the length for bytes, and sends a stream in chunks. */
function bodyToSend({ body }: HttpRequest, headers: readonly Header[]): Buffer | Readable | null {
  if (body === undefined || body.length === 0) return null;
  const codings = tokens(headers, "transfer-encoding");
  const bytes = Buffer.from(body.buffer, body.byteOffset, body.byteLength);
  if (codings.length > 0) {
    // Without the name of its coding, an encoded body would be misread.
    const other = codings.find((coding) => coding !== "chunked");
    if (other !== undefined)
      throw new CapabilityError("UNSUPPORTED", `the transfer-encoding ${other} is not supported`);
    return Readable.from([bytes]);
  }
  // At most the caller's own content-length: the rest would be parsed as another request.
  const length = headers.find(([name, value]) => name === "content-length" && DIGITS.test(value))?.[1];
  return length === undefined ? bytes : bytes.subarray(0, Number(length));
}

function authorityOf({ protocol, hostname, port }: URL): string {
  return `${hostname}:${port === "" ? (protocol === "https:" ? 443 : 80) : port}`;
}

function valueOf(headers: readonly Header[], wanted: string): string | undefined {
  return headers.find(([name]) => name === wanted)?.[1];
}

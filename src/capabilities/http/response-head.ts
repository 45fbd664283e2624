import type { Header } from "./http-request.ts";

/** How the end of a body is told. */
export type Framing =
  | { readonly kind: "length"; readonly bytes: number }
  | { readonly kind: "chunked" }
  | { readonly kind: "until-close" };

export interface ResponseHead {
  readonly status: number;
  /** In the order they came, names in lower case. */
  readonly headers: readonly Header[];
  readonly framing: Framing;
  /** True when the connection may carry another request after this response. */
  readonly keepsAlive: boolean;
  /** How long the server promises to keep the connection, if it says so. */
  readonly promisedMs: number | undefined;
}

/** What came is not HTTP. */
export class ResponseError extends Error {}

const STATUS_LINE = /^HTTP\/1\.([01]) ([1-9][0-9]{2})(?: [\t\x20-\x7e\x80-\xff]*)?\r?$/;
const HEADER_LINE = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+):[\t ]*([\t\x20-\x7e\x80-\xff]*)\r?$/;
const KEEP_ALIVE_TIMEOUT = /(?:^|[,\s])timeout=([0-9]{1,9})/i;
const DIGITS = /^[0-9]+$/;
const NOTHING: Framing = { kind: "length", bytes: 0 };

/** Reads a head without its last line break and the empty line; each byte is one character of `text`. Lines may end without a carriage return. */
export function parseResponseHead(text: string, method: string): ResponseHead {
  const lines = text.split("\n");
  const statusLine = STATUS_LINE.exec(lines[0]!);
  if (statusLine === null) throw new ResponseError("the status line is not HTTP/1");
  const headers: Header[] = [];
  for (let index = 1; index < lines.length; index += 1) {
    const line = HEADER_LINE.exec(lines[index]!);
    if (line === null) throw new ResponseError("a line of the head is no header");
    headers.push([line[1]!.toLowerCase(), line[2]!.trimEnd()]);
  }
  const status = Number(statusLine[2]);
  const isOld = statusLine[1] === "0";
  return {
    status,
    headers,
    framing: framingOf({ status, method, isOld, headers }),
    keepsAlive: keepsAlive(headers, isOld),
    promisedMs: promisedMs(headers),
  };
}

function framingOf(response: {
  status: number;
  method: string;
  isOld: boolean;
  headers: readonly Header[];
}): Framing {
  const { status, method, isOld, headers } = response;
  const length = contentLength(headers);
  const codings = tokens(headers, "transfer-encoding");
  if (status < 200 || status === 204 || status === 304 || method === "HEAD") return NOTHING;
  // What follows is the tunnel.
  if (method === "CONNECT" && status < 300) return NOTHING;
  if (codings.length > 0) {
    if (isOld) throw new ResponseError("HTTP/1.0 has no transfer codings");
    return codings.at(-1) === "chunked" ? { kind: "chunked" } : { kind: "until-close" };
  }
  return length === undefined ? { kind: "until-close" } : { kind: "length", bytes: length };
}

function contentLength(headers: readonly Header[]): number | undefined {
  let length: number | undefined;
  for (const [name, value] of headers) {
    if (name !== "content-length") continue;
    for (const text of value.split(",")) {
      const bytes = DIGITS.test(text.trim()) ? Number(text) : Number.NaN;
      if (!Number.isSafeInteger(bytes) || (length !== undefined && length !== bytes))
        throw new ResponseError("the length of the body is not clear");
      length = bytes;
    }
  }
  return length;
}

function keepsAlive(headers: readonly Header[], isOld: boolean): boolean {
  const wishes = tokens(headers, "connection");
  return isOld ? wishes.includes("keep-alive") : !wishes.includes("close");
}

function promisedMs(headers: readonly Header[]): number | undefined {
  for (const [name, value] of headers) {
    const seconds = name === "keep-alive" ? KEEP_ALIVE_TIMEOUT.exec(value)?.[1] : undefined;
    if (seconds !== undefined) return Number(seconds) * 1000;
  }
  return undefined;
}

/** The words of a header that is a list, in lower case. */
export function tokens(headers: readonly Header[], wanted: string): string[] {
  const words: string[] = [];
  for (const [name, value] of headers)
    if (name === wanted) for (const word of value.split(",")) words.push(word.trim().toLowerCase());
  return words;
}

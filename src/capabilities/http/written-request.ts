import type { Header, HttpRequest } from "./http-request.ts";
import { tokens } from "./response-head.ts";

/** A request as it goes out. */
export interface WrittenRequest {
  readonly method: string;
  /** Each character is one byte. */
  readonly head: string;
  readonly body: Uint8Array | undefined;
  /** False when the connection cannot carry another request after this one. */
  readonly keepsAlive: boolean;
}

const DIGITS = /^[0-9]+$/;
const ASCII = /^[\0-\x7f]*$/;

/** Writes a request; `target` is what it asks for, and `more` are headers for a proxy. */
export function writeRequest(
  request: HttpRequest,
  target: string,
  more: readonly Header[] = [],
): WrittenRequest {
  const headers = [...completeHeaders(request), ...more];
  const isChunked = headers.some(([name]) => name === "transfer-encoding");
  const body = isChunked ? chunked(request.body) : bodyToSend(request);
  const closes = tokens(headers, "connection").includes("close");
  return {
    method: request.method,
    head: formatHead(`${request.method} ${target} HTTP/1.1`, headers),
    body: body === undefined || body.length === 0 ? undefined : body,
    keepsAlive: !closes && (isChunked || hasRightLength(headers, body)),
  };
}

/** Repeats follow the first of their name. */
export function formatHead(firstLine: string, headers: readonly Header[]): string {
  let text = `${firstLine}\r\n`;
  for (const [name, value] of inGroups(headers)) text += `${name}: ${toBytes(value)}\r\n`;
  return `${text}\r\n`;
}

/** Headers with repeats behind the first of their name. */
export function inGroups(headers: readonly Header[]): readonly Header[] {
  const groups = new Map<string, Header[]>();
  for (const header of headers) {
    const group = groups.get(header[0]);
    if (group === undefined) groups.set(header[0], [header]);
    else group.push(header);
  }
  return groups.size === headers.length ? headers : [...groups.values()].flat();
}

/** Values go out as the bytes of their UTF-8. */
function toBytes(value: string): string {
  return ASCII.test(value) ? value : Buffer.from(value).toString("latin1");
}

/** The caller's headers, names in lower case, and what is missing: accept, host, and the length of a body. */
function completeHeaders({ url, body, headers: given }: HttpRequest): Header[] {
  const headers: Header[] = given.map(([name, value]) => [name.toLowerCase(), value]);
  const codings = tokens(headers, "transfer-encoding");
  // With both, two servers on the way may disagree about where the body ends.
  const kept = headers.filter(
    ([name, value]) => name !== "content-length" || (DIGITS.test(value) && codings.length === 0),
  );
  if (codings.length > 0 && codings.at(-1) !== "chunked") kept.push(["transfer-encoding", "chunked"]);
  const has = (wanted: string): boolean => kept.some(([name]) => name === wanted);
  if (!has("accept")) kept.push(["accept", "*/*"]);
  if (!has("host")) kept.push(["host", url.host]);
  if (body !== undefined && body.length > 0 && codings.length === 0 && !has("content-length"))
    kept.push(["content-length", String(body.length)]);
  return kept;
}

/** Not more than the caller's own content-length: the rest would be taken for another request. */
function bodyToSend({ headers, body }: HttpRequest): Uint8Array | undefined {
  const length = headers.find(
    ([name, value]) => name.toLowerCase() === "content-length" && DIGITS.test(value),
  )?.[1];
  return length === undefined ? body : body?.subarray(0, Number(length));
}

/** Otherwise the upstream server would take the next request for a part of this one, or the other way round. */
function hasRightLength(headers: readonly Header[], body: Uint8Array | undefined): boolean {
  return headers.every(([name, value]) => name !== "content-length" || Number(value) === (body?.length ?? 0));
}

function chunked(body: Uint8Array | undefined): Uint8Array {
  const end = Buffer.from("0\r\n\r\n");
  if (body === undefined || body.length === 0) return end;
  return Buffer.concat([Buffer.from(`${body.length.toString(16)}\r\n`), body, Buffer.from("\r\n"), end]);
}

import { JsonParts } from "../../rpc/json-parts.ts";
import { JsonText } from "../../rpc/json-text.ts";

/** More than the JSON around the contents of a file has at either end. */
const EDGE_BYTES = 64;
const QUOTE = '"';

/** How many bytes of contents an answer has, which is one string in base64; undefined if it has none. */
export function answerBytes(result: unknown): number | undefined {
  if (result instanceof JsonText)
    return contentBytes(result.text.length, result.text, result.text.slice(-EDGE_BYTES));
  if (result instanceof JsonParts) {
    const length = result.parts.reduce((total, part) => total + part.length, 0);
    return contentBytes(length, edge(result.parts), edge(result.parts.toReversed(), -EDGE_BYTES));
  }
  const chunk = (result as { chunk?: unknown } | null | undefined)?.chunk;
  return typeof chunk === "string" ? decodedBytes(chunk.length, chunk) : undefined;
}

/** Bytes that base64 of this length stands for; `end` is the end of the text. */
export function decodedBytes(length: number, end: string): number {
  const padding = end.endsWith("==") ? 2 : end.endsWith("=") ? 1 : 0;
  return Math.floor(((length - padding) * 3) / 4);
}

/** `{"name":"BASE64"…}`: base64 contains no quotes. */
function contentBytes(length: number, start: string, end: string): number | undefined {
  const before = start.indexOf(`":"`);
  if (before < 0) return undefined;
  const first = before + 3;
  // A short answer has both edges in one.
  const after = length <= EDGE_BYTES ? end.indexOf(QUOTE, first) : end.indexOf(QUOTE);
  if (after < 0) return undefined;
  const afterLength = end.length - after;
  return decodedBytes(length - first - afterLength, end.slice(0, after));
}

/** Text of the first bytes of the parts, or of the last ones. */
function edge(parts: readonly Uint8Array[], from = 0): string {
  let text = "";
  for (const part of parts) {
    const bytes = from < 0 ? part.subarray(from) : part.subarray(0, EDGE_BYTES);
    const more = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString("latin1");
    text = from < 0 ? more + text : text + more;
    if (text.length >= EDGE_BYTES) break;
  }
  return from < 0 ? text.slice(from) : text;
}

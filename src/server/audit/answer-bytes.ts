import { JsonText, JsonParts } from "../../rpc/json-text.ts";

/** More than the JSON around a file's contents has at either end. */
const EDGE_BYTES = 64;
const QUOTE = '"';

/** Number of content bytes in an answer, which are one base64 string; undefined if it has none. */
export function answerBytes(result: unknown): number | undefined {
  if (result instanceof JsonText)
    return contentBytes(result.text.length, result.text, result.text.slice(-EDGE_BYTES));
  if (result instanceof JsonParts) {
    const { parts } = result;
    const length = parts.reduce((total, part) => total + part.length, 0);
    const start = Buffer.concat(parts.map((part) => part.subarray(0, EDGE_BYTES)));
    const end = Buffer.concat(parts.map((part) => part.subarray(-EDGE_BYTES))).subarray(-EDGE_BYTES);
    return contentBytes(length, start.toString("latin1"), end.toString("latin1"));
  }
  const chunk = (result as { chunk?: unknown } | null | undefined)?.chunk;
  return typeof chunk === "string" ? decodedBytes(chunk) : undefined;
}

/** Number of bytes that base64 text encodes. A long text may be given by its end and its length. */
export function decodedBytes(end: string, length = end.length): number {
  const padding = end.endsWith("==") ? 2 : end.endsWith("=") ? 1 : 0;
  return Math.floor(((length - padding) * 3) / 4);
}

/** `{"name":"BASE64"…}`: base64 contains no quotes. */
function contentBytes(length: number, start: string, end: string): number | undefined {
  const before = start.indexOf(`":"`);
  if (before < 0) return undefined;
  const first = before + 3;
  // The edges of a short answer overlap.
  const after = end.indexOf(QUOTE, first - (length - end.length));
  if (after < 0) return undefined;
  const afterLength = end.length - after;
  return decodedBytes(end.slice(0, after), length - first - afterLength);
}

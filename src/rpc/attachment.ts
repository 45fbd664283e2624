import { decodeBase64InPlace } from "../base/base64.ts";
import { MalformedMessageError, type Message, parseMessage } from "../protocol/envelope.ts";
import type { IncomingRequest } from "./incoming-request.ts";
import type { LongMessage } from "../transport/transport.ts";

/** Members that may hold megabytes of base64, by method. Their handlers take the attachment before they decode. */
const ATTACHABLE: ReadonlyMap<string, string> = new Map([
  ["fs/writeFile", "dataBase64"],
  ["fs/writeBlock", "chunk"],
  ["http/request", "bodyBase64"],
]);
/** Replaces the long string while the rest is parsed. It is not valid base64, so it cannot be mistaken for data. */
const PLACEHOLDER = "<attached>";

/**
 * Parses a request without turning its long string into text: decodes the base64 from the received bytes and attaches
 * the result to the request. Returns undefined if the string is not the base64 of a known member; the message must then
 * be parsed as text.
 */
export function parseLongRequest(long: LongMessage): IncomingRequest | undefined {
  const { head, value, tail } = long;
  if (mayContainPlaceholder(head) || mayContainPlaceholder(tail)) return undefined;
  let message: Message;
  try {
    message = parseMessage(`${head}"${PLACEHOLDER}"${tail}`);
  } catch (error) {
    // Only parsing the full text can locate the fault.
    if (error instanceof MalformedMessageError) return undefined;
    throw error;
  }
  if (message.kind !== "request") return undefined;
  const { method, params } = message;
  const member = ATTACHABLE.get(method);
  if (member === undefined || typeof params !== "object" || params === null) return undefined;
  if ((params as Readonly<Record<string, unknown>>)[member] !== PLACEHOLDER) return undefined;
  const bytes = decodeBase64InPlace(value);
  if (bytes === undefined) return undefined;
  return { id: message.id, method, params, attachment: { bytes, release: () => long.release() } };
}

/** Escapes could spell it too. */
function mayContainPlaceholder(text: string): boolean {
  return text.includes(PLACEHOLDER) || text.includes("\\u");
}

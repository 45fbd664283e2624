import { decodeBase64InPlace } from "../base/base64.ts";
import { Base64Bytes } from "../base/base64-bytes.ts";
import { type IdText, MalformedMessageError, type Message, parseMessage } from "../protocol/envelope.ts";
import type { IncomingRequest } from "./incoming-request.ts";
import { MAX_TEXT_CHARACTERS } from "../protocol/wire-limits.ts";
import type { LongMessage } from "../transport/transport.ts";
import { isTextOf } from "./request-text.ts";

/** Members that may hold megabytes of base64, by method. Their handlers take the attachment before they decode. */
const ATTACHABLE: ReadonlyMap<string, string> = new Map([
  ["fs/writeFile", "dataBase64"],
  ["fs/writeBlock", "chunk"],
  ["http/request", "bodyBase64"],
]);
/** Replaces the long string while the rest is parsed. It is not valid base64, so it cannot be mistaken for data. */
const PLACEHOLDER = "<attached>";
/** Of one UTF-16 unit in UTF-8. */
const MAX_CHARACTER_BYTES = 3;

/** The same for answers. */
const ANSWERED: ReadonlyMap<string, string> = new Map([
  ["fs/readFile", "dataBase64"],
  ["fs/readBlock", "chunk"],
]);

/**
 * Parses a request without turning its long string into text: decodes the base64 from the received bytes and attaches
 * the result to the request. Returns undefined if the string is not the base64 of a known member; the message must then
 * be parsed as text.
 */
export function parseLongRequest(long: LongMessage): IncomingRequest | undefined {
  const message = parseAround(long);
  if (message?.kind !== "request") return undefined;
  const { id, method, params } = message;
  const bytes = decodeMember(long, params, ATTACHABLE.get(method));
  if (bytes === undefined) return undefined;
  return { id, method, params, attachment: { bytes, release: () => long.release() } };
}

/** Id of a request whose long string is certainly more text than it may have; it need not be decoded to be refused. */
export function idOfTooLongText(long: LongMessage): IdText | undefined {
  if (long.value.length <= MAX_TEXT_CHARACTERS * MAX_CHARACTER_BYTES) return undefined;
  const message = parseAround(long);
  if (message?.kind !== "request" || !isTextOf(message.params, PLACEHOLDER)) return undefined;
  return message.id;
}

/** Like `parseLongRequest`, for an answer, whose long member becomes `Base64Bytes`. */
export function parseLongAnswer(
  long: LongMessage,
  methodOf: (id: IdText) => string | undefined,
): Extract<Message, { kind: "response" }> | undefined {
  const message = parseAround(long);
  if (message?.kind !== "response") return undefined;
  const member = ANSWERED.get(methodOf(message.id) ?? "");
  const bytes = decodeMember(long, message.result, member);
  if (bytes === undefined || member === undefined) return undefined;
  const received = new Base64Bytes(bytes, () => long.release());
  return { ...message, result: { ...(message.result as object), [member]: received } };
}

/** The message with a placeholder for its long string. */
function parseAround({ head, tail }: LongMessage): Message | undefined {
  if (mayContainPlaceholder(head) || mayContainPlaceholder(tail)) return undefined;
  try {
    return parseMessage(`${head}"${PLACEHOLDER}"${tail}`);
  } catch (error) {
    // Only parsing the full text can locate the fault.
    if (error instanceof MalformedMessageError) return undefined;
    throw error;
  }
}

function decodeMember(
  { value }: LongMessage,
  holder: unknown,
  member: string | undefined,
): Uint8Array | undefined {
  if (member === undefined || typeof holder !== "object" || holder === null) return undefined;
  if ((holder as Readonly<Record<string, unknown>>)[member] !== PLACEHOLDER) return undefined;
  return decodeBase64InPlace(value);
}

/** Escapes could spell the placeholder, too. */
function mayContainPlaceholder(text: string): boolean {
  return text.includes(PLACEHOLDER) || text.includes("\\u");
}

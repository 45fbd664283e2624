import { decodeBase64InPlace } from "../base/base64.ts";
import { MalformedMessageError, type Message, parseMessage } from "../protocol/envelope.ts";
import type { LongMessage } from "../transport/transport.ts";

/** Members that may hold megabytes of base64, by method. Their handlers ask for `attachedBytes` before they decode. */
const ATTACHABLE: ReadonlyMap<string, string> = new Map([
  ["fs/writeFile", "dataBase64"],
  ["fs/writeBlock", "chunk"],
  ["http/request", "bodyBase64"],
]);
/** Stands for the long string while the rest is parsed. It is no base64, so that nobody can take it for bytes by mistake. */
const PLACEHOLDER = "<attached>";

interface Attachment {
  readonly bytes: Uint8Array;
  release(): void;
}

const attachments = new WeakMap<object, Attachment>();

/**
 * Parses a message without making text of its long string: the bytes that it stands for are decoded from the bytes that came, and attached to the params.
 * Undefined when the string is anything else than the base64 of such a member; the message has to be read as text then.
 */
export function parseLongMessage(long: LongMessage): Message | undefined {
  const { head, value, tail } = long;
  if (mayContainPlaceholder(head) || mayContainPlaceholder(tail)) return undefined;
  let message: Message;
  try {
    message = parseMessage(`${head}"${PLACEHOLDER}"${tail}`);
  } catch (error) {
    // The text itself has to be parsed to tell where the fault is.
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
  attachments.set(params, { bytes, release: () => long.release() });
  return message;
}

/** Also with escapes in its place. */
function mayContainPlaceholder(text: string): boolean {
  return text.includes(PLACEHOLDER) || text.includes("\\u");
}

/** What a member of these params stands for, where it came as an attachment. */
export function attachedBytes(params: object): Uint8Array | undefined {
  return attachments.get(params)?.bytes;
}

/** Lets the memory of attached bytes be used for the next message. Whoever keeps the bytes need not call it. */
export function releaseAttachment(params: object): void {
  attachments.get(params)?.release();
  attachments.delete(params);
}

/** Attaches the same to what a schema has made of params. */
export function passAttachment(from: unknown, to: unknown): void {
  if (typeof from !== "object" || from === null || typeof to !== "object" || to === null) return;
  const attachment = attachments.get(from);
  if (attachment !== undefined) attachments.set(to, attachment);
}

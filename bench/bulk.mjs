// Bulk messages are inspected without parsing: JSON.parse of a large one would measure the client.

const QUOTE = 0x22;
const PADDING = 0x3d;

/** Notifications that carry bytes, and the member that holds them. */
export const BULK_MEMBERS = { "process/output": "chunk", "http/request/bodyDelta": "deltaBase64" };

const OPENINGS = new Map(
  [...Object.values(BULK_MEMBERS), "dataBase64"].map((name) => [name, Buffer.from(`"${name}":"`)]),
);

function base64Range(message, member) {
  const opening = OPENINGS.get(member);
  const at = message.indexOf(opening);
  if (at === -1) throw new Error(`no ${member} in ${message.toString("latin1", 0, 200)}`);
  const start = at + opening.length;
  return { start, end: message.indexOf(QUOTE, start) };
}

/** Number of bytes that the base64 text of `member` encodes. */
export function byteCount(message, member = "chunk") {
  const { start, end } = base64Range(message, member);
  if (end === start) return 0;
  const padding = message[end - 1] !== PADDING ? 0 : message[end - 2] !== PADDING ? 1 : 2;
  return ((end - start) / 4) * 3 - padding;
}

export function bytesOf(message, member = "chunk") {
  const { start, end } = base64Range(message, member);
  return Buffer.from(message.toString("latin1", start, end), "base64");
}

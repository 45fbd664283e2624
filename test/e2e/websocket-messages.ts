const HEAD_END = "\r\n\r\n";

/** A message and the position of its last byte. */
export interface FoundMessage {
  readonly text: string;
  readonly end: number;
}

/**
 * Reads along on one direction of a WebSocket connection, without taking part in it: the HTTP head first, then frames,
 * masked or not. Compressed frames are not understood: neither side offers compression.
 */
export class WebSocketMessages {
  head: string | undefined;
  #unread: Buffer = Buffer.alloc(0);
  #fragments: Buffer[] = [];

  /** The messages that are complete with these bytes. */
  push(bytes: Buffer): FoundMessage[] {
    const carried = this.#unread.length;
    this.#unread = Buffer.concat([this.#unread, bytes]);
    const total = this.#unread.length;
    if (this.head === undefined) {
      const end = this.#unread.indexOf(HEAD_END);
      if (end === -1) return [];
      this.head = this.#unread.toString("latin1", 0, end);
      this.#unread = this.#unread.subarray(end + HEAD_END.length);
    }
    const found: FoundMessage[] = [];
    for (let frame = takeFrame(this.#unread); frame !== undefined; frame = takeFrame(this.#unread)) {
      this.#unread = frame.rest;
      const text = this.#assemble(frame);
      if (text !== undefined) found.push({ text, end: total - carried - this.#unread.length });
    }
    return found;
  }

  #assemble({ opcode, final, payload }: Frame): string | undefined {
    // Control frames may come between the fragments of a message.
    if (opcode >= 8) return undefined;
    this.#fragments.push(payload);
    if (!final) return undefined;
    const text = Buffer.concat(this.#fragments).toString();
    this.#fragments = [];
    return text;
  }
}

interface Frame {
  readonly opcode: number;
  readonly final: boolean;
  readonly payload: Buffer;
  readonly rest: Buffer;
}

/** The first frame, unmasked, and what follows it; undefined if it is not complete. */
export function takeFrame(bytes: Buffer): Frame | undefined {
  const [first, second] = bytes;
  if (first === undefined || second === undefined) return undefined;
  const short = second & 0x7f;
  const lengthEnd = short === 126 ? 4 : short === 127 ? 10 : 2;
  const start = lengthEnd + (second & 0x80 ? 4 : 0);
  if (bytes.length < start) return undefined;
  const length =
    short === 126 ? bytes.readUInt16BE(2) : short === 127 ? Number(bytes.readBigUInt64BE(2)) : short;
  if (bytes.length < start + length) return undefined;
  const payload = Buffer.from(bytes.subarray(start, start + length));
  const mask = bytes.subarray(lengthEnd, start);
  if (mask.length > 0) {
    for (let i = 0; i < length; i += 1) payload[i] = (payload[i] ?? 0) ^ (mask[i % 4] ?? 0);
  }
  return {
    opcode: first & 0x0f,
    final: (first & 0x80) !== 0,
    payload,
    rest: bytes.subarray(start + length),
  };
}

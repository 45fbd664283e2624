// Hand-written WebSocket framing for the client, so that the client costs the same small amount with every server.

const OPCODE = { continuation: 0, text: 1, binary: 2, close: 8, ping: 9, pong: 10 };

/** A masked frame. The mask is zero: valid on the wire, and it saves the client a pass over the bytes. */
function encodeFrame(opcode, payload) {
  const length = payload.length;
  const headerBytes = length < 126 ? 6 : length < 65_536 ? 8 : 14;
  const frame = Buffer.allocUnsafe(headerBytes + length);
  frame[0] = 0x80 | opcode;
  if (headerBytes === 6) {
    frame[1] = 0x80 | length;
  } else if (headerBytes === 8) {
    frame[1] = 0x80 | 126;
    frame.writeUInt16BE(length, 2);
  } else {
    frame[1] = 0x80 | 127;
    frame.writeBigUInt64BE(BigInt(length), 2);
  }
  frame.fill(0, headerBytes - 4, headerBytes);
  payload.copy(frame, headerBytes);
  return frame;
}

export const encodeText = (text) => encodeFrame(OPCODE.text, Buffer.from(text));

/** Splits a byte stream into messages. A message is valid only during the callback: it may lie in the read buffer. */
export class FrameReader {
  #rest = Buffer.alloc(0);
  #restBytes = 0;
  #fragments = [];
  #onMessage;
  #onControl;

  constructor({ onMessage, onControl }) {
    this.#onMessage = onMessage;
    this.#onControl = onControl;
  }

  push(bytes) {
    if (this.#restBytes === 0) {
      this.#keep(bytes, this.#consume(bytes));
      return;
    }
    this.#append(bytes);
    const all = this.#rest.subarray(0, this.#restBytes);
    const used = this.#consume(all);
    this.#rest.copyWithin(0, used, this.#restBytes);
    this.#restBytes -= used;
  }

  #keep(bytes, used) {
    if (used < bytes.length) this.#append(bytes.subarray(used));
  }

  #append(bytes) {
    const needed = this.#restBytes + bytes.length;
    if (needed > this.#rest.length) {
      const grown = Buffer.allocUnsafe(Math.max(needed, this.#rest.length * 2));
      this.#rest.copy(grown, 0, 0, this.#restBytes);
      this.#rest = grown;
    }
    bytes.copy(this.#rest, this.#restBytes);
    this.#restBytes = needed;
  }

  /** Returns the number of bytes that formed whole frames. */
  #consume(bytes) {
    let at = 0;
    while (bytes.length - at >= 2) {
      let length = bytes[at + 1] & 0x7f;
      let payloadAt = at + 2;
      if (length === 126) {
        if (bytes.length - at < 4) break;
        length = bytes.readUInt16BE(at + 2);
        payloadAt = at + 4;
      } else if (length === 127) {
        if (bytes.length - at < 10) break;
        length = Number(bytes.readBigUInt64BE(at + 2));
        payloadAt = at + 10;
      }
      if (bytes.length - payloadAt < length) break;
      this.#frame(bytes[at], bytes.subarray(payloadAt, payloadAt + length));
      at = payloadAt + length;
    }
    return at;
  }

  #frame(head, payload) {
    const opcode = head & 0x0f;
    const final = (head & 0x80) !== 0;
    if (opcode >= OPCODE.close) {
      this.#onControl(opcode, payload);
    } else if (final && opcode !== OPCODE.continuation) {
      this.#onMessage(payload);
    } else {
      this.#fragments.push(Buffer.from(payload));
      if (final) this.#onMessage(Buffer.concat(this.#fragments.splice(0)));
    }
  }
}

/** The answer that a control frame requires, or null. */
export function answerControl(opcode, payload) {
  return opcode === OPCODE.ping ? encodeFrame(OPCODE.pong, payload) : null;
}

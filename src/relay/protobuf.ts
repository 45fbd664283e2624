import { isUtf8 } from "node:buffer";

const VARINT = 0;
const FIXED_64 = 1;
const BYTES = 2;
const FIXED_32 = 5;
const WIRE_TYPE_BITS = 3;
const WIRE_TYPE_MASK = 0b111;
const MAX_VARINT_BYTES = 10;

/** Bytes that are not a message. */
export class ProtobufError extends Error {}

/** Reads the fields of a message that have a value, in their order. Fields of fixed length are skipped. */
export class FieldReader {
  readonly #message: Buffer;
  #at = 0;
  /** Whether the last number had more than 32 bits. */
  #wasLong = false;
  /** Of the current field. */
  number = 0;
  /** Its number, as readers of 32 bits see it; 0 for a field of bytes. */
  value = 0;
  /** Undefined for a field with a number. */
  bytes: Buffer | undefined;

  constructor(message: Buffer) {
    this.#message = message;
  }

  /** Goes on to the next field; false at the end. Throws a ProtobufError. */
  next(): boolean {
    while (this.#at < this.#message.length) {
      const tag = this.#varint();
      this.number = tag >>> WIRE_TYPE_BITS;
      if (this.number === 0 || this.#wasLong) throw new ProtobufError("a field has no number");
      switch (tag & WIRE_TYPE_MASK) {
        case VARINT:
          this.bytes = undefined;
          this.value = this.#varint();
          return true;
        case BYTES:
          this.value = 0;
          this.bytes = this.#prefixed();
          return true;
        case FIXED_64:
          this.#take(8);
          break;
        case FIXED_32:
          this.#take(4);
          break;
        default:
          throw new ProtobufError("a field has an unknown type");
      }
    }
    return false;
  }

  #varint(): number {
    let low = 0;
    let high = 0;
    for (let index = 0; index < MAX_VARINT_BYTES; index += 1) {
      const byte = this.#message[this.#at];
      if (byte === undefined) throw new ProtobufError("a number is cut off");
      this.#at += 1;
      const bits = byte & 0x7f;
      if (index < 5) low |= bits << (7 * index);
      if (index === 4) high = bits >> 4;
      else if (index > 4) high |= bits;
      if (byte >= 0x80) continue;
      this.#wasLong = high !== 0;
      return low >>> 0;
    }
    throw new ProtobufError("a number is too long");
  }

  #prefixed(): Buffer {
    const length = this.#varint();
    if (this.#wasLong) throw new ProtobufError("a field is cut off");
    return this.#take(length);
  }

  #take(length: number): Buffer {
    if (length > this.#message.length - this.#at) throw new ProtobufError("a field is cut off");
    this.#at += length;
    return this.#message.subarray(this.#at - length, this.#at);
  }
}

export function text(bytes: Buffer): string {
  if (!isUtf8(bytes)) throw new ProtobufError("a text is not UTF-8");
  return bytes.toString("utf8");
}

/** Adds a field with a number; zero is the default and is left out. */
export function addNumber(to: number[], field: number, value: number): void {
  if (value === 0) return;
  addTag(to, field, VARINT);
  addVarint(to, value);
}

/** Adds what stands before the bytes of a field. */
export function addBytesHead(to: number[], field: number, length: number): void {
  addTag(to, field, BYTES);
  addVarint(to, length);
}

export function numberField(field: number, value: number): Buffer {
  const bytes: number[] = [];
  addNumber(bytes, field, value);
  return Buffer.from(bytes);
}

export function bytesField(field: number, bytes: Uint8Array): Buffer {
  const head: number[] = [];
  addBytesHead(head, field, bytes.length);
  return Buffer.concat([Buffer.from(head), bytes]);
}

function addTag(to: number[], field: number, type: number): void {
  addVarint(to, field * 2 ** WIRE_TYPE_BITS + type);
}

/** `value` is a whole number below 2^53. */
function addVarint(to: number[], value: number): void {
  let rest = value;
  for (; rest >= 0x80; rest = Math.floor(rest / 0x80)) to.push((rest % 0x80) | 0x80);
  to.push(rest);
}

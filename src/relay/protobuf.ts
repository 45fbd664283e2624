import { isUtf8 } from "node:buffer";

const VARINT = 0;
const FIXED_64 = 1;
const BYTES = 2;
const FIXED_32 = 5;
const WIRE_TYPE_BITS = 3;
const WIRE_TYPE_MASK = 0b111;
const MAX_VARINT_BYTES = 10;

/** A field as it stands in a message of Protocol Buffers; numbers are those of 32 bits, as readers of such fields see them. */
export type Field =
  | { readonly number: number; readonly value: number }
  | { readonly number: number; readonly bytes: Buffer };

/** Bytes that are not a message. */
export class ProtobufError extends Error {}

/** The fields that have a value, in their order. Fields of fixed length are skipped. */
export function* readFields(message: Buffer): Generator<Field> {
  let at = 0;
  /** Whether the last number had more than 32 bits. */
  let wasLong = false;
  const varint = (): number => {
    let low = 0;
    let high = 0;
    for (let index = 0; index < MAX_VARINT_BYTES; index += 1) {
      const byte = message[at];
      if (byte === undefined) throw new ProtobufError("a number is cut off");
      at += 1;
      const bits = byte & 0x7f;
      if (index < 5) low |= bits << (7 * index);
      if (index === 4) high = bits >> 4;
      else if (index > 4) high |= bits;
      if (byte >= 0x80) continue;
      wasLong = high !== 0;
      return low >>> 0;
    }
    throw new ProtobufError("a number is too long");
  };
  const take = (length: number): Buffer => {
    if (length > message.length - at) throw new ProtobufError("a field is cut off");
    at += length;
    return message.subarray(at - length, at);
  };
  const takePrefixed = (): Buffer => {
    const length = varint();
    if (wasLong) throw new ProtobufError("a field is cut off");
    return take(length);
  };
  while (at < message.length) {
    const tag = varint();
    const number = tag >>> WIRE_TYPE_BITS;
    if (number === 0 || wasLong) throw new ProtobufError("a field has no number");
    switch (tag & WIRE_TYPE_MASK) {
      case VARINT:
        yield { number, value: varint() };
        break;
      case BYTES:
        yield { number, bytes: takePrefixed() };
        break;
      case FIXED_64:
        take(8);
        break;
      case FIXED_32:
        take(4);
        break;
      default:
        throw new ProtobufError("a field has an unknown type");
    }
  }
}

export function text(bytes: Buffer): string {
  if (!isUtf8(bytes)) throw new ProtobufError("a text is not UTF-8");
  return bytes.toString("utf8");
}

/** A field with a number; zero is the default and is left out. */
export function numberField(number: number, value: number): Buffer {
  return value === 0 ? Buffer.alloc(0) : Buffer.concat([tag(number, VARINT), varint(value)]);
}

export function bytesField(number: number, bytes: Uint8Array): Buffer {
  return Buffer.concat([bytesHead(number, bytes.length), bytes]);
}

/** What stands before the bytes of a field. */
export function bytesHead(number: number, length: number): Buffer {
  return Buffer.concat([tag(number, BYTES), varint(length)]);
}

function tag(number: number, type: number): Buffer {
  return varint(number * 2 ** WIRE_TYPE_BITS + type);
}

/** `value` is a whole number below 2^53. */
function varint(value: number): Buffer {
  const bytes: number[] = [];
  let rest = value;
  for (; rest >= 0x80; rest = Math.floor(rest / 0x80)) bytes.push((rest % 0x80) | 0x80);
  bytes.push(rest);
  return Buffer.from(bytes);
}

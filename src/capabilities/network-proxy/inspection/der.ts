/**
 * Writes DER (X.690), as far as certificates need it. Nothing here reads it: what is written comes from this program, and
 * parts that come from elsewhere, such as keys and signatures, are DER already.
 */

const TAG = {
  boolean: 0x01,
  integer: 0x02,
  bitString: 0x03,
  octetString: 0x04,
  objectId: 0x06,
  utf8String: 0x0c,
  utcTime: 0x17,
  generalizedTime: 0x18,
  sequence: 0x30,
  set: 0x31,
} as const;

export function sequence(...parts: readonly Buffer[]): Buffer {
  return element(TAG.sequence, Buffer.concat(parts));
}

export function set(...parts: readonly Buffer[]): Buffer {
  return element(TAG.set, Buffer.concat(parts));
}

/** A positive integer, from its bytes or its value, which has one byte. */
export function integer(value: Uint8Array | number): Buffer {
  const bytes = typeof value === "number" ? Buffer.from([value]) : Buffer.from(value);
  let start = 0;
  while (start < bytes.length - 1 && bytes[start] === 0) start += 1;
  const shortest = bytes.subarray(start);
  // The first bit is the sign.
  return element(TAG.integer, shortest[0]! < 0x80 ? shortest : Buffer.concat([Buffer.of(0), shortest]));
}

export function boolean(value: boolean): Buffer {
  return element(TAG.boolean, Buffer.of(value ? 0xff : 0));
}

export function octetString(content: Uint8Array): Buffer {
  return element(TAG.octetString, content);
}

/** `unusedBits` is the number of bits at the end that do not count. */
export function bitString(content: Uint8Array, unusedBits = 0): Buffer {
  return element(TAG.bitString, Buffer.concat([Buffer.of(unusedBits), content]));
}

export function utf8String(text: string): Buffer {
  return element(TAG.utf8String, Buffer.from(text));
}

/** `1.2.840.10045.4.3.2` */
export function objectId(dotted: string): Buffer {
  const [first = 0, second = 0, ...rest] = dotted.split(".").map(Number);
  return element(TAG.objectId, Buffer.from([first * 40 + second, ...rest.flatMap(base128)]));
}

/** X.509 has two forms, and prescribes which years are written in which. */
export function time(date: Date): Buffer {
  const text = date.toISOString().replaceAll(/[-:T]|\.\d+/g, "");
  const isShort = date.getUTCFullYear() < 2050;
  return element(isShort ? TAG.utcTime : TAG.generalizedTime, Buffer.from(isShort ? text.slice(2) : text));
}

/** An element whose tag depends on its place; `constructed` if its content are elements. */
export function contextual(
  tag: number,
  content: Uint8Array,
  { constructed }: { constructed: boolean },
): Buffer {
  return element(0x80 | (constructed ? 0x20 : 0) | tag, content);
}

function element(tag: number, content: Uint8Array): Buffer {
  return Buffer.concat([Buffer.of(tag), lengthOf(content.length), content]);
}

function lengthOf(length: number): Buffer {
  if (length < 0x80) return Buffer.of(length);
  const bytes: number[] = [];
  for (let rest = length; rest > 0; rest = Math.floor(rest / 256)) bytes.unshift(rest % 256);
  return Buffer.from([0x80 | bytes.length, ...bytes]);
}

/** Seven bits for each byte; the first bit says that more follow. */
function base128(value: number): number[] {
  const bytes = [value % 128];
  for (let rest = Math.floor(value / 128); rest > 0; rest = Math.floor(rest / 128))
    bytes.unshift(0x80 | (rest % 128));
  return bytes;
}

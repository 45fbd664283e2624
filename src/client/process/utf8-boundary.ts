/** Length of the character that starts with this byte. Bytes that start no character count as one. */
function characterLength(lead: number): number {
  if (lead >= 0xc2 && lead <= 0xdf) return 2;
  if (lead >= 0xe0 && lead <= 0xef) return 3;
  if (lead >= 0xf0 && lead <= 0xf4) return 4;
  return 1;
}

const isContinuation = (byte: number | undefined): boolean => byte !== undefined && (byte & 0xc0) === 0x80;

/** The largest length up to `end` that does not split a character. Bytes that are not UTF-8 are cut at `end`. */
export function cutEnd(bytes: Uint8Array, end: number): number {
  for (let start = end - 1; start >= 0 && start >= end - 3; start -= 1) {
    const byte = bytes[start]!;
    if (isContinuation(byte)) continue;
    return start + characterLength(byte) > end ? start : end;
  }
  return end;
}

/** The smallest offset from `start` on that does not split a character. Bytes that are not UTF-8 are cut at `start`. */
export function cutStart(bytes: Uint8Array, start: number): number {
  let offset = start;
  while (isContinuation(bytes[offset])) {
    offset += 1;
    if (offset - start > 3) return start;
  }
  return offset;
}

/** Joins the pieces of one stream so that no piece ends inside a character. Holds back at most three bytes. */
export class CharacterJoiner {
  #held: Uint8Array = new Uint8Array(0);

  /** The bytes that are complete with this piece. */
  push(piece: Uint8Array): Uint8Array {
    const bytes = concatBytes(this.#held, piece);
    const end = cutEnd(bytes, bytes.length);
    this.#held = bytes.slice(end);
    return bytes.subarray(0, end);
  }

  /** Bytes still held back at the end. */
  flush(): Uint8Array {
    const held = this.#held;
    this.#held = new Uint8Array(0);
    return held;
  }
}

export function concatBytes(first: Uint8Array, second: Uint8Array): Uint8Array {
  if (first.length === 0) return second;
  if (second.length === 0) return first;
  const joined = new Uint8Array(first.length + second.length);
  joined.set(first);
  joined.set(second, first.length);
  return joined;
}

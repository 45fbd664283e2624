import { Transform, type TransformCallback } from "node:stream";

/** Two texts of the same length, so that nothing else in a message has to change. */
export interface Replacement {
  readonly from: string;
  readonly to: string;
}

/** What has to be replaced at this moment. The same array as long as nothing changes. */
export type Restoring = () => readonly Replacement[];

export function replaceAllText(text: string, replacements: readonly Replacement[]): string {
  return replacements.reduce((replaced, { from, to }) => replaced.replaceAll(from, to), text);
}

/**
 * A secret as it is, in base64 wherever it begins in what is encoded, and in hexadecimal digits. At its ends, base64
 * mixes a character with its neighbours: these up to four bits are not replaced.
 */
export function encodings(secret: string, standIn: string): Replacement[] {
  const pairs: Replacement[] = [{ from: secret, to: standIn }];
  for (let offset = 0; offset < 3; offset += 1) {
    const from = base64Core(secret, offset);
    const to = base64Core(standIn, offset);
    pairs.push({ from, to });
    if (/[+/]/.test(from)) pairs.push({ from: urlSafe(from), to: urlSafe(to) });
  }
  const [from, to] = [secret, standIn].map((text) => Buffer.from(text).toString("hex")) as [string, string];
  pairs.push({ from, to });
  if (/[a-f]/.test(from)) pairs.push({ from: from.toUpperCase(), to: to.toUpperCase() });
  return pairs;
}

/** The characters of base64 that depend on the text alone, if `offset` bytes precede it in its group of three. */
function base64Core(text: string, offset: number): string {
  const encoded = Buffer.concat([Buffer.alloc(offset), Buffer.from(text)]).toString("base64");
  const bits = (offset + Buffer.byteLength(text)) * 8;
  return encoded.slice(Math.ceil((offset * 8) / 6), Math.floor(bits / 6));
}

function urlSafe(text: string): string {
  return text.replaceAll("+", "-").replaceAll("/", "_");
}

/** Replaces in a stream, however it is cut into chunks. What may be the beginning of a match waits for the next chunk. */
export class ReplacingStream extends Transform {
  readonly #restoring: Restoring;
  #replacements: readonly Replacement[] = [];
  #pairs: readonly { readonly from: Buffer; readonly to: Buffer }[] = [];
  #held: Buffer = Buffer.alloc(0);

  constructor(restoring: Restoring) {
    super();
    this.#restoring = restoring;
  }

  override _transform(chunk: Buffer, _encoding: BufferEncoding, done: TransformCallback): void {
    this.#update();
    const bytes = this.#held.length === 0 ? chunk : Buffer.concat([this.#held, chunk]);
    const replaced = this.#replace(bytes);
    const end = replaced.length - this.#undecided(replaced);
    this.#held = replaced.subarray(end);
    done(null, end === 0 ? undefined : replaced.subarray(0, end));
  }

  override _flush(done: TransformCallback): void {
    done(null, this.#held.length === 0 ? undefined : this.#held);
  }

  #update(): void {
    const replacements = this.#restoring();
    if (replacements === this.#replacements) return;
    this.#replacements = replacements;
    this.#pairs = replacements.map(({ from, to }) => ({ from: Buffer.from(from), to: Buffer.from(to) }));
  }

  #replace(bytes: Buffer): Buffer {
    let replaced = bytes;
    for (const { from, to } of this.#pairs) {
      for (let at = replaced.indexOf(from); at >= 0; at = replaced.indexOf(from, at + to.length)) {
        // The chunk may be somebody else's memory.
        if (replaced === bytes) replaced = Buffer.from(bytes);
        to.copy(replaced, at);
      }
    }
    return replaced;
  }

  /** Length of the longest end that is the beginning of a match. */
  #undecided(bytes: Buffer): number {
    let longest = 0;
    for (const { from } of this.#pairs) {
      const first = from[0]!;
      const earliest = Math.max(0, bytes.length - from.length + 1);
      for (let at = bytes.indexOf(first, earliest); at >= 0; at = bytes.indexOf(first, at + 1)) {
        const length = bytes.length - at;
        if (length <= longest) break;
        if (from.compare(bytes, at, bytes.length, 0, length) === 0) {
          longest = length;
          break;
        }
      }
    }
    return longest;
  }
}

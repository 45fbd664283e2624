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

/** Characters of which secrets and their encodings usually consist. */
const USUAL = /[A-Za-z0-9+/=_.~-]/g;
const USUAL_BYTES = Array.from({ length: 256 }, (_, byte) => String.fromCharCode(byte).match(USUAL) !== null);

/**
 * Replaces in a text that comes in pieces, however it is cut. What waits for the next piece depends on the kind of its
 * last characters, and not on the secret: otherwise, whoever has a host repeat guesses would see which of them wait.
 */
export class Replacer {
  readonly #restoring: Restoring;
  #replacements: readonly Replacement[] | undefined;
  #pairs: readonly { readonly from: Buffer; readonly to: Buffer }[] = [];
  /** By byte, whether it may be part of a secret. */
  #occurs: readonly boolean[] = USUAL_BYTES;
  #longest = 0;
  #held: Buffer = Buffer.alloc(0);

  constructor(restoring: Restoring) {
    this.#restoring = restoring;
  }

  /** What can be passed on now. */
  push(piece: Buffer): Buffer {
    this.#update();
    const bytes = this.#held.length === 0 ? piece : Buffer.concat([this.#held, piece]);
    const replaced = this.#replace(bytes);
    const end = replaced.length - this.#undecided(replaced);
    this.#held = replaced.subarray(end);
    return replaced.subarray(0, end);
  }

  /** The rest, at the end. */
  flush(): Buffer {
    const rest = this.#held;
    this.#held = Buffer.alloc(0);
    return rest;
  }

  #update(): void {
    const replacements = this.#restoring();
    if (replacements === this.#replacements) return;
    this.#replacements = replacements;
    this.#pairs = replacements.map(({ from, to }) => ({ from: Buffer.from(from), to: Buffer.from(to) }));
    this.#longest = Math.max(0, ...replacements.map(({ from }) => from.length));
    const unusual = new Set(Buffer.from(replacements.map(({ from }) => from.replaceAll(USUAL, "")).join("")));
    this.#occurs = USUAL_BYTES.map((isUsual, byte) => isUsual || unusual.has(byte));
  }

  #replace(bytes: Buffer): Buffer {
    let replaced = bytes;
    for (const { from, to } of this.#pairs) {
      for (let at = replaced.indexOf(from); at >= 0; at = replaced.indexOf(from, at + to.length)) {
        // The piece may be somebody else's memory.
        if (replaced === bytes) replaced = Buffer.from(bytes);
        to.copy(replaced, at);
      }
    }
    return replaced;
  }

  /** Length of the end that could belong to a secret. */
  #undecided(bytes: Buffer): number {
    const earliest = Math.max(0, bytes.length - this.#longest + 1);
    let start = bytes.length;
    while (start > earliest && this.#occurs[bytes[start - 1]!] === true) start -= 1;
    return bytes.length - start;
  }
}

/** The same for a stream. */
export class ReplacingStream extends Transform {
  readonly #replacer: Replacer;

  constructor(restoring: Restoring) {
    super();
    this.#replacer = new Replacer(restoring);
  }

  override _transform(chunk: Buffer, _encoding: BufferEncoding, done: TransformCallback): void {
    done(null, unlessEmpty(this.#replacer.push(chunk)));
  }

  override _flush(done: TransformCallback): void {
    done(null, unlessEmpty(this.#replacer.flush()));
  }
}

function unlessEmpty(bytes: Buffer): Buffer | undefined {
  return bytes.length === 0 ? undefined : bytes;
}

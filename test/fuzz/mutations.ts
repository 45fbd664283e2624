import type { SeededRandom } from "../fault/seeded-random.ts";

const EDGES = [
  0, 1, 0x0a, 0x0d, 0x20, 0x22, 0x5c, 0x7d, 0x7e, 0x7f, 0x80, 0x81, 0xbf, 0xc0, 0xe0, 0xf0, 0xfe, 0xff,
];
const NUMBERS = [
  0,
  1,
  125,
  126,
  127,
  128,
  255,
  256,
  4095,
  4096,
  65_535,
  65_536,
  2 ** 31 - 1,
  2 ** 31,
  2 ** 32 - 1,
];
const MAX_STEPS = 6;

type Mutation = (input: Buffer, random: SeededRandom, words: readonly Buffer[]) => Buffer;

/** Often beside what separates: a quote, a bracket, a blank. */
function place(input: Buffer, random: SeededRandom): number {
  const at = random.between(0, input.length);
  if (random.next() < 0.5) return at;
  for (let near = at; near < input.length; near += 1)
    if (!isWord(input[near]!)) return near + random.between(0, 1);
  return input.length;
}

/** A letter, a digit, or part of a character that is not ASCII. */
function isWord(byte: number): boolean {
  return byte >= 0x80 || (byte >= 0x30 && byte <= 0x39) || ((byte | 0x20) >= 0x61 && (byte | 0x20) <= 0x7a);
}

const printable = (random: SeededRandom): number => random.between(0x20, 0x7e);

function replaced(input: Buffer, start: number, end: number, bytes: Uint8Array): Buffer {
  return Buffer.concat([input.subarray(0, start), bytes, input.subarray(end)]);
}

function withByte(input: Buffer, random: SeededRandom, change: (byte: number) => number): Buffer {
  const copy = Buffer.from(input);
  const at = Math.max(0, place(input, random) - 1);
  if (copy.length > 0) copy[at] = change(copy[at]!);
  return copy;
}

/** Mostly short. */
function range(input: Buffer, random: SeededRandom): readonly [number, number] {
  const start = place(input, random);
  const length = random.between(1, random.next() < 0.7 ? 8 : Math.max(1, input.length));
  return [start, Math.min(input.length, start + length)];
}

const MUTATIONS: readonly Mutation[] = [
  (input, random) => withByte(input, random, (byte) => byte ^ (1 << random.between(0, 7))),
  (input, random) => withByte(input, random, () => random.between(0, 255)),
  (input, random) => withByte(input, random, () => printable(random)),
  (input, random) => withByte(input, random, () => random.pick(EDGES)),
  (input, random) => withByte(input, random, (byte) => (byte + random.between(-8, 8)) & 0xff),
  function writeNumber(input, random) {
    const bytes = random.pick([1, 2, 4]);
    const copy = Buffer.from(input);
    if (copy.length < bytes) return copy;
    const at = random.between(0, copy.length - bytes);
    const number = random.pick(NUMBERS) % 2 ** (8 * bytes);
    if (random.next() < 0.5) copy.writeUIntBE(number, at, bytes);
    else copy.writeUIntLE(number, at, bytes);
    return copy;
  },
  function remove(input, random) {
    const [start, end] = range(input, random);
    return replaced(input, start, end, Buffer.alloc(0));
  },
  function repeat(input, random) {
    const [start, end] = range(input, random);
    const times = random.next() < 0.9 ? 1 : random.between(2, 16);
    return replaced(input, end, end, Buffer.concat(Array<Buffer>(times).fill(input.subarray(start, end))));
  },
  function copy(input, random) {
    const [start, end] = range(input, random);
    const at = place(input, random);
    return replaced(input, at, random.next() < 0.5 ? at : at + end - start, input.subarray(start, end));
  },
  function insertPrintable(input, random) {
    const at = place(input, random);
    return replaced(input, at, at, Buffer.of(printable(random)));
  },
  function insert(input, random) {
    const at = place(input, random);
    return replaced(input, at, at, random.bytes(random.between(1, 6)));
  },
  function insertRun(input, random) {
    const at = place(input, random);
    const byte = random.next() < 0.5 ? random.pick(EDGES) : (input[at] ?? 0);
    return replaced(input, at, at, Buffer.alloc(random.between(1, random.next() < 0.8 ? 16 : 400), byte));
  },
  insertWord,
  insertWord,
  function overwriteWithWord(input, random, words) {
    if (words.length === 0) return input;
    const at = place(input, random);
    const word = random.pick(words);
    return replaced(input, at, at + word.length, word);
  },
  function replaceDigits(input, random) {
    const text = input.toString("latin1");
    const numbers = [...text.matchAll(/\d+/g)];
    if (numbers.length === 0) return input;
    const { index, 0: digits } = random.pick(numbers);
    const number = random.next() < 0.5 ? Number(digits) + random.between(-2, 2) : random.pick(NUMBERS);
    return replaced(input, index, index + digits.length, Buffer.from(String(number)));
  },
];

function insertWord(input: Buffer, random: SeededRandom, words: readonly Buffer[]): Buffer {
  if (words.length === 0) return input;
  const at = place(input, random);
  return replaced(input, at, at, random.pick(words));
}

/** The input after a few changes, sometimes with the end of another one. */
export function mutated(
  input: Buffer,
  other: Buffer,
  random: SeededRandom,
  { words, maxBytes }: { words: readonly Buffer[]; maxBytes: number },
): Buffer {
  let result = input;
  if (random.next() < 0.1)
    result = Buffer.concat([input.subarray(0, place(input, random)), other.subarray(place(other, random))]);
  for (let steps = random.between(1, MAX_STEPS); steps > 0; steps -= 1) {
    result = random.pick(MUTATIONS)(result, random, words);
    if (result.length > maxBytes) result = result.subarray(0, maxBytes);
  }
  return result;
}

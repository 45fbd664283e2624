import { SeededRandom } from "../fault/seeded-random.ts";
import { Coverage } from "./coverage.ts";
import { mutated } from "./mutations.ts";
import type { Target } from "./target.ts";

const MAX_BYTES = 4 * 1024;
/** No input of this length may take longer. The fastest of a few runs counts, as the machine may be busy. */
const SLOW_MS = 1_000;
const SLOW_RUNS = 4;
const MAX_MINIMIZING_RUNS = 3_000;
const MINIMIZING_ROUNDS = 4;
/** The digit 0: it belongs to numbers, names and texts alike. */
const PLAINEST = 0x30;
/** How often an input comes from the sources' literals instead of the target's words. */
const LITERALS_SHARE = 0.3;
/** Recent finds of new branches are the most promising. */
const RECENT_SHARE = 0.3;
const RECENT = 20;

export interface FuzzOptions {
  readonly seed: number;
  /** Inputs that earlier runs have kept. */
  readonly corpus: readonly Uint8Array[];
  /** Literals of the sources. */
  readonly literals: readonly string[];
  /** Called before each input, for those who watch. */
  begin(input: Buffer): void;
  /** Called for each input that reaches a new branch. */
  keep(input: Buffer): void;
  /** Asked after each case. */
  isOver(cases: number): boolean;
}

export interface Find {
  readonly input: Buffer;
  readonly message: string;
}

export interface FuzzReport {
  readonly cases: number;
  readonly branches: number;
  readonly corpus: number;
  readonly find?: Find;
}

/** Runs a target with one input after another until one shows a fault, which is then minimised. */
export class Fuzzer {
  readonly #target: Target;
  readonly #options: FuzzOptions;
  readonly #coverage = new Coverage();
  readonly #corpus: Buffer[] = [];
  readonly #random: SeededRandom;
  #cases = 0;

  constructor(target: Target, options: FuzzOptions) {
    this.#target = target;
    this.#options = options;
    this.#random = new SeededRandom(options.seed);
  }

  async run(): Promise<FuzzReport> {
    const { seeds, words = [], maxBytes = MAX_BYTES } = this.#target;
    const own = words.map((word) => Buffer.from(word));
    const literals = this.#options.literals.map((literal) => Buffer.from(literal));
    // First what has shown a fault before.
    for (const seed of [...this.#options.corpus, ...seeds]) {
      if (this.#options.isOver(this.#cases)) return this.#report();
      const find = await this.#try(Buffer.from(seed), true);
      if (find !== undefined) return this.#report(find);
    }
    while (!this.#options.isOver(this.#cases)) {
      const random = this.#random;
      const words = random.next() < LITERALS_SHARE || own.length === 0 ? literals : own;
      const input = mutated(this.#pick(), this.#pick(), random, { words, maxBytes });
      const find = await this.#try(input, false);
      if (find !== undefined) return this.#report(find);
    }
    return this.#report();
  }

  #report(find?: Find): FuzzReport {
    const { branches } = this.#coverage;
    return { cases: this.#cases, branches, corpus: this.#corpus.length, ...(find && { find }) };
  }

  /** The shorter of two: a change of it is more likely to matter. */
  #pick(): Buffer {
    const corpus = this.#corpus;
    const isRecent = this.#random.next() < RECENT_SHARE;
    const from = isRecent ? Math.max(0, corpus.length - RECENT) : 0;
    const [one, other] = [0, 1].map(() => corpus[this.#random.between(from, corpus.length - 1)]!);
    return one!.length < other!.length ? one! : other!;
  }

  async #try(input: Buffer, isSeed: boolean): Promise<Find | undefined> {
    this.#cases += 1;
    this.#options.begin(input);
    this.#coverage.begin();
    const message = await failureOf(this.#target, input);
    if (message !== undefined) return this.#minimize(input, message);
    if (!this.#coverage.isNew() && !isSeed) return undefined;
    this.#corpus.push(input);
    if (!isSeed) this.#options.keep(input);
    return undefined;
  }

  /** Leaves out and simplifies whatever does not change the kind of the failure. */
  async #minimize(found: Buffer, message: string): Promise<Find> {
    let find: Find = { input: found, message };
    let runs = 0;
    const shrink = async (input: Buffer): Promise<boolean> => {
      runs += 1;
      this.#options.begin(input);
      const failure = runs > MAX_MINIMIZING_RUNS ? undefined : await failureOf(this.#target, input);
      if (failure === undefined || kindOf(failure) !== kindOf(message)) return false;
      find = { input, message: failure };
      return true;
    };
    for (let round = 0; round < MINIMIZING_ROUNDS; round += 1) {
      const { input } = find;
      for (let size = input.length; size >= 1; size >>= 1)
        for (let at = 0; at < find.input.length; )
          if (!(await shrink(without(find.input, at, size)))) at += size;
      for (let at = 0; at < find.input.length; at += 1)
        if (find.input[at] !== PLAINEST) await shrink(withByte(find.input, at, PLAINEST));
      if (find.input.equals(input)) break;
    }
    return find;
  }
}

/** Why the input shows a fault; undefined if it shows none. */
export async function failureOf(target: Target, input: Buffer): Promise<string | undefined> {
  let fastest = Number.POSITIVE_INFINITY;
  for (let run = 0; run < SLOW_RUNS && fastest > SLOW_MS; run += 1) {
    const started = performance.now();
    try {
      // A copy: a target may change what it reads.
      const running = target.run(Buffer.from(input));
      if (running !== undefined) await running;
    } catch (error) {
      return describe(error);
    }
    fastest = Math.min(fastest, performance.now() - started);
  }
  return fastest > SLOW_MS ? "it takes longer than a second" : undefined;
}

function describe(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.constructor.name === "Violation" ? error.message : (error.stack ?? error.message);
}

/** Messages of one fault may differ in what they quote. */
function kindOf(message: string): string {
  return message.split("\n", 1)[0]!.replaceAll(/\d+|'.*'|".*"/g, "_");
}

function without(input: Buffer, at: number, size: number): Buffer {
  return Buffer.concat([input.subarray(0, at), input.subarray(at + size)]);
}

function withByte(input: Buffer, at: number, byte: number): Buffer {
  const copy = Buffer.from(input);
  copy[at] = byte;
  return copy;
}

import { CapabilityError } from "../../base/errors.ts";

/**
 * Maximum number of comparisons per request; they take about 10 ms. Wildcards can force a comparison of every pattern
 * character with every name character, and a request can have many of both.
 */
const MAX_COMPARISONS = 2_000_000;
// Cost of other work, in comparisons.
const TEXT_COST = 16;
const PAIR_COST = 3;
const FOREIGN_CHARACTER_COST = 32;

// Not a character code.
const ANY_CHARACTERS = -1;
const ANY_CHARACTER = -2;
const NOTHING = -3;
const STAR = 0x2a;
const QUESTION_MARK = 0x3f;
const FIRST_FOREIGN = 0x80;

/**
 * Case-insensitive wildcards for names: `*` matches any characters, `?` one, and all others match themselves. The work
 * of all calls together is bounded.
 */
export class NamePatterns {
  /** All patterns in sequence; `ends` holds the end of each. */
  readonly #codes: Int32Array;
  readonly #ends: number[] = [];
  readonly #work: MatchingWork;
  /** The current name, at the start of the array. */
  #name = new Int32Array(256);

  constructor(patterns: readonly string[], work: MatchingWork) {
    this.#work = work;
    for (const pattern of patterns) work.spend(TEXT_COST + pattern.length);
    this.#codes = new Int32Array(patterns.join("").length);
    let end = 0;
    for (const pattern of patterns) {
      end = withWildcards(this.#codes, end, fold(pattern, this.#codes, end, work));
      this.#ends.push(end);
    }
  }

  fits(name: string): boolean {
    this.#work.spend(TEXT_COST + name.length);
    if (this.#name.length < name.length) this.#name = new Int32Array(name.length * 2);
    const length = fold(name, this.#name, 0, this.#work);
    let start = 0;
    for (const end of this.#ends) {
      if (this.#fitsOne(length, start, end)) return true;
      start = end;
    }
    return false;
  }

  /** If the rest does not match, the last star takes one more character. Earlier stars need not be retried. */
  #fitsOne(length: number, start: number, end: number): boolean {
    const codes = this.#codes;
    const name = this.#name;
    const { left } = this.#work;
    let comparisons = PAIR_COST;
    let at = 0;
    let next = start;
    let star: number | undefined;
    let starEnd = at;
    while (at < length) {
      comparisons += 1;
      const wanted = next < end ? codes[next]! : NOTHING;
      if (wanted === ANY_CHARACTERS) {
        star = next;
        starEnd = at;
        next += 1;
      } else if (wanted === name[at] || wanted === ANY_CHARACTER) {
        at += 1;
        next += 1;
      } else if (star !== undefined && comparisons <= left) {
        starEnd += 1;
        at = starEnd;
        next = star + 1;
      } else break;
    }
    this.#work.spend(comparisons);
    if (at < length) return false;
    return next === end || (next === end - 1 && codes[next] === ANY_CHARACTERS);
  }
}

/** Remaining work that one request may cause. */
export class MatchingWork {
  #left: number;

  constructor(comparisons = MAX_COMPARISONS) {
    this.#left = comparisons;
  }

  get left(): number {
    return this.#left;
  }

  /** Throws a CapabilityError if none is left. */
  spend(comparisons: number): void {
    this.#left -= comparisons;
    if (this.#left >= 0) return;
    throw new CapabilityError("LIMIT_REACHED", "the wildcards take too many comparisons with the names");
  }
}

/** Writes the characters of a text in lower case from `start` on, and returns the end. */
function fold(text: string, codes: Int32Array, start: number, work: MatchingWork): number {
  let end = start;
  for (let index = 0; index < text.length; index += 1) {
    let code = text.charCodeAt(index);
    if (code >= FIRST_FOREIGN) {
      work.spend(FOREIGN_CHARACTER_COST);
      const character = String.fromCodePoint(text.codePointAt(index)!);
      index += character.length - 1;
      code = foldForeign(character);
    } else if (code >= 0x41 && code <= 0x5a) code += 0x20;
    codes[end] = code;
    end += 1;
  }
  return end;
}

/** One character at a time, because lower case can depend on neighbours, as with a final sigma. */
function foldForeign(character: string): number {
  const lower = character.toLowerCase();
  const code = lower.codePointAt(0)!;
  // A character that becomes two matches only itself.
  return lower.length > String.fromCodePoint(code).length ? character.codePointAt(0)! : code;
}

/** Replaces wildcards by their codes, and several stars by one; returns the new end of the pattern. */
function withWildcards(codes: Int32Array, start: number, end: number): number {
  let to = start;
  for (let from = start; from < end; from += 1) {
    const code = codes[from]!;
    if (code === STAR) {
      if (to > start && codes[to - 1] === ANY_CHARACTERS) continue;
      codes[to] = ANY_CHARACTERS;
    } else codes[to] = code === QUESTION_MARK ? ANY_CHARACTER : code;
    to += 1;
  }
  return to;
}

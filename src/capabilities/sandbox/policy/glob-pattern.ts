import { SandboxRefusal } from "./sandbox-policy.ts";
import { resolveDots } from "../../../base/file-uri.ts";
import { fitsWildcards } from "../../wildcards.ts";

/** An absolute pattern: the directory before its first wildcard, and matchers for the names below it. */
export interface GlobPattern {
  readonly base: string;
  /** Empty: the pattern has no wildcard and names `base` itself. */
  readonly names: readonly NameMatcher[];
}

/** `anyDepth`: any number of directories, none included. */
type NameMatcher = "anyDepth" | ((name: string) => boolean);

/** A literal character has an equals sign in front. */
type Token = "any" | "one" | `=${string}` | CharacterClass;

interface CharacterClass {
  readonly negated: boolean;
  readonly ranges: readonly (readonly [first: string, last: string])[];
}

/** A path is not longer than this either. */
const MAX_PATTERN_LENGTH = 4096;
/** Maximum length of a file name. */
const MAX_NAME_LENGTH = 255;
const SPECIAL = /[*?[\]{}\\]/g;

/** The pattern that matches exactly this text. */
export function escapeGlob(text: string): string {
  return text.replace(SPECIAL, "\\$&");
}

/**
 * `*` and `?` stay within one name, `**` crosses directories, `[a-z]` and `[!a-z]` are classes, a backslash takes the
 * next character literally. A bracket without its end stands for itself; braces are refused.
 */
export function parseGlob(pattern: string): GlobPattern {
  if (pattern.length > MAX_PATTERN_LENGTH)
    throw new SandboxRefusal(`an unreadable glob has at most ${MAX_PATTERN_LENGTH} characters`);
  const names = pattern
    .split("/")
    .filter((name) => name !== "" && name !== ".")
    .map((text) => ({ text, tokens: tokensOf(Array.from(text), pattern) }));
  const first = names.findIndex(({ tokens }) => literalOf(tokens) === undefined);
  const wild = first === -1 ? [] : names.slice(first);
  const fixed = names.slice(0, names.length - wild.length);
  const base = resolveDots(`/${fixed.map(({ tokens }) => literalOf(tokens)).join("/")}`);
  if (base === "/" || wild.some(({ text }) => text === "..")) throw unsafe(pattern);
  const matchers = wild.map(({ text, tokens }) => (text === "**" ? "anyDepth" : matcherOf(tokens)));
  // The contents of a directory do not include the directory itself.
  if (matchers.at(-1) === "anyDepth") matchers.push(matcherOf(["any"]));
  return { base, names: matchers };
}

/** The one name that the tokens match, if there is only one. */
function literalOf(tokens: readonly Token[]): string | undefined {
  let text = "";
  for (const token of tokens) {
    if (token === "any" || token === "one" || typeof token === "object") return undefined;
    text += token.slice(1);
  }
  return text;
}

function unsafe(pattern: string): SandboxRefusal {
  return new SandboxRefusal(
    `unreadable glob \`${pattern}\` cannot be safely expanded; use a pattern with a non-root directory prefix`,
  );
}

function matcherOf(tokens: readonly Token[]): NameMatcher {
  if (tokens.filter((token) => token !== "any").length > MAX_NAME_LENGTH) return () => false;
  const matching = { isAny: (token: Token) => token === "any", fitsOne: matchesOne };
  return (name) => fitsWildcards(tokens, Array.from(name), matching);
}

function tokensOf(characters: readonly string[], pattern: string): Token[] {
  const tokens: Token[] = [];
  for (let at = 0; at < characters.length; at += 1) {
    const character = characters[at]!;
    if (character === "*") {
      if (tokens.at(-1) !== "any") tokens.push("any");
    } else if (character === "?") tokens.push("one");
    else if (character === "{" || character === "}") throw unsafe(pattern);
    else if (character === "[") {
      const end = classEnd(characters, at);
      if (end === undefined) tokens.push(`=${character}`);
      else {
        tokens.push(classOf(characters.slice(at + 1, end)));
        at = end;
      }
    } else if (character === "\\" && at + 1 < characters.length) {
      at += 1;
      tokens.push(`=${characters[at]!}`);
    } else tokens.push(`=${character}`);
  }
  return tokens;
}

/** A bracket right after the opening, or after the negation, belongs to the class. */
function classEnd(characters: readonly string[], start: number): number | undefined {
  const first = characters[start + 1] === "!" || characters[start + 1] === "^" ? start + 2 : start + 1;
  const end = characters.indexOf("]", first + 1);
  return end === -1 ? undefined : end;
}

/** A class of one character is that character. */
function classOf(characters: readonly string[]): Token {
  if (characters.length === 1) return `=${characters[0]!}`;
  const negated = characters[0] === "!" || characters[0] === "^";
  const members = negated ? characters.slice(1) : characters;
  const ranges: [string, string][] = [];
  for (let at = 0; at < members.length; at += 1) {
    const first = members[at]!;
    if (members[at + 1] === "-" && at + 2 < members.length) {
      ranges.push([first, members[at + 2]!]);
      at += 2;
    } else ranges.push([first, first]);
  }
  return { negated, ranges };
}

function matchesOne(token: Token, character: string): boolean {
  if (token === "one") return true;
  if (typeof token === "string") return token === `=${character}`;
  return token.ranges.some(([first, last]) => character >= first && character <= last) !== token.negated;
}

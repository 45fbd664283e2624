import type { SeededRandom } from "../fault/seeded-random.ts";
import { logUniform } from "./hostile-run.ts";
import {
  type Hint,
  type Json,
  METHOD_NAMES,
  type Place,
  placesOf,
  sampleParams,
  textWith,
} from "./wire-samples.ts";

/** One message that is small or large because something in it comes again and again. */
export interface RepeatedMessage {
  readonly text: string;
  /** Enough to know it again in the report of a failure. */
  readonly name: string;
}

interface Repetition {
  readonly text: string;
  readonly name: string;
}

const ID = "repeated";
/** Parts of strings as JSON spells them. */
const UNITS = [
  "/", "//", "\\/", "./", "../", "d/", "x/", "%", "%41", "%2F", "%2e%2e/", "..%2F", "..%2Fd%2F", "%25", "%zz", "%ff", "%c3%a9",
  "a", "ab", "A", "0", " ", "\\t", "\\r\\n", "\\n", "\\\\", "\\\"", "\\u0041", "\\u0001", "\\u0000", "\\u00e9", "\\ud83d\\ude00", "\\ud800",
  "\u00e9", "\u4e2d", "\u{1f4a5}", "\u0301", "\u200d", "\u2028", "*", "**", "*a", "a*", "?", "[a-z]", "{a,b}", "(a+)+", "[", "{", "]", "}",
  "=", "==", "AAAA", "+/", "-", "_", ".", "..", ":", "::", "@", "#", "&a=b", ";", ",", "'", "$", "`", "~", "|", "<", "x-y.z",
] as const; // biome-ignore format: a list of short texts
const SUFFIXES = ["", "", "y", "!", "b", "/", "\\u0001", "=", "%", "/y"] as const;
const SCALARS = [
  "0",
  "-1",
  "1e5",
  "null",
  "true",
  '""',
  '"a"',
  "{}",
  "[]",
  '{"a":1}',
  "[[]]",
  '{"":{}}',
  '["\\ud83d\\ude00"]',
] as const;
const OPENINGS = [
  ["[", "]"],
  ['{"a":', "}"],
  ['[{"a":', "}]"],
  ["[[],", "]"],
  ['{"a":[],"b":', "}"],
  [" [\n", "\t]"],
] as const;

/** A message of some method with a repetition at a random place: about `bytes` long. */
export function repeatedMessage(random: SeededRandom, hint: Hint, bytes: number): RepeatedMessage {
  const method = random.pick(METHOD_NAMES);
  const params = sampleParams(method, random, hint);
  if (random.next() < 0.15) return resonance(method, params, random, bytes);
  const message: Json = {
    id: ID,
    method,
    params,
    ...(random.next() < 0.1 ? { trace: { traceparent: "x", tracestate: "y" }, more: "z" } : {}),
  };
  // Most are about what the method reads; the rest are about the envelope.
  const places = placesOf(message).filter(({ path }) => path[0] === "params" || random.next() < 0.1);
  const place = random.pick(places.length > 0 ? places : placesOf(message));
  const { text, name } = repetitionFor(place, random, bytes, hint);
  return {
    text: textWith(message, place, text),
    name: `${method} ${place.path.join(".")} (${place.kind}): ${name}`,
  };
}

function repetitionFor(place: Place, random: SeededRandom, bytes: number, hint: Hint): Repetition {
  if (place.kind === "key" || (place.kind === "string" && random.next() < 0.8))
    return repeatedString(place, random, bytes, hint);
  if (place.kind === "list" && random.next() < 0.7) return repeatedElement(place, random, bytes, hint);
  if (place.kind === "map" && random.next() < 0.7) return repeatedMember(random, bytes);
  return repeatedStructure(random, bytes);
}

function unit(random: SeededRandom): string {
  const parts = Array.from({ length: random.pick([1, 1, 1, 2, 3]) }, () => random.pick(UNITS));
  return parts.join("");
}

function times(text: string, bytes: number): string {
  return text.repeat(Math.max(1, Math.floor(bytes / text.length)));
}

/** A string that begins as the field's values do, if it can. */
function repeatedString(place: Place, random: SeededRandom, bytes: number, hint: Hint): Repetition {
  const again = unit(random);
  const field = place.path.findLast((step) => typeof step === "string") ?? "";
  const start = place.kind === "string" ? hint(field, random) : undefined;
  const prefix = typeof start === "string" && random.next() < 0.8 ? JSON.stringify(start).slice(1, -1) : "";
  const suffix = random.pick(SUFFIXES);
  return {
    text: `"${prefix}${times(again, bytes)}${suffix}"`,
    name: `${prefix} + ${JSON.stringify(again)} for ${bytes} bytes + ${JSON.stringify(suffix)}`,
  };
}

function repeatedElement(place: Place, random: SeededRandom, bytes: number, hint: Hint): Repetition {
  const field = place.path.findLast((step) => typeof step === "string") ?? "";
  const known = hint(field, random);
  const usual = Array.isArray(known) ? known[0] : known;
  const element = usual !== undefined && random.next() < 0.5 ? JSON.stringify(usual) : random.pick(SCALARS);
  return {
    text: `[${times(`${element},`, bytes)}${element}]`,
    name: `a list of ${element} for ${bytes} bytes`,
  };
}

function repeatedMember(random: SeededRandom, bytes: number): Repetition {
  const value = random.pick(SCALARS);
  const stem = random.pick(["", "a", "__proto__", "%41", "\\u0041"]);
  const numbered = random.next() < 0.8;
  const member = (index: number): string => `"${stem}${numbered ? index : ""}":${value}`;
  const count = Math.max(1, Math.floor(bytes / (member(100_000).length + 1)));
  return {
    text: `{${Array.from({ length: count }, (_, index) => member(index)).join(",")}}`,
    name: `${count} ${numbered ? "different" : "equal"} members "${stem}": ${value}`,
  };
}

/** JSON other than strings: nesting, lists, digits, blanks; complete, or truncated somewhere. */
function repeatedStructure(random: SeededRandom, bytes: number): Repetition {
  const isWhole = random.next() < 0.5;
  switch (random.between(0, 3)) {
    case 0: {
      const [open, close] = random.pick(OPENINGS);
      const depth = Math.max(1, Math.floor(bytes / (open.length + close.length)));
      const text = `${open.repeat(depth)}0${isWhole ? close.repeat(depth) : ""}`;
      return { text, name: `${depth} times ${open}${isWhole ? "" : ", never closed"}` };
    }
    case 1: {
      const element = random.pick(SCALARS);
      return {
        text: `[${times(`${element},`, bytes)}${element}${isWhole ? "]" : ""}`,
        name: `a list of ${element} for ${bytes} bytes${isWhole ? "" : ", never closed"}`,
      };
    }
    case 2: {
      const digit = random.pick(["1", "0", "9", "1e", "-", ".", "1.", "e+", "0x1"]);
      return { text: `1${times(digit, bytes)}`, name: `a number of ${digit} for ${bytes} bytes` };
    }
    default: {
      const blank = random.pick([" ", "\n", "\t", "\r\n", " \n"]);
      return { text: `${times(blank, bytes)}0`, name: `blanks for ${bytes} bytes` };
    }
  }
}

/** All strings of the params fit each other badly: those that may be patterns repeat what the others are made of. */
function resonance(method: string, params: Json, random: SeededRandom, bytes: number): RepeatedMessage {
  const letter = random.pick(["a", "A", ".", "/", "-", "x"]);
  const wild = random.pick(["*", "?*", "**", "*?"]);
  const pattern = `${`${wild}${letter}`.repeat(random.between(3, 30))}${random.pick(["", "b", "*", "!"])}`;
  const plain = letter.repeat(Math.min(bytes, logUniform(random, 30, 4000)));
  const fill = (value: Json): Json => {
    if (typeof value === "string") return random.pick([pattern, plain, value]);
    if (Array.isArray(value)) return value.length === 0 ? [pattern] : value.map(fill);
    if (value === null || typeof value !== "object") return value;
    return Object.fromEntries(
      Object.entries(value).map(([name, member]) => [/^[A-Z]/.test(name) ? plain : name, fill(member)]),
    );
  };
  // The program and its directory are not what this is about.
  const filled =
    params !== null && typeof params === "object" && !Array.isArray(params) ? { ...params } : params;
  if (filled !== null && typeof filled === "object" && !Array.isArray(filled))
    for (const [name, member] of Object.entries(filled))
      if (name !== "argv" && name !== "cwd" && name !== "path") filled[name] = fill(member);
  return {
    text: JSON.stringify({ id: ID, method, params: filled }),
    name: `${method}: ${pattern} against ${plain.length} times ${letter}`,
  };
}

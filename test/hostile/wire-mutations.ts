import type * as z from "zod";
import { SeededRandom } from "../fault/seeded-random.ts";

// Lies are made from the table of the wire: every place of an honest value, the members among them that it could have
// and has not, with whatever does not belong there.

/** Stands for JSON that no value of the program can express: it is inserted into the message literally. */
const RAW = "\u0001raw:";
const MIB = 1024 * 1024;

type PathKey = string | number;

/** One lie: the value of one place replaced. */
export interface Lie {
  readonly path: readonly PathKey[];
  readonly name: string;
  /** Undefined takes the place away. */
  readonly make: (honest: unknown) => unknown;
}

interface SchemaDef {
  readonly type: string;
  readonly entries?: Record<string, string>;
  readonly values?: readonly unknown[];
  readonly innerType?: z.ZodType;
  readonly element?: z.ZodType;
}

const defOf = (schema: z.ZodType): SchemaDef => (schema as unknown as { def: SchemaDef }).def;
const shapeOf = (schema: z.ZodType): Record<string, z.ZodType> =>
  (schema as unknown as { shape: Record<string, z.ZodType> }).shape;

/** An honest value together with all members that the table has and the value has not. */
function filled(schema: z.ZodType, value: unknown): unknown {
  const def = defOf(schema);
  switch (def.type) {
    case "optional":
    case "nullable":
      return value === null ? null : filled(def.innerType!, value);
    case "array":
      return value === undefined ? [] : (value as unknown[]).map((item) => filled(def.element!, item));
    case "object": {
      const found = (value ?? {}) as Record<string, unknown>;
      const members = Object.entries(shapeOf(schema)).map(([key, member]) => [
        key,
        filled(member, found[key]),
      ]);
      return { ...found, ...Object.fromEntries(members) };
    }
    default:
      return value ?? someOf(def);
  }
}

function someOf(def: SchemaDef): unknown {
  switch (def.type) {
    case "string":
      return "some";
    case "boolean":
      return true;
    case "number":
      return 1;
    case "enum":
      return Object.values(def.entries!)[0];
    case "literal":
      return def.values![0];
    default:
      throw new Error(`a schema of type ${def.type} has no value yet`);
  }
}

/** Every place of a value, the whole of it first. */
function placesOf(value: unknown, path: readonly PathKey[] = []): (readonly PathKey[])[] {
  if (typeof value !== "object" || value === null) return [path];
  const keys: PathKey[] = Array.isArray(value) ? [...value.keys()].slice(0, 2) : Object.keys(value);
  const inner = keys.flatMap((key) => placesOf((value as Record<PathKey, unknown>)[key], [...path, key]));
  return [path, ...inner];
}

const raw = (json: string): string => `${RAW}${json}`;

const deep = (levels: number): string => raw(`${"[".repeat(levels)}${"]".repeat(levels)}`);

/** Members that objects of the client have, or that the language looks for. */
const INTERNAL_NAMES =
  '"kind":"closed","seq":1e9,"exitCode":"0","processId":"q","bytes":null,"stream":5,"then":1,"toString":1,"length":-1,"path":5,"id":[]';

/** Replacements for any value. */
const REPLACEMENTS: readonly (readonly [string, unknown])[] = [
  ["nothing", undefined],
  ["null", null],
  ["true", true],
  ["false", false],
  ["0", 0],
  ["-1", -1],
  ["1", 1],
  ["1.5", 1.5],
  ["the greatest that is exact", Number.MAX_SAFE_INTEGER],
  ["the least that is exact", Number.MIN_SAFE_INTEGER],
  ["2^53", 2 ** 53],
  ["2^63", 2 ** 63],
  ["2^65", 2 ** 65],
  ["1e300", 1e300],
  ["infinity", raw("1e999")],
  ["-0", raw("-0")],
  ["no text", ""],
  ["text", "x"],
  ["no base64", "*"],
  ["base64", "AAAA"],
  ["__proto__", "__proto__"],
  ["constructor", "constructor"],
  ["dots", "../../x"],
  ["an absolute path", "/etc/shadow"],
  ["a URI elsewhere", "file:///etc/shadow"],
  ["a URI through dots", "file:///w/d%2F..%2F..%2Fetc"],
  ["NUL", "a\0b"],
  ["half a character", raw('"\\ud800"')],
  ["an empty list", []],
  ["an empty object", {}],
  ["a list of anything", [null, 5, "x", {}, []]],
  ["a prototype", raw('{"__proto__":{"kind":"output","exitCode":1},"constructor":{"prototype":{}}}')],
  ["internal names", raw(`{${INTERNAL_NAMES}}`)],
  ["500 levels", deep(500)],
];

/** Variations of the original value. */
const CHANGES: readonly (readonly [string, (honest: unknown) => unknown])[] = [
  ["as text", (honest) => JSON.stringify(honest)],
  ["in a list", (honest) => [honest]],
  ["twice", (honest) => (Array.isArray(honest) ? [...honest, ...honest] : { 0: honest, length: 1 })],
  ["one more", (honest) => (typeof honest === "number" ? honest + 1 : [honest, honest])],
  ["one less", (honest) => (typeof honest === "number" ? honest - 1 : undefined)],
  ["a byte longer", (honest) => resized(honest, 1)],
  ["a byte shorter", (honest) => resized(honest, -1)],
  ["reversed", (honest) => (Array.isArray(honest) ? honest.toReversed() : honest === true ? false : null)],
  [
    "with internal names",
    (honest) => (isRecord(honest) ? raw(`{${INTERNAL_NAMES},${JSON.stringify(honest).slice(1)}`) : "x"),
  ],
  [
    "overlaid with internal names",
    (honest) => (isRecord(honest) ? raw(`${JSON.stringify(honest).slice(0, -1)},${INTERNAL_NAMES}}`) : 7),
  ],
];

/** Few of these are enough, and many would be slow. */
const HEAVY: readonly (readonly [string, (random: SeededRandom) => unknown])[] = [
  ["long text", (random) => "x".repeat(random.between(MIB, 4 * MIB))],
  ["long base64", (random) => "AAAA".repeat(random.between(MIB / 4, MIB))],
  ["a long path", (random) => `file:///${"a/".repeat(random.between(1000, MIB))}`],
  ["many levels", (random) => deep(random.between(1000, 100_000))],
  ["a long list", (random) => raw(`[${"{},".repeat(random.between(10_000, 200_000))}{}]`)],
];

/** Base64 of more or fewer bytes. */
function resized(honest: unknown, more: number): unknown {
  if (typeof honest !== "string") return "AA==";
  const bytes = Buffer.from(honest, "base64");
  return Buffer.concat([bytes, new Uint8Array(1)])
    .subarray(0, bytes.length + more)
    .toString("base64");
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return (
    typeof value === "object" && value !== null && !Array.isArray(value) && Object.keys(value).length > 0
  );
}

/** All lies about a value; heavy ones only for about every fourth place. */
export function liesAbout(schema: z.ZodType, honest: unknown, random: SeededRandom): Lie[] {
  return placesOf(filled(schema, honest)).flatMap((path) => [
    ...REPLACEMENTS.map(([name, value]): Lie => ({ path, name, make: () => value })),
    ...CHANGES.map(([name, make]): Lie => ({ path, name, make })),
    ...HEAVY.filter(() => random.next() < 1 / 20).map(([name, make]): Lie => {
      const value = make(random);
      return { path, name, make: () => value };
    }),
  ]);
}

/** The value with a lie in it. */
export function lied(schema: z.ZodType, honest: unknown, { path, make }: Lie): unknown {
  const copy = { whole: structuredClone(filled(schema, honest)) };
  let holder = copy as unknown as Record<PathKey, unknown>;
  const keys: readonly PathKey[] = ["whole", ...path];
  for (const key of keys.slice(0, -1)) {
    // Another answer than the one that the places were taken from may be shorter.
    if (typeof holder[key] !== "object" || holder[key] === null) return copy.whole;
    holder = holder[key] as Record<PathKey, unknown>;
  }
  const last = keys.at(-1)!;
  const made = make(holder[last]);
  if (made !== undefined) holder[last] = made;
  else if (Array.isArray(holder)) holder.splice(Number(last), 1);
  else delete holder[last];
  return copy.whole;
}

/** JSON text, with the raw parts as they are. */
export function textOf(message: unknown): string {
  const parts: string[] = [];
  const text = JSON.stringify(message, (_key, value: unknown) => {
    if (typeof value !== "string" || !value.startsWith(RAW)) return value;
    parts.push(value.slice(RAW.length));
    return `${RAW}${parts.length - 1}`;
  });
  return parts.length === 0
    ? text
    : text.replaceAll(/"\\u0001raw:(\d+)"/g, (_match, index: string) => parts[Number(index)]!);
}

import * as z from "zod";
import type { SeededRandom } from "../fault/seeded-random.ts";
import { methods } from "../../src/protocol/index.ts";

export type Json = null | boolean | number | string | Json[] | { [member: string]: Json };

/** A position within a value: names of members and indexes of elements. `key` is the name of that member itself. */
export interface Place {
  readonly path: readonly (string | number)[];
  readonly kind: "string" | "list" | "map" | "other" | "key";
}

/** What a sample needs to pass the first checks: a path that exists, an id that is known. */
export type Hint = (field: string, random: SeededRandom) => Json | undefined;

/** The part of a zod schema that is looked at here. */
interface Definition {
  readonly type: string;
  readonly shape?: Record<string, Schema>;
  readonly element?: Schema;
  readonly innerType?: Schema;
  readonly options?: readonly Schema[];
  readonly entries?: Record<string, string>;
  readonly values?: readonly (string | number)[];
}
export interface Schema {
  readonly _zod: { readonly def: Definition };
}

/** The schema of a record's values. Records are of our own making; see `record` in the protocol. */
export function recordValue(schema: Schema): Schema | undefined {
  return z.globalRegistry.get(schema as unknown as z.ZodType)?.["valueType"] as Schema | undefined;
}

export const METHOD_NAMES = Object.keys(methods) as (keyof typeof methods)[];

/** Params that the table of the wire allows for this method; optional members are there or not. */
export function sampleParams(method: keyof typeof methods, random: SeededRandom, hint: Hint): Json {
  return sample(methods[method].params, "params", { random, hint, isLeftOut: () => random.next() < 0.5 });
}

/** The same with all members that there are. */
export function completeParams(method: keyof typeof methods, random: SeededRandom, hint: Hint): Json {
  return sample(methods[method].params, "params", { random, hint, isLeftOut: () => false });
}

interface Choices {
  readonly random: SeededRandom;
  readonly hint: Hint;
  readonly isLeftOut: () => boolean;
}

function sample(schema: Schema, field: string, choices: Choices): Json {
  const { def } = schema._zod;
  const { random, hint } = choices;
  const hinted = def.type === "optional" || def.type === "nullable" ? undefined : hint(field, random);
  if (hinted !== undefined) return hinted;
  switch (def.type) {
    case "object":
      return sampleObject(def.shape ?? {}, choices);
    case "array": {
      const element = def.element as Schema;
      return Array.from({ length: random.between(1, 3) }, () => sample(element, field, choices));
    }
    case "custom": {
      const value = recordValue(schema)!;
      const names = ["A", "B_TOKEN", "PATH"].slice(0, random.between(1, 3));
      return Object.fromEntries(names.map((name) => [name, sample(value, field, choices)]));
    }
    case "optional":
    case "nullable":
      return sample(def.innerType as Schema, field, choices);
    case "union":
      return sample(random.pick(def.options ?? []), field, choices);
    case "enum":
      return random.pick(Object.values(def.entries ?? {}));
    case "literal":
      return random.pick(def.values ?? []);
    case "boolean":
      return random.pick([true, false]);
    case "number":
      return random.between(0, 1000);
    case "null":
    case "unknown":
      return null;
    default:
      return random.pick(["x", "some text", "a/b", "*"]);
  }
}

function sampleObject(shape: Record<string, Schema>, choices: Choices): Json {
  const members: [string, Json][] = [];
  for (const [name, member] of Object.entries(shape)) {
    const isOptional = member._zod.def.type === "optional";
    if (isOptional && choices.isLeftOut()) continue;
    members.push([name, sample(member, name, choices)]);
  }
  return Object.fromEntries(members);
}

/** Every place of a value that something else could stand at, the value itself included. */
export function placesOf(value: Json, path: readonly (string | number)[] = []): Place[] {
  if (typeof value === "string") return [{ path, kind: "string" }];
  if (Array.isArray(value))
    return [{ path, kind: "list" }, ...value.flatMap((item, index) => placesOf(item, [...path, index]))];
  if (value === null || typeof value !== "object") return [{ path, kind: "other" }];
  return [
    { path, kind: "map" },
    ...Object.entries(value).flatMap(([name, member]): Place[] => [
      { path: [...path, name], kind: "key" },
      ...placesOf(member, [...path, name]),
    ]),
  ];
}

const MARK = "the place of something else";

/** The JSON text of a value with other text at one place; at a key, in its quotes. */
export function textWith(value: Json, place: Place, text: string): string {
  const json = JSON.stringify(marked(value, place.path, place.kind === "key"));
  const quoted = JSON.stringify(MARK);
  const at = json.indexOf(quoted);
  return json.slice(0, at) + text + json.slice(at + quoted.length);
}

function marked(value: Json, [first, ...rest]: readonly (string | number)[], isKey: boolean): Json {
  if (first === undefined) return MARK;
  if (Array.isArray(value))
    return value.map((item, index) => (index === first ? marked(item, rest, isKey) : item));
  if (value === null || typeof value !== "object") return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => {
      if (name !== first) return [name, member];
      return isKey && rest.length === 0 ? [MARK, member] : [name, marked(member, rest, isKey)];
    }),
  );
}

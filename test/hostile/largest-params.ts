import type { SeededRandom } from "../fault/seeded-random.ts";
import { methods } from "../../src/protocol/index.ts";
import { type Hint, type Json, METHOD_NAMES, recordValue, type Schema } from "./wire-samples.ts";

/** Legal params that are as large as the wire allows in one place: that of a list, a map, a string or a number. */
export interface LargestParams {
  readonly method: (typeof METHOD_NAMES)[number];
  readonly kind: "many" | "long" | "extreme";
  /** The place, and what is there. */
  readonly name: string;
  readonly make: () => Json;
}

type Growth = Omit<LargestParams, "method">;

/** How values are chosen that pass the first checks. */
export interface Surroundings {
  readonly random: SeededRandom;
  readonly hint: Hint;
}

/** The wire allows 262 144 values, some of which are around the list. */
const MAX_VALUES = 262_000;
/** The wire allows 16 384 different keys. */
const MAX_KEYS = 16_300;
/** The wire allows 8 Mi characters of text, some of which are around the string. */
const MAX_TEXT = 8 * 1024 * 1024 - 64 * 1024;
const MAX_DATA = 32 * 1024 * 1024;
const DATA = /^(?:chunk|.*Base64)$/;
const UNITS = ["x", "x/", "../", "*"];
const EXTREME_NUMBERS = [0, 1, 65_535, 2 ** 31, Number.MAX_SAFE_INTEGER, 2 ** 64];

/** All there are, by the wire table. */
export function largestParams(surroundings: Surroundings): LargestParams[] {
  return METHOD_NAMES.flatMap((method) =>
    growths(methods[method].params, "params", surroundings).map((growth) => ({ ...growth, method })),
  );
}

function growths(schema: Schema, field: string, around: Surroundings): Growth[] {
  const { def } = schema._zod;
  switch (def.type) {
    case "optional":
    case "nullable":
      return growths(def.innerType!, field, around);
    case "union":
      return def.options!.flatMap((option) => growths(option, field, around));
    case "object": {
      const rest = small(schema, field, 0, around) as Record<string, Json>;
      return Object.entries(def.shape!).flatMap(([name, member]) =>
        growths(member, name, around).map((inner) =>
          within(inner, `.${name}`, (value) => ({ ...rest, [name]: value })),
        ),
      );
    }
    case "array":
      return [
        ...[true, false].map((areEqual) => manyElements(def.element!, field, { around, areEqual })),
        ...growths(def.element!, field, around).map((inner) => within(inner, "[0]", (value) => [value])),
      ];
    case "custom":
      return manyMembers(recordValue(schema), field, around);
    case "number":
      return EXTREME_NUMBERS.map((number) => ({ kind: "extreme", name: ` = ${number}`, make: () => number }));
    case "string":
      return UNITS.map((unit) => ({
        kind: "long",
        name: `: ${unit} again and again`,
        make: () =>
          `${small(schema, field, 0, around) as string}${unit.repeat((DATA.test(field) ? MAX_DATA : MAX_TEXT) / unit.length)}`,
      }));
    default:
      return [];
  }
}

function within(inner: Growth, place: string, wrap: (value: Json) => Json): Growth {
  return { kind: inner.kind, name: `${place}${inner.name}`, make: () => wrap(inner.make()) };
}

function manyElements(
  element: Schema,
  field: string,
  { around, areEqual }: { around: Surroundings; areEqual: boolean },
): Growth {
  const one = small(element, field, areEqual ? 0 : MAX_VALUES, around);
  const length = Math.floor(Math.min(MAX_VALUES / valuesIn(one), MAX_TEXT / JSON.stringify(one).length));
  return {
    kind: "many",
    name: `: ${length} ${areEqual ? "equal" : "different"} elements`,
    make: () => Array.from({ length }, (_, index) => small(element, field, areEqual ? 0 : index, around)),
  };
}

function manyMembers(value: Schema | undefined, field: string, around: Surroundings): Growth[] {
  if (value === undefined) return [];
  const make = (): Json =>
    Object.fromEntries(
      Array.from({ length: MAX_KEYS }, (_, index) => [`X${index}`, small(value, field, index, around)]),
    );
  return [
    { kind: "many", name: `: ${MAX_KEYS} members`, make },
    ...growths(value, field, around).map((inner) => within(inner, ".X", (member) => ({ X: member }))),
  ];
}

/** A legal value with nothing that can be left out. Those of different indexes differ, if they can. */
function small(schema: Schema, field: string, index: number, around: Surroundings): Json {
  const { def } = schema._zod;
  switch (def.type) {
    case "optional":
    case "nullable":
      return small(def.innerType!, field, index, around);
    case "object":
      return Object.fromEntries(
        Object.entries(def.shape!)
          .filter(([, member]) => member._zod.def.type !== "optional")
          .map(([name, member]) => [name, small(member, name, index, around)]),
      );
    case "union":
      return small(def.options![index % def.options!.length]!, field, index, around);
    case "enum":
      return Object.values(def.entries!)[index % Object.keys(def.entries!).length]!;
    case "literal":
      return def.values![0]!;
    case "array":
      return around.hint(field, around.random) ?? [];
    case "custom":
      return {};
    case "boolean":
      return field !== "tty";
    case "number":
      return around.hint(field, around.random) ?? 1;
    case "null":
    case "unknown":
      return null;
    default: {
      const known = around.hint(field, around.random);
      return typeof known === "string" ? (index === 0 ? known : `${known}${index}`) : `x${index}`;
    }
  }
}

function valuesIn(value: Json): number {
  if (value === null || typeof value !== "object") return 1;
  return Object.values(value).reduce((sum: number, member) => sum + valuesIn(member), 1);
}

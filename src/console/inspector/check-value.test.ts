import { expect, it } from "vitest";
import { checkValue, optionOf } from "./check-value.ts";
import type { Shape, ShapeOf } from "./wire-table.ts";

const TEXT: Shape = { kind: "text" };
const UNION: ShapeOf<"union"> = {
  kind: "union",
  options: [
    {
      kind: "object",
      members: [{ name: "type", required: true, shape: { kind: "choice", values: ["none"] } }],
    },
    {
      kind: "object",
      members: [
        { name: "type", required: true, shape: { kind: "choice", values: ["some"] } },
        { name: "names", required: true, shape: { kind: "list", item: TEXT } },
      ],
    },
  ],
};

it.each<[string, Shape, unknown, Record<string, string>]>([
  ["text", TEXT, "a", {}],
  ["a number instead of text", TEXT, 1, { "": "Must be text." }],
  ["null where it may be", { ...TEXT, nullable: true }, null, {}],
  ["null where it may not be", TEXT, null, { "": "Must be text." }],
  ["half a number", { kind: "number", whole: true }, 1.5, { "": "Must be a whole number." }],
  ["text that is no number", { kind: "number" }, "12x", { "": "Must be a number." }],
  ["a number below its range", { kind: "number", least: 1 }, 0, { "": "Must be 1 or more." }],
  ["a number above its range", { kind: "number", most: 9 }, 10, { "": "Must be 9 or less." }],
  ["base64", { kind: "text", format: "base64" }, "aGk=", {}],
  [
    "text instead of base64",
    { kind: "text", format: "base64" },
    "hi!",
    { "": "Is not base64 with padding." },
  ],
  ["another word", { kind: "choice", values: ["a", "b"] }, "c", { "": 'Must be "a" or "b".' }],
  ["an item of a list", { kind: "list", item: TEXT }, ["a", 2], { "[1]": "Must be text." }],
  [
    "an entry of a map",
    { kind: "map", value: TEXT },
    { a: "b", __proto__x: 2 },
    { __proto__x: "Must be text." },
  ],
  ["a list instead of a map", { kind: "map", value: TEXT }, [], { "": "Must be an object." }],
  [
    "a missing member",
    {
      kind: "object",
      members: [
        { name: "a", required: true, shape: TEXT },
        { name: "b", shape: TEXT },
      ],
    },
    {},
    { a: "Is required." },
  ],
  [
    "parameters where none are wanted",
    { kind: "none" },
    { a: 1 },
    { "": "This method takes no parameters: use null or {}." },
  ],
  ["a member of one form of a union", UNION, { type: "some", names: [1] }, { "names.[0]": "Must be text." }],
  [
    "none of the forms of a union",
    UNION,
    { type: "other" },
    { "": "Does not match any of the allowed forms." },
  ],
])("%s", (_what, shape, value, problems) => {
  expect(Object.fromEntries(checkValue(shape, value))).toEqual(problems);
});

it("recognizes the form of a union by what fits, or by the member that names it", () => {
  expect(optionOf(UNION, { type: "none" })).toBe(0);
  expect(optionOf(UNION, { type: "some", names: 3 })).toBe(1);
  expect(optionOf(UNION, 7)).toBe(-1);
});

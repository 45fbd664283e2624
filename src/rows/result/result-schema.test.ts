import { expect, it } from "vitest";
import { UsageError } from "../../base/errors.ts";
import { checkerFor } from "./result-schema.ts";

it("says in one line what does not fit, and where", () => {
  const check = checkerFor({
    type: "object",
    required: ["name"],
    properties: { name: { type: "string" }, size: { type: "number", minimum: 1 } },
  });
  expect(check({ name: "a", size: 1 })).toBeUndefined();
  expect(check({ size: 0 })).toBe("it must have required property 'name'; /size must be >= 1");
  expect(check("text")).toBe("it must be object");
});

it("names a few of many mistakes", () => {
  const check = checkerFor({ type: "array", items: { type: "string" } });
  expect(check([1, 2, 3, 4, 5])).toBe("/0 must be string; /1 must be string; /2 must be string; and 2 more");
});

it.each([[[]], ["text"], [null], [{ type: "nothing" }], [{ $ref: "#/missing" }]])(
  "refuses %j as a schema",
  (schema) => {
    expect(() => checkerFor(schema)).toThrow(UsageError);
  },
);

it("ignores keywords and formats that it does not know", () => {
  expect(checkerFor({ type: "string", format: "colour", "x-shown": true })("red")).toBeUndefined();
});

it("a result that takes forever to check does not fit", () => {
  const check = checkerFor({ type: "string", pattern: "^(a+)+$" });
  expect(check("aaa")).toBeUndefined();
  expect(check(`${"a".repeat(60)}b`)).toBe("checking it takes longer than 1s");
});

it.each([
  "http://json-schema.org/draft-07/schema#",
  "https://json-schema.org/draft/2020-12/schema",
  "https://json-schema.org/draft/2019-09/schema",
])("takes schemas of %s", ($schema) => {
  const check = checkerFor({ $schema, type: "object", properties: { a: { type: "string" } } });
  expect([check({ a: "b" }), check({ a: 1 })]).toEqual([undefined, "/a must be string"]);
});

it("fetches nothing", () => {
  expect(() => checkerFor({ $ref: "http://127.0.0.1:1/schema.json" })).toThrow(
    "the result schema cannot be used: can't resolve reference http://127.0.0.1:1/schema.json",
  );
});

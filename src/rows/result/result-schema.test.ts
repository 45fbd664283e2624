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

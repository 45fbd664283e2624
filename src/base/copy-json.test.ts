import { expect, test } from "vitest";
import { copyJson } from "./copy-json.ts";

test("a copy is what JSON would give", () => {
  const value = {
    text: 'a "quoted" ü',
    list: [1, -2.5, Number.NaN, undefined, null, [true, false]],
    nested: { absent: undefined, empty: {}, deep: { deeper: [] } },
    ["__proto__"]: { polluted: true },
  };
  expect(copyJson(value).value).toEqual(JSON.parse(JSON.stringify(value)));
  expect(copyJson(null).value).toBeNull();
  expect(copyJson("text").value).toBe("text");
});

test("a copy shares no object with its original", () => {
  const original = { list: [{ a: 1 }] };
  const copy = copyJson(original).value as typeof original;
  copy.list[0]!.a = 2;
  copy.list.push({ a: 3 });
  expect(original).toEqual({ list: [{ a: 1 }] });
});

test("a member called __proto__ is data", () => {
  const copy = copyJson(JSON.parse('{"__proto__":{"polluted":1}}')).value as object;
  expect(Object.getPrototypeOf(copy)).toBe(Object.prototype);
  expect(Object.keys(copy)).toEqual(["__proto__"]);
});

test("the size is at least that of the strings", () => {
  expect(copyJson({ chunk: "x".repeat(1000) }).bytes).toBeGreaterThan(1000);
  expect(copyJson({ chunk: "x".repeat(1000) }).bytes).toBeLessThan(1100);
});

test.each([
  [10n, "a bigint cannot be sent"],
  [() => {}, "a function cannot be sent"],
  [new Date(0), "a Date cannot be sent"],
  [{ bytes: new Uint8Array(1) }, "a Uint8Array cannot be sent"],
])("%s has no form in JSON", (value, message) => {
  expect(() => copyJson(value)).toThrow(new TypeError(message));
});

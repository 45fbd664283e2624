import { expect, it } from "vitest";
import { getAt, removeAt, setAt } from "./json-path.ts";

it("changes one place, and nothing that was there", () => {
  const before = { a: { b: [1, 2] }, c: 3 };
  expect(setAt(before, ["a", "b", 1], 9)).toEqual({ a: { b: [1, 9] }, c: 3 });
  expect(setAt(before, ["a", "new"], null)).toEqual({ a: { b: [1, 2], new: null }, c: 3 });
  expect(before).toEqual({ a: { b: [1, 2] }, c: 3 });
});

it("makes what is missing on the way", () => {
  expect(setAt(null, ["a", 0, "b"], 1)).toEqual({ a: [{ b: 1 }] });
});

it("takes `__proto__` for a name like any other", () => {
  const made = setAt({}, ["__proto__"], "x");
  expect(Object.keys(made as object)).toEqual(["__proto__"]);
  expect(getAt(made, ["__proto__"])).toBe("x");
  expect(getAt({}, ["__proto__"])).toBeUndefined();
  expect(removeAt(made, ["__proto__"])).toEqual({});
});

it("removes a member or an item, and leaves the rest in its order", () => {
  expect(removeAt({ a: [1, 2, 3] }, ["a", 1])).toEqual({ a: [1, 3] });
  expect(Object.keys(removeAt({ z: 1, y: 2, x: 3 }, ["y"]) as object)).toEqual(["z", "x"]);
  expect(removeAt({ a: 1 }, ["b", "c"])).toEqual({ a: 1 });
});

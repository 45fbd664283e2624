import { describe, expect, it } from "vitest";
import { selectKeys } from "./config-projection.ts";

describe("selectKeys", () => {
  const table = { b: { x: 1, y: 2 }, a: 3 };

  it("keeps the order of the table, not that of the paths", () => {
    expect(Object.keys(selectKeys(table, [["a"], ["b", "x"]]))).toEqual(["b", "a"]);
  });

  it("selects a whole table in spite of paths below it", () => {
    expect(selectKeys(table, [["b", "x"], ["b"]])).toEqual({ b: { x: 1, y: 2 } });
  });

  it("selects an empty table where a path ends nowhere, and a value where it goes on", () => {
    expect(
      selectKeys(table, [
        ["b", "none"],
        ["a", "more"],
      ]),
    ).toEqual({ b: {}, a: 3 });
  });

  it("takes __proto__ for a key like any other", () => {
    const hostile = JSON.parse('{"__proto__":{"x":1}}') as Record<string, unknown>;
    const selected = selectKeys(hostile, [["__proto__"]]);
    expect(Object.keys(selected)).toEqual(["__proto__"]);
    expect(Object.getPrototypeOf(selected)).toBe(Object.prototype);
  });
});

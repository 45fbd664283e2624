import { describe, expect, it } from "vitest";
import { userTime } from "../../../test/fixtures/user-time.ts";
import { selectKeys } from "./config-projection.ts";

describe("selectKeys", () => {
  const table = { b: { x: 1, y: 2 }, a: 3 };

  it("keeps the order of the table, not that of the paths", () => {
    expect(Object.keys(selectKeys(table, [["a"], ["b", "x"]]))).toEqual(["b", "a"]);
  });

  it("selects a whole table in spite of paths below it", () => {
    expect(selectKeys(table, [["b", "x"], ["b"]])).toEqual({ b: { x: 1, y: 2 } });
  });

  it("selects an empty table where a path ends nowhere, and a value where it continues", () => {
    expect(
      selectKeys(table, [
        ["b", "none"],
        ["a", "more"],
      ]),
    ).toEqual({ b: {}, a: 3 });
  });

  it("takes as long for long keys as for as much other text", () => {
    const paths = Array.from({ length: 2_000 }, (_, index) => [`${"k".repeat(20_000)}${100_000 + index}`]);
    const [longest] = paths.at(-1)!;
    // V8 gives all of them one hash.
    expect(userTime(() => selectKeys({ [longest!]: 1 }, paths))).toBeLessThan(2_000);
    expect(selectKeys({ [longest!]: 1 }, paths)).toEqual({ [longest!]: 1 });
  });

  it("takes __proto__ for a key like any other", () => {
    const hostile = JSON.parse('{"__proto__":{"x":1}}') as Record<string, unknown>;
    const selected = selectKeys(hostile, [["__proto__"]]);
    expect(Object.keys(selected)).toEqual(["__proto__"]);
    expect(Object.getPrototypeOf(selected)).toBe(Object.prototype);
  });
});

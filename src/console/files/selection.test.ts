import { expect, test } from "vitest";
import { keepListed, NOTHING, selectAll, selectOnly, selectRange, toggle } from "./selection.ts";

const ORDER = ["a", "b", "c", "d"];

test("a range goes from the anchor in either direction", () => {
  const from = selectOnly("c");
  expect([...selectRange(from, "a", ORDER).names]).toEqual(["a", "b", "c"]);
  const back = selectRange(selectRange(from, "a", ORDER), "d", ORDER);
  expect([...back.names]).toEqual(["c", "d"]);
  expect(selectRange(NOTHING, "b", ORDER)).toEqual(selectOnly("b"));
});

test("one is added and taken away", () => {
  const two = toggle(selectOnly("a"), "c");
  expect([...two.names]).toEqual(["a", "c"]);
  expect([...toggle(two, "a").names]).toEqual(["c"]);
  expect([...selectAll(two, ORDER).names]).toEqual(ORDER);
});

test("what is gone is no longer selected, and the neighbour of the current one takes its place", () => {
  expect(keepListed(selectOnly("b"), ORDER, ["a", "c", "d"])).toEqual(selectOnly("c"));
  expect(keepListed(selectOnly("d"), ORDER, ["a"])).toEqual(selectOnly("a"));
  expect(keepListed(selectOnly("d"), ORDER, [])).toEqual(NOTHING);
  const marked = toggle(selectOnly("a"), "b");
  expect(keepListed(marked, ORDER, ["b", "c"])).toEqual({ current: "b", anchor: "b", names: new Set(["b"]) });
});

test("a selection that nothing happened to stays the same value", () => {
  const selection = selectOnly("b");
  expect(keepListed(selection, ORDER, ["b", "x"])).toBe(selection);
  expect(keepListed(NOTHING, ORDER, ORDER)).toBe(NOTHING);
});

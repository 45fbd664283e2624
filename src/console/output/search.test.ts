import { expect, test } from "vitest";
import { LineStore } from "./line-store.ts";
import { cutPieces } from "./styled-text.tsx";
import { OutputSearch } from "./search.ts";

const encoder = new TextEncoder();

function search(text: string, query: string): OutputSearch {
  const store = new LineStore();
  store.append("stdout", encoder.encode(text), 1);
  const finder = new OutputSearch(store, query);
  expect(finder.run(Infinity)).toBe(true);
  return finder;
}

test("small letters find capitals, capitals find themselves", () => {
  expect(search("Error error\nERROR\n", "error").matches).toEqual([
    { index: 0, start: 0, end: 5 },
    { index: 0, start: 6, end: 11 },
    { index: 1, start: 0, end: 5 },
  ]);
  expect(search("Error error\nERROR\n", "Error").matches).toHaveLength(1);
  // The small form of this letter is longer.
  expect(search("\u0130\u0130 error", "error").matches).toEqual([{ index: 0, start: 3, end: 8 }]);
});

test("a search continues where it stopped, with what came meanwhile", () => {
  const store = new LineStore();
  store.append("stdout", encoder.encode("a\n".repeat(1000)), 1);
  const finder = new OutputSearch(store, "a");
  let clock = 0;
  // The time is over at the second look at the clock.
  expect(finder.run(0, () => clock++)).toBe(false);
  expect(finder.matches).toHaveLength(256);
  store.append("stdout", encoder.encode("aa"), 2);
  expect(finder.run(Infinity)).toBe(true);
  expect(finder.matches).toHaveLength(1002);
  store.append("stdout", encoder.encode("a\n"), 3);
  finder.run(Infinity);
  expect(finder.matches).toHaveLength(1003);
  expect(finder.inLine(1000)).toHaveLength(3);
});

test("matches in lines that were dropped are forgotten", () => {
  const store = new LineStore({ maxLines: 600, maxCharacters: 1_000_000 });
  store.append("stdout", encoder.encode("a\n".repeat(600)), 1);
  const finder = new OutputSearch(store, "a");
  finder.run(Infinity);
  store.append("stdout", encoder.encode("b\n".repeat(5000)), 2);
  finder.run(Infinity);
  expect(finder.matches).toEqual([]);
});

test("a line is cut where its look changes and where matches are", () => {
  const red = { foreground: 1 };
  const match = { index: 0, start: 2, end: 5 };
  const pieces = cutPieces("plain red", [{ start: 4, end: 9, style: red }], [match]);
  expect(pieces).toEqual([
    { text: "pl", style: undefined, match: undefined },
    { text: "ai", style: undefined, match },
    { text: "n", style: red, match },
    { text: " red", style: red, match: undefined },
  ]);
});

import { expect, test } from "vitest";
import { nextSorting } from "../ui/arrange-rows.ts";
import { chooseEntries, type Entry, LARGEST_FIRST, type Order } from "./entries.ts";

const entry = (name: string, more: Partial<Entry> = {}): Entry => ({
  name,
  kind: "file",
  size: 1,
  mode: 0o644,
  modified: undefined,
  ...more,
});
const byName: Order = { column: "name", isDescending: false };
const everything = { order: byName, showsHidden: true, filter: "" };
const names = (entries: readonly Entry[]): string[] => entries.map(({ name }) => name);

test("directories come first, numbers in names count, and names that differ in case have an order", () => {
  const entries = ["f10", "f9", "B", "b", "a"].map((name) => entry(name));
  const shown = chooseEntries([...entries, entry("z", { kind: "directory" })], everything);
  expect(names(shown)).toEqual(["z", "a", "B", "b", "f9", "f10"]);
});

test("hidden names are left out unless they are asked for, and a filter ignores case", () => {
  const entries = [entry(".git"), entry("README"), entry("src")];
  expect(names(chooseEntries(entries, { ...everything, showsHidden: false }))).toEqual(["README", "src"]);
  expect(names(chooseEntries(entries, { ...everything, filter: "read" }))).toEqual(["README"]);
});

test("a column is sorted by its values, and equal ones by name", () => {
  const entries = [
    entry("a", { size: 5, modified: new Date(1) }),
    entry("b", { size: 9, modified: new Date(3) }),
    entry("c", { size: 9 }),
  ];
  const bySize = chooseEntries(entries, { ...everything, order: { column: "size", isDescending: true } });
  expect(names(bySize)).toEqual(["b", "c", "a"]);
  const byTime = chooseEntries(entries, {
    ...everything,
    order: { column: "modified", isDescending: false },
  });
  expect(names(byTime)).toEqual(["c", "a", "b"]);
});

test("the entries that were given are left as they are", () => {
  const entries = [entry("b"), entry("a")];
  chooseEntries(entries, everything);
  expect(names(entries)).toEqual(["b", "a"]);
});

test("a click on a column turns its order round; another column starts with its largest", () => {
  expect(nextSorting("name", byName, LARGEST_FIRST)).toEqual({ column: "name", isDescending: true });
  expect(nextSorting("size", byName, LARGEST_FIRST)).toEqual({ column: "size", isDescending: true });
  expect(nextSorting("name", { column: "size", isDescending: true }, LARGEST_FIRST)).toEqual(byName);
});

import { expect, it } from "vitest";
import { KeptLines, type Line } from "./kept-lines.ts";

const line = (event: string): Line => ({ kind: "audit", event, facts: {}, who: "" });
const events = (lines: readonly Line[]): string[] => lines.map(({ event }) => event);

function nameOf({ record = "" }: Line): string {
  return record.slice(0, record.indexOf(":"));
}

it("numbers lines, and keeps them until they are recorded", () => {
  const kept = new KeptLines();
  const numbered = ["a", "b", "c"].map((event) => kept.add(line(event))!);
  const name = nameOf(numbered[0]!);
  expect(numbered.map(({ record }) => record)).toEqual([`${name}:1`, `${name}:2`, `${name}:3`]);
  kept.recorded(2);
  expect(events(kept.after({}))).toEqual(["c"]);
  // An acknowledgement may come late, or again.
  kept.recorded(1);
  expect(events(kept.after({}))).toEqual(["c"]);
  kept.recorded(99);
  expect(kept.after({})).toEqual([]);
  expect(kept.add(line("d"))?.record).toBe(`${name}:4`);
});

it("leaves out what the log of another server already has, of this keeper alone", () => {
  const kept = new KeptLines();
  const name = nameOf(kept.add(line("a"))!);
  kept.add(line("b"));
  expect(events(kept.after({ ffffffff: 2 }))).toEqual(["a", "b"]);
  expect(events(kept.after({ [name]: 1 }))).toEqual(["b"]);
});

it("is full before it takes no more, and has room again", () => {
  const kept = new KeptLines();
  for (let at = 0; at < 6_144; at += 1) kept.add(line("a"));
  expect(kept.isFull).toBe(false);
  kept.add(line("a"));
  expect(kept.isFull).toBe(true);
  while (kept.size < 8_192) expect(kept.add(line("a"))).toBeDefined();
  expect(kept.add(line("b"))).toBeUndefined();
  kept.recorded(1);
  expect(kept.add(line("b"))?.record).toMatch(/:8193$/);
});

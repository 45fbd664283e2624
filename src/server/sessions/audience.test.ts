import { expect, it } from "vitest";
import type { TerminalSize } from "../../native/spawn.ts";
import { Audience, Watcher } from "./audience.ts";

const size = (rows: number): TerminalSize => ({ rows, columns: 80 });

/** An audience of named people, each with a connection of their own. */
function createAudience(...names: string[]) {
  const applied: number[] = [];
  const audience = new Audience(({ rows }) => applied.push(rows));
  const people = Object.fromEntries(names.map((name) => [name, new Watcher({})]));
  for (const watcher of Object.values(people)) audience.join(watcher);
  return { audience, applied, people: people as Record<"ann" | "bob" | "cid", Watcher> };
}

it("while nobody has typed, the newest size counts", () => {
  const { audience, applied, people } = createAudience("ann", "bob");
  audience.resized(people.ann, size(10));
  audience.resized(people.bob, size(20));
  audience.resized(people.ann, size(30));
  expect(applied).toEqual([10, 20, 30]);
});

it("the size of the one who typed last counts, whoever resizes", () => {
  const { audience, applied, people } = createAudience("ann", "bob");
  audience.resized(people.ann, size(10));
  audience.resized(people.bob, size(20));
  audience.typed(people.ann);
  audience.resized(people.bob, size(21));
  audience.resized(people.ann, size(11));
  audience.typed(people.bob);
  expect(applied).toEqual([10, 20, 10, 11, 21]);
});

it("when the last who typed leaves, the newest size of those who are there counts", () => {
  const { audience, applied, people } = createAudience("ann", "bob", "cid");
  audience.resized(people.bob, size(20));
  audience.resized(people.cid, size(30));
  audience.resized(people.ann, size(10));
  audience.typed(people.ann);
  audience.leave(people.ann);
  audience.leave(people.cid);
  expect(applied).toEqual([20, 30, 10, 30, 20]);
});

it("the last who typed counts again after coming back, unless someone else has typed", () => {
  const { audience, applied, people } = createAudience("ann", "bob");
  audience.resized(people.ann, size(10));
  audience.typed(people.ann);
  audience.resized(people.bob, size(20));
  audience.leave(people.ann);
  audience.join(people.ann);
  expect(applied).toEqual([10, 20, 10]);
  audience.typed(people.bob);
  audience.leave(people.ann);
  audience.join(people.ann);
  expect(applied).toEqual([10, 20, 10, 20]);
});

it("without a size of the one who typed, the newest size counts", () => {
  const { audience, applied, people } = createAudience("ann", "bob");
  audience.typed(people.ann);
  audience.resized(people.bob, size(20));
  audience.resized(people.ann, size(10));
  audience.resized(people.bob, size(21));
  expect(applied).toEqual([20, 10]);
});

it("a size that counts already is not set again, and an empty room keeps its last size", () => {
  const { audience, applied, people } = createAudience("ann", "bob");
  audience.resized(people.ann, size(10));
  audience.resized(people.bob, size(10));
  audience.typed(people.bob);
  audience.leave(people.ann);
  audience.leave(people.bob);
  audience.leave(people.bob);
  audience.resized(people.ann, size(30));
  expect(applied).toEqual([10]);
});

it("counts connections, not attachments", () => {
  const audience = new Audience(() => {});
  const [connection, other] = [{}, {}];
  const watchers = [new Watcher(connection), new Watcher(connection), new Watcher(other)];
  for (const watcher of watchers) audience.join(watcher);
  expect(audience.connections).toBe(2);
  audience.leave(watchers[0]!);
  expect(audience.connections).toBe(2);
  audience.leave(watchers[1]!);
  expect(audience.connections).toBe(1);
});

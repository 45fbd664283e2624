import { expect, test } from "vitest";
import { type Executor, hasLabels } from "./executor.ts";
import { pickExecutor } from "./pick-executor.ts";

const IDLE: Executor = { id: "a", labels: {}, running: 0, free: 4, load: 0.5, state: "ready", since: 1 };

function pick(
  executors: Partial<Executor>[],
  labels: Record<string, string> = {},
  reserved: (id: string) => number = () => 0,
): string {
  const all = executors.map((executor) => ({ ...IDLE, ...executor }));
  return pickExecutor(all, { labels }, reserved).id;
}

test("the executor with the most free slots is picked, then the one with the least load, then the first", () => {
  expect(pick([{ id: "a", free: 1 }, { id: "b", free: 3, load: 9 }, { id: "c" }])).toBe("c");
  expect(pick([{ id: "a" }, { id: "b", load: 0.1 }, { id: "c", load: 0.2 }])).toBe("b");
  expect(pick([{ id: "a" }, { id: "b" }])).toBe("a");
});

test("executors without a free slot are picked if there are no others", () => {
  expect(
    pick([
      { id: "a", free: 0, load: 2 },
      { id: "b", free: 0, load: 1 },
    ]),
  ).toBe("b");
});

test("an executor that has been given work counts as busier", () => {
  const reserved = (id: string): number => (id === "a" ? 2 : 0);
  expect(pick([{ id: "a" }, { id: "b", free: 3 }], {}, reserved)).toBe("b");
});

test("only ready executors with all of the labels are picked", () => {
  const fleet: Partial<Executor>[] = [
    { id: "a", state: "cordoned", labels: { zone: "eu", gpu: "yes" } },
    { id: "b", state: "draining", labels: { zone: "eu", gpu: "yes" } },
    { id: "c", labels: { zone: "eu" } },
    { id: "d", labels: { zone: "eu", gpu: "no" } },
    { id: "e", free: 0, labels: { zone: "eu", gpu: "yes" } },
  ];
  expect(pick(fleet, { zone: "eu", gpu: "yes" })).toBe("e");
});

test("a label is one that the executor has itself", () => {
  expect(hasLabels({ ...IDLE, labels: {} }, { constructor: String(Object) })).toBe(false);
  expect(hasLabels({ ...IDLE, labels: { a: "" } }, { a: "" })).toBe(true);
  expect(hasLabels({ ...IDLE, labels: {} }, {})).toBe(true);
});

test.each([
  [[], {}, "no executor is connected to the fleet"],
  [[{}], { zone: "eu" }, "none of the 1 executors of the fleet has the label zone=eu"],
  [
    [{}, {}],
    { zone: "eu", gpu: "yes" },
    "none of the 2 executors of the fleet has the labels zone=eu, gpu=yes",
  ],
  [[{ state: "cordoned" }], {}, "no executor is ready: a is cordoned"],
  [
    [
      { state: "cordoned", labels: { z: "1" } },
      { id: "b", state: "draining", labels: { z: "1" } },
      { id: "c" },
    ],
    { z: "1" },
    "no executor with z=1 is ready: a is cordoned, b is draining",
  ],
  [
    ["a", "b", "c", "d"].map((id) => ({ id, state: "draining" as const })),
    {},
    "no executor is ready: a is draining, b is draining, c is draining, …",
  ],
] as [Partial<Executor>[], Record<string, string>, string][])(
  "of %j none is picked for %j, with the reason",
  (executors, labels, message) => {
    expect(() => pick(executors, labels)).toThrow(expect.objectContaining({ code: "NOT_FOUND", message }));
  },
);

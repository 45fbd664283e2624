import { expect, it } from "vitest";
import { RowBatch } from "./row-batch.ts";

const MIB = 1024 * 1024;
const item = (cell = "") => ({ index: 0, id: "row-1", values: { cell } });
const state = (result?: string | readonly string[]) => ({
  status: "completed",
  attempts: 1,
  ...(result === undefined ? {} : { result }),
});

function rowsUntilFull(add: (batch: RowBatch) => void): number {
  const batch = new RowBatch();
  while (!batch.isFull) add(batch);
  return batch.take().length;
}

it("holds many small rows, and few large ones, whatever makes them large", () => {
  const large = "x".repeat(MIB);
  expect(rowsUntilFull((batch) => batch.add(item("a"), state("b")))).toBe(256);
  expect(rowsUntilFull((batch) => batch.add(item(large), state()))).toBe(4);
  expect(rowsUntilFull((batch) => batch.add(item(), state(large)))).toBe(4);
  expect(rowsUntilFull((batch) => batch.add(item(), state([large])))).toBe(4);
  expect(rowsUntilFull((batch) => batch.add(item(), { ...state(), error: large }))).toBe(4);
});

it("is empty after its rows were taken", () => {
  const batch = new RowBatch();
  batch.add(item("x".repeat(5 * MIB)), state());
  expect([batch.isFull, batch.take().length, batch.isFull, batch.take().length]).toEqual([true, 1, false, 0]);
});

import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { DeliveryReceipts } from "./delivery-receipts.ts";
import type { Peer } from "../wire/peer.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

function create(canBeAsked = true): {
  receipts: DeliveryReceipts;
  questions: (() => void)[];
  read: string[];
} {
  const questions: (() => void)[] = [];
  const peer: Partial<Peer> = {
    ping: (answered) => {
      if (canBeAsked) questions.push(answered);
      return canBeAsked;
    },
  };
  return { receipts: new DeliveryReceipts(peer as Peer), questions, read: [] };
}

it("nothing counts as read before the question that followed it is answered", async () => {
  const { receipts, questions, read } = create();
  for (let count = 0; count < 1000; count += 1) receipts.confirm(() => read.push("early"));
  await vi.advanceTimersByTimeAsync(60_000);
  expect([questions.length, read.length]).toEqual([1, 0]);
  receipts.confirm(() => read.push("late"));
  questions[0]?.();
  expect(read).toHaveLength(1000);
  await vi.advanceTimersByTimeAsync(60_000);
  expect([questions.length, read.length]).toEqual([2, 1000]);
  questions[1]?.();
  expect(read.at(-1)).toBe("late");
});

it("what was not confirmed when the connection ended never is", async () => {
  const { receipts, questions, read } = create();
  receipts.confirm(() => read.push("sent"));
  await vi.advanceTimersByTimeAsync(1_000);
  receipts.confirm(() => read.push("unasked"));
  receipts.stop();
  questions[0]?.();
  await vi.advanceTimersByTimeAsync(60_000);
  expect([questions.length, read]).toEqual([1, []]);
});

it("who cannot be asked has read it", async () => {
  const { receipts, read } = create(false);
  receipts.confirm(() => read.push("sent"));
  await vi.advanceTimersByTimeAsync(1_000);
  expect(read).toEqual(["sent"]);
});

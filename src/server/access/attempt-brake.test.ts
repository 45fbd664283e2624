import { expect, it } from "vitest";
import { AttemptBrake } from "./attempt-brake.ts";

/** A brake whose pauses end on demand. */
function createBrake() {
  const pauses: { ms: number; end: () => void }[] = [];
  const clock = { now: 0 };
  const pause = (ms: number): Promise<void> => new Promise((end) => pauses.push({ ms, end }));
  return { brake: new AttemptBrake(() => clock.now, pause), pauses, clock };
}

const fail = (brake: AttemptBrake, from: string, times: number): void => {
  for (let count = 0; count < times; count += 1) brake.failed(from);
};

it("after some wrong tokens, those of the same address are checked one at a time, with growing pauses", async () => {
  const { brake, pauses } = createBrake();
  fail(brake, "192.0.2.1:5", 9);
  expect(await brake.turn("192.0.2.1:6")).toBe(true);
  expect(pauses).toEqual([]);
  fail(brake, "192.0.2.1:7", 1);
  const turns: number[] = [];
  const first = brake.turn("192.0.2.1:8").then(() => turns.push(1));
  const second = brake.turn("192.0.2.1:9").then(() => turns.push(2));
  await Promise.resolve();
  expect(pauses.map(({ ms }) => ms)).toEqual([50]);
  expect(await brake.turn("192.0.2.2:8")).toBe(true);
  pauses[0]!.end();
  await first;
  expect(turns).toEqual([1]);
  pauses[1]!.end();
  await second;
  fail(brake, "192.0.2.1:7", 20);
  void brake.turn("192.0.2.1:8");
  await Promise.resolve();
  expect(pauses.at(-1)!.ms).toBe(1_000);
});

it("few attempts wait, and others are turned away unchecked", async () => {
  const { brake } = createBrake();
  fail(brake, "[2001:db8::1]:5", 10);
  const waiting = Array.from({ length: 8 }, () => brake.turn("[2001:db8::2]:5"));
  expect(await brake.turn("[2001:db8:0:0:5::]:5")).toBe(false);
  expect(await brake.turn("[2001:db8:0:1::1]:5")).toBe(true);
  expect(waiting).toHaveLength(8);
});

it("an address is forgotten after a minute without a wrong token", async () => {
  const { brake, clock } = createBrake();
  fail(brake, "[::ffff:192.0.2.1]:5", 30);
  clock.now = 60_001;
  expect(await brake.turn("192.0.2.1:5")).toBe(true);
  brake.failed("192.0.2.1:5");
  expect(await brake.turn("192.0.2.1:5")).toBe(true);
});

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
  const answers: boolean[] = [];
  for (let count = 0; count < 8; count += 1)
    void brake.turn("[2001:db8::2]:5").then((answer) => answers.push(answer));
  expect(await brake.turn("[2001:db8:0:0:5::]:5")).toBe(false);
  expect(await brake.turn("[2001:db8:0:1::1]:5")).toBe(true);
  expect(answers).toEqual([]);
});

it("an address is forgotten after a minute without a wrong token", async () => {
  const { brake, clock } = createBrake();
  fail(brake, "[::ffff:192.0.2.1]:5", 30);
  clock.now = 60_001;
  expect(await brake.turn("192.0.2.1:5")).toBe(true);
  brake.failed("192.0.2.1:5");
  expect(await brake.turn("192.0.2.1:5")).toBe(true);
});

it("an attempt that has had its turn makes room for another", async () => {
  const { brake, pauses } = createBrake();
  fail(brake, "192.0.2.1:5", 10);
  const waiting = Array.from({ length: 8 }, () => brake.turn("192.0.2.1:5"));
  expect(await brake.turn("192.0.2.1:5")).toBe(false);
  await Promise.resolve();
  pauses[0]!.end();
  expect(await waiting[0]).toBe(true);
  waiting.push(brake.turn("192.0.2.1:5"));
  expect(await brake.turn("192.0.2.1:5")).toBe(false);
});

it("each wrong token makes the pause twice as long, up to a second", async () => {
  const { brake, pauses } = createBrake();
  fail(brake, "192.0.2.1:5", 9);
  for (const pauseMs of [50, 100, 200, 400, 800, 1_000, 1_000]) {
    brake.failed("192.0.2.1:5");
    const turn = brake.turn("192.0.2.1:5");
    await Promise.resolve();
    expect(pauses.at(-1)!.ms).toBe(pauseMs);
    pauses.at(-1)!.end();
    expect(await turn).toBe(true);
  }
});

it("wrong tokens within a minute of each other count together, however long they continue", async () => {
  const { brake, pauses, clock } = createBrake();
  for (let count = 0; count < 10; count += 1) {
    brake.failed("192.0.2.1:5");
    clock.now += 60_000;
  }
  void brake.turn("192.0.2.1:5");
  await Promise.resolve();
  expect(pauses).toHaveLength(1);
});

it.each([
  ["[2001:db8::1%eth0]:5", "[2001:db8:0:0:ffff::]:6", true],
  ["[1:2:3:4:5:6:7:8]:5", "[1:2:3:4::]:6", true],
  ["[1:2:3:4:5:6:7:8]:5", "[1:2:3:5::]:6", false],
  ["[::1]:5", "[::2]:6", true],
  ["[1::]:5", "[::1]:6", false],
  ["[::ffff:192.0.2.1]:5", "192.0.2.1:6", true],
  ["[::ffff:192.0.2.1]:5", "[::ffff:192.0.2.2]:6", false],
  ["192.0.2.1:5", "192.0.2.2:5", false],
  [undefined, "", true],
])("%s and %s are the same to it: %j", async (one, other, isSame) => {
  const { brake, pauses } = createBrake();
  for (let count = 0; count < 10; count += 1) brake.failed(one);
  void brake.turn(other);
  await Promise.resolve();
  expect(pauses.length === 1).toBe(isSame);
});

it("of many addresses the oldest are forgotten", async () => {
  const { brake, pauses } = createBrake();
  const address = (index: number): string => `10.${index >> 16}.${(index >> 8) & 255}.${index & 255}:1`;
  fail(brake, "192.0.2.1:5", 10);
  fail(brake, "192.0.2.2:5", 10);
  for (let index = 0; index < 4_095; index += 1) brake.failed(address(index));
  expect(await brake.turn("192.0.2.1:5")).toBe(true);
  expect(pauses).toEqual([]);
  void brake.turn("192.0.2.2:5");
  await Promise.resolve();
  expect(pauses).toHaveLength(1);
});

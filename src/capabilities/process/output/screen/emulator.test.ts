import { expect, onTestFinished, test, vi } from "vitest";
import { runSeed, SeededRandom } from "../../../../../test/fault/seeded-random.ts";
import { controlSequences, otherSequences, STATES } from "../../../../../test/fixtures/extreme-sequences.ts";
import { Emulator } from "./emulator.ts";
import { awaitTurn } from "./emulator-turns.ts";

async function open(size: { rows: number; columns: number }): Promise<Emulator> {
  return Emulator.open(size, () => {});
}

async function read(emulator: Emulator, text: string): Promise<void> {
  emulator.write(Buffer.from(text));
  await emulator.whenRead(() => {});
}

test.each([
  [{ rows: 24, columns: 80 }, 208],
  [{ rows: 65_535, columns: 65_535 }, 4],
])("a screen of %o reads %i bytes at once", async (size, bytes) => {
  const emulator = await open(size);
  const { _inputHandler: input } = emulator.core;
  const lengths: number[] = [];
  const parse = input.parse.bind(input);
  input.parse = (slice) => {
    lengths.push(slice.length);
    parse(slice);
  };
  await read(emulator, "x".repeat(1000));
  expect(Math.max(...lengths)).toBe(bytes);
  expect(lengths.reduce((sum, length) => sum + length)).toBe(1000);
  expect(emulator.unreadBytes).toBe(0);
});

test("an emulator that fails starts again with an empty screen of the same size", async () => {
  const emulator = await open({ rows: 5, columns: 30 });
  await read(emulator, "before");
  vi.spyOn(emulator.core._inputHandler, "parse").mockImplementation(() => {
    throw new Error("a fault of the emulator");
  });
  await read(emulator, "lost");
  await read(emulator, "after");
  const { rows, cols, buffer } = emulator.terminal;
  expect([emulator.damaged, rows, cols]).toEqual([true, 5, 30]);
  expect(buffer.active.getLine(0)!.translateToString(true)).toBe("after");
});

test("a resize is unread until it is done", async () => {
  const emulator = await open({ rows: 24, columns: 80 });
  emulator.resize({ rows: 30, columns: 90 });
  emulator.resize({ rows: 24, columns: 80 });
  expect(emulator.unreadBytes).toBe(8192);
  await emulator.whenRead(() => {});
  expect(emulator.unreadBytes).toBe(0);
});

test("titles, colours and links are not collected", async () => {
  const emulator = await open({ rows: 24, columns: 80 });
  const { terminal } = emulator;
  const input = emulator.core._inputHandler as unknown as {
    onColor(listener: () => void): void;
    onTitleChange(listener: () => void): void;
  };
  let events = 0;
  input.onColor(() => (events += 1));
  input.onTitleChange(() => (events += 1));
  await read(
    emulator,
    "\u001b]0;t\u0007\u001b]4;1;#123\u0007\u001b]104\u0007\u001b]10;#123\u0007\u001b]8;;u\u0007x",
  );
  expect(events).toBe(0);
  expect(terminal.markers).toEqual([]);
  expect(terminal.buffer.active.getLine(0)!.translateToString(true)).toBe("x");
});

test("no sequence with an extreme parameter harms an emulator, in any mode", async () => {
  const random = new SeededRandom(runSeed);
  for (const [name, state] of Object.entries(STATES)) {
    const emulator = await open({ rows: 24, columns: 80 });
    for (const sequence of [...controlSequences(random), ...otherSequences(random)])
      emulator.write(Buffer.from(state + sequence));
    await emulator.whenRead(() => {});
    expect(emulator.damaged, `FAULT_SEED=${runSeed}: ${name}`).toBe(false);
  }
});

test("all busy emulators together have one turn, and then rest", async () => {
  const calls: string[] = [];
  for (const name of ["first", "second", "third"])
    awaitTurn((isOver) => {
      while (!isOver());
      calls.push(name);
    });
  await new Promise((resolve) => setImmediate(resolve));
  expect(calls).toEqual(["first"]);
  await new Promise<void>((resolve) => awaitTurn(() => resolve()));
  expect(calls).toEqual(["first", "second", "third"]);
});

test("a turn is over after 2 ms, not before", async () => {
  vi.useFakeTimers({ toFake: ["performance"] });
  onTestFinished(() => void vi.useRealTimers());
  const over = await new Promise<boolean[]>((resolve) =>
    awaitTurn((isOver) => {
      const setBudget = (ms: number): boolean => {
        vi.advanceTimersByTime(ms);
        return isOver();
      };
      resolve([setBudget(0), setBudget(1), setBudget(1)]);
    }),
  );
  expect(over).toEqual([false, false, true]);
});

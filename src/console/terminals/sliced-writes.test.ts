import { expect, test } from "vitest";
import { SlicedWrites } from "./sliced-writes.ts";

class FakeTerminal {
  cols = 80;
  rows = 24;
  readonly written: (string | Uint8Array)[] = [];
  readonly callbacks: (() => void)[] = [];

  write(data: string | Uint8Array, parsed?: () => void): void {
    this.written.push(data);
    if (parsed !== undefined) this.callbacks.push(parsed);
  }

  /** Everything that is written until nothing more comes. */
  parseAll(): void {
    for (let next = this.callbacks.shift(); next !== undefined; next = this.callbacks.shift()) next();
  }
}

test("one slice after another is written, in order, and each write is reported once it is parsed", () => {
  const terminal = new FakeTerminal();
  const events: string[] = [];
  const writes = new SlicedWrites(terminal, () => events.push("slice"));
  writes.write("a".repeat(300), () => events.push("a"));
  writes.write("", () => events.push("nothing"));
  writes.write(new Uint8Array(209), () => events.push("bytes"));
  expect(terminal.written).toEqual(["a".repeat(208)]);
  terminal.parseAll();
  expect(terminal.written).toEqual([
    "a".repeat(208),
    "a".repeat(92),
    "",
    new Uint8Array(208),
    new Uint8Array(1),
  ]);
  expect(events).toEqual(["slice", "slice", "a", "slice", "nothing", "slice", "slice", "bytes"]);
});

test("a screen that grows meanwhile gets smaller slices at once", () => {
  const terminal = new FakeTerminal();
  const writes = new SlicedWrites(terminal, () => {});
  writes.write("a".repeat(1000));
  Object.assign(terminal, { cols: 1000, rows: 300 });
  terminal.parseAll();
  expect(terminal.written.map((data) => data.length).slice(0, 3)).toEqual([208, 4, 4]);
  expect(terminal.written.join("")).toBe("a".repeat(1000));
});

import { expect, test } from "vitest";
import { LineLayout } from "./line-layout.ts";
import { LineStore } from "./line-store.ts";

const encoder = new TextEncoder();

function storeOf(...chunks: readonly (readonly ["stdout" | "stderr", string])[]): LineStore {
  const store = new LineStore();
  for (const [index, [stream, text]] of chunks.entries())
    store.append(stream, encoder.encode(text), index + 1);
  return store;
}

function linesOf(store: LineStore) {
  return store.blocks.flatMap(({ lines }) => lines.map(({ number, stream, text }) => [number, stream, text]));
}

test("lines are joined from pieces, each stream for itself", () => {
  const store = storeOf(["stdout", "one\ntw"], ["stderr", "bad\n"], ["stdout", "o\n\nthree"]);
  expect(linesOf(store)).toEqual([
    [1, "stdout", "one"],
    [2, "stdout", "two"],
    [3, "stderr", "bad"],
    [4, "stdout", ""],
    [5, "stdout", "three"],
  ]);
});

test("characters and escape sequences may be cut anywhere", () => {
  const whole = encoder.encode("\x1b[31mgrün \u{1F44B}\x1b[0m\nplain\n");
  const store = new LineStore();
  for (const [index, byte] of whole.entries()) store.append("stdout", Uint8Array.of(byte), index + 1);
  expect(linesOf(store).map(([, , text]) => text)).toEqual(["grün \u{1F44B}", "plain"]);
  expect(store.at(0)!.spans).toEqual([{ start: 0, end: 7, style: { foreground: 1 } }]);
  expect(store.at(1)!.spans).toBeUndefined();
  // A line has the number of the event that began it.
  expect([store.at(0)!.seq, store.at(1)!.seq]).toEqual([1, whole.indexOf(0x0a) + 2]);
});

test("a line that never ends is cut, and its parts count as one", () => {
  const store = storeOf(["stdout", "x".repeat(20_000)], ["stdout", "y\nnext"]);
  const lines = store.blocks.flatMap((block) => block.lines);
  expect(lines.map(({ number, continues, text }) => [number, continues, text.length])).toEqual([
    [1, false, 8192],
    [1, true, 8192],
    [1, true, 3617],
    [2, false, 4],
  ]);
});

test("the oldest lines are dropped when there are too many, and numbers continue", () => {
  const store = new LineStore({ maxLines: 1000, maxCharacters: 1_000_000 });
  for (let number = 1; number <= 5000; number++)
    store.append("stdout", encoder.encode(`line ${number}\n`), number);
  expect(store.end).toBe(5000);
  expect(store.end - store.first).toBeGreaterThanOrEqual(1000);
  expect(store.end - store.first).toBeLessThan(1000 + 2 * 512);
  expect(store.at(store.end - 1)).toMatchObject({ number: 5000, text: "line 5000" });
  expect(store.at(store.first - 1)).toBeUndefined();
  expect(store.at(store.indexOfNumber(4500))!.text).toBe("line 4500");
  expect(store.indexOfNumber(1)).toBe(store.first);
});

test("the oldest lines are dropped when they are too long", () => {
  const store = new LineStore({ maxLines: 1_000_000, maxCharacters: 100_000 });
  const text = encoder.encode(`${"x".repeat(99)}\n`.repeat(1000));
  for (let chunk = 1; chunk <= 20; chunk++) store.append("stdout", text, chunk);
  const characters = store.blocks
    .flatMap(({ lines }) => lines)
    .reduce((sum, line) => sum + line.text.length, 0);
  expect(characters).toBeLessThanOrEqual(100_000);
});

test("what is missing has a place of its own, and ends the lines before it", () => {
  const store = storeOf(["stdout", "half"]);
  store.appendGap("missing", 5);
  store.append("stdout", encoder.encode("rest\n"), 6);
  store.updateGap(1, "5 MB missing");
  expect(store.blocks.flatMap(({ lines }) => lines.map(({ kind, text }) => [kind, text]))).toEqual([
    ["text", "half"],
    ["gap", "5 MB missing"],
    ["text", "rest"],
  ]);
});

test("rows are counted for long lines and one stream", () => {
  const store = storeOf(["stdout", `${"x".repeat(25)}\n文件文件文件\n`], ["stderr", "short\n"]);
  const layout = new LineLayout(store);
  layout.update({ columns: 10, stream: undefined });
  expect(layout.totalRows).toBe(3 + 2 + 1);
  expect(layout.linesBetween(2, 4).map(({ index, row, rows }) => [index, row, rows])).toEqual([
    [0, 0, 3],
    [1, 3, 2],
  ]);
  expect(layout.rowOf(2)).toBe(5);
  layout.update({ columns: undefined, stream: "stderr" });
  expect(layout.totalRows).toBe(1);
  expect(layout.linesBetween(0, 10).map(({ index }) => index)).toEqual([2]);
  expect(layout.rowOf(2)).toBe(0);
});

test("rows follow lines that grow and lines that are dropped", () => {
  const store = new LineStore({ maxLines: 600, maxCharacters: 1_000_000 });
  const layout = new LineLayout(store);
  store.append("stdout", encoder.encode("x".repeat(8)), 1);
  layout.update({ columns: 10, stream: undefined });
  expect(layout.totalRows).toBe(1);
  store.append("stdout", encoder.encode("x".repeat(8)), 2);
  layout.update({ columns: 10, stream: undefined });
  expect(layout.totalRows).toBe(2);
  store.append("stdout", encoder.encode("\n".repeat(2000)), 3);
  // The first block has one line of two rows.
  expect(layout.update({ columns: 10, stream: undefined })).toBe(2);
  expect(layout.totalRows).toBe(store.end - store.first);
});

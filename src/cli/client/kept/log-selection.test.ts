import { expect, test } from "vitest";
import { FirstLines, LastLines, type LogPiece } from "./log-selection.ts";

const pieces = (...texts: string[]): LogPiece[] =>
  texts.map((text, index) => ({ seq: index + 1, stream: "stdout", bytes: Buffer.from(text) }));
const textOf = (list: readonly LogPiece[]): string =>
  Buffer.concat(list.map(({ bytes }) => bytes)).toString();

const TEXT = "one\ntwo\nthree\n";
/** The text cut in two everywhere. */
const CUTS = Array.from({ length: TEXT.length + 1 }, (_, at) => [TEXT.slice(0, at), TEXT.slice(at)]);

test.each([
  [0, ""],
  [1, "one\n"],
  [2, "one\ntwo\n"],
  [3, TEXT],
  [4, TEXT],
])("the first %d lines are the same however the output is cut", (lines, expected) => {
  for (const cut of CUTS) {
    const first = new FirstLines(lines);
    expect(textOf(pieces(...cut).map((piece) => first.take(piece)))).toBe(expected);
    expect(first.isDone).toBe(lines < 4);
  }
});

test.each([
  [0, ""],
  [1, "three\n"],
  [2, "two\nthree\n"],
  [3, TEXT],
  [4, TEXT],
])("the last %d lines are the same however the output is cut", (lines, expected) => {
  for (const cut of CUTS) {
    const last = new LastLines(lines);
    for (const piece of pieces(...cut)) last.add(piece);
    expect(textOf(last.pieces)).toBe(expected);
  }
});

test("a last line that has not ended counts", () => {
  const last = new LastLines(2);
  for (const piece of pieces("one\ntwo\nth", "ree")) last.add(piece);
  expect(textOf(last.pieces)).toBe("two\nthree");
});

test("pieces that cannot belong to the last lines are not held, and it shows when there are enough", () => {
  const last = new LastLines(2);
  const full: boolean[] = [];
  for (let line = 1; line <= 5; line += 1) {
    last.add({ seq: line, stream: "stdout", bytes: Buffer.from(`${line}\n`) });
    full.push(last.isFull);
    expect(last.pieces.length).toBeLessThanOrEqual(3);
  }
  expect(full).toEqual([false, false, true, true, true]);
  expect(textOf(last.pieces)).toBe("4\n5\n");
});

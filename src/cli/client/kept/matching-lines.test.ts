import { expect, test } from "vitest";
import type { LogPiece } from "./log-selection.ts";
import { MatchingLines } from "./matching-lines.ts";

const piece = (seq: number, text: string, stream: LogPiece["stream"] = "stdout"): LogPiece => ({
  seq,
  stream,
  bytes: Buffer.from(text),
});
const shown = ({ seq, stream, bytes }: LogPiece): string =>
  `${seq} ${stream} ${Buffer.from(bytes).toString()}`;

const TEXT = "a cat\r\ndog\nthe cat";

test("finds the same lines however the output is cut, each with the number of its beginning", () => {
  for (let at = 0; at <= TEXT.length; at += 1) {
    const lines = new MatchingLines("cat$");
    const found = [
      ...lines.take(piece(1, TEXT.slice(0, at))),
      ...lines.take(piece(2, TEXT.slice(at))),
      ...lines.rest(),
    ];
    expect(found.map(({ bytes }) => Buffer.from(bytes).toString())).toEqual(["a cat\r\n", "the cat"]);
    expect(found.map(({ seq }) => seq)).toEqual([at === 0 ? 2 : 1, at > TEXT.lastIndexOf("\n") + 1 ? 1 : 2]);
    expect(lines.rest()).toEqual([]);
  }
});

test("keeps the lines of each stream together", () => {
  const lines = new MatchingLines("^ab$");
  const found = [
    ...lines.take(piece(1, "a")),
    ...lines.take(piece(2, "a", "stderr")),
    ...lines.take(piece(3, "b\n")),
    ...lines.take(piece(4, "x\nab\n", "stderr")),
  ];
  expect(found.map(shown)).toEqual(["1 stdout ab\n", "4 stderr ab\n"]);
});

test("holds no line of any length", () => {
  const lines = new MatchingLines("end");
  let found = 0;
  for (let seq = 1; seq <= 40; seq += 1) found += lines.take(piece(seq, "x".repeat(16 * 1024))).length;
  found += lines.take(piece(41, "end\n")).length;
  expect(found).toBe(1);
});

test.each([
  ["(", "pattern is not a regular expression"],
  ["(a*)*b", "pattern takes too long"],
])("refuses the pattern %s", (pattern, message) => {
  expect(() => new MatchingLines(pattern).take(piece(1, `${"a".repeat(40)}\n`))).toThrow(message);
});

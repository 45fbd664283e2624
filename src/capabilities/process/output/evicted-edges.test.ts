import { describe, expect, it } from "vitest";
import { EvictedEdges } from "./evicted-edges.ts";

const EDGE = 10;

function edgesOf(...pieces: readonly [text: string, logKeepsEnough: boolean][]) {
  const edges = new EvictedEdges(EDGE);
  for (const [text, logKeepsEnough] of pieces) edges.add(Buffer.from(text), logKeepsEnough);
  return { head: textOf(edges.head), tail: textOf(edges.tail), bytes: edges.bytes };
}

const textOf = (bytes: Uint8Array): string => Buffer.from(bytes).toString();

describe("EvictedEdges", () => {
  it("keeps the very beginning, and nothing after it", () => {
    expect(edgesOf(["abc", true], ["defghi", true], ["jklm", true], ["nop", true])).toEqual({
      head: "abcdefghij",
      tail: "",
      bytes: 16,
    });
  });

  it("keeps the end unless the log does", () => {
    expect(edgesOf(["abc", false], ["def", false])).toEqual({ head: "abcdef", tail: "abcdef", bytes: 6 });
  });

  it("gives up an end that the log has gone on from, also while it keeps the beginning", () => {
    expect(edgesOf(["abc", false], ["def", true])).toEqual({ head: "abcdef", tail: "", bytes: 6 });
    expect(edgesOf(["abc", false], ["def", true], ["ghi", false])).toEqual({
      head: "abcdefghi",
      tail: "ghi",
      bytes: 9,
    });
  });

  it("keeps at least the wanted end, and at most twice as much", () => {
    const letters = Array.from({ length: 26 }, (_, at) => String.fromCharCode(97 + at));
    const edges = new EvictedEdges(EDGE);
    let all = "";
    for (const letter of letters) {
      all += letter.repeat(3);
      edges.add(Buffer.from(letter.repeat(3)), false);
      expect(all.endsWith(textOf(edges.tail))).toBe(true);
      expect(edges.tail.length).toBeGreaterThanOrEqual(Math.min(all.length, EDGE));
      expect(edges.tail.length).toBeLessThanOrEqual(2 * EDGE);
    }
    edges.add(Buffer.from("0123456789abcdef"), false);
    expect(textOf(edges.tail).endsWith("6789abcdef")).toBe(true);
  });

  it("ignores what comes once the beginning is whole, if the log keeps the end", () => {
    const edges = new EvictedEdges(EDGE);
    edges.add(Buffer.from("123456789"), false);
    expect([edges.ignores(true), edges.ignores(false)]).toEqual([false, false]);
    edges.add(Buffer.from("0"), false);
    expect([edges.ignores(true), edges.ignores(false)]).toEqual([true, false]);
    edges.skip(5);
    expect([edges.bytes, textOf(edges.tail), textOf(edges.head)]).toEqual([15, "", "1234567890"]);
  });

  it("keeps more than its first buffers hold", () => {
    const edges = new EvictedEdges(5_000);
    const text = Array.from({ length: 1_000 }, (_, at) => String(at).padStart(4, "0"));
    for (const piece of text) edges.add(Buffer.from(piece), false);
    expect(textOf(edges.head)).toBe(text.join(""));
    expect(textOf(edges.tail)).toBe(text.join(""));
  });
});

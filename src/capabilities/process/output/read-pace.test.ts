import { describe, expect, it } from "vitest";
import { ReadPace } from "./read-pace.ts";

const KIB = 1024;

/** The verdicts on reads of these lengths, that many milliseconds apart. */
function judge(lengths: readonly number[], apartMs: number): boolean[] {
  const pace = new ReadPace();
  return lengths.map((length, index) => pace.shouldPause(length, index * apartMs));
}

describe("the pace of reads", () => {
  it("is too eager at the fourth read of 8 KiB within a millisecond, and then starts counting again", () => {
    expect(judge(Array(8).fill(8 * KIB), 0.1)).toEqual([
      false,
      false,
      false,
      true,
      false,
      false,
      false,
      true,
    ]);
  });

  it("is right for large reads, however fast they follow each other", () => {
    expect(judge(Array(20).fill(32 * KIB), 0.01)).not.toContain(true);
  });

  it("is right when a large read comes among small ones", () => {
    expect(
      judge(
        [8, 8, 8, 64, 8, 8, 8].map((size) => size * KIB),
        0.01,
      ),
    ).not.toContain(true);
  });

  it("is right for keys and short lines, however many there are", () => {
    expect(judge(Array(1000).fill(20), 0.002)).not.toContain(true);
  });

  it("is right for reads that are further apart", () => {
    expect(judge(Array(20).fill(8 * KIB), 0.4)).not.toContain(true);
  });

  it("is too eager from 24 KiB on, and up to a millisecond after the first read", () => {
    expect(judge(Array(4).fill(6 * KIB), 0.25)).toEqual([false, false, false, true]);
    expect(
      judge(
        [6, 6, 6, 6 - 1 / KIB].map((size) => size * KIB),
        0.25,
      ),
    ).not.toContain(true);
    expect(
      judge(
        [10, 10, 10].map((size) => size * KIB),
        0.25,
      ),
    ).not.toContain(true);
    const pace = new ReadPace();
    expect([0, 0.25, 0.5, 1].map((atMs) => pace.shouldPause(6 * KIB, atMs))).toEqual([
      false,
      false,
      false,
      true,
    ]);
  });

  it("starts counting again after a pause, from the first read after it", () => {
    const pace = new ReadPace();
    const times = [0, 0.5, 1.1, 1.5, 2, 2.1];
    expect(times.map((atMs) => pace.shouldPause(8 * KIB, atMs))).toEqual([
      false,
      false,
      false,
      false,
      false,
      true,
    ]);
  });
});

import { describe, expect, it } from "vitest";
import type { ReadResult } from "../../protocol/process.ts";
import { eventsOfRead } from "./read-events.ts";

/** The answer to a read that may reach back to disk. */
function answer(seqs: readonly number[], rest: Partial<ReadResult>): ReadResult {
  return {
    chunks: seqs.map((seq) => ({ seq, stream: "stdout", chunk: "eA==" })),
    nextSeq: 1,
    exited: false,
    exitCode: null,
    closed: false,
    failure: null,
    sandboxDenied: false,
    ...rest,
  };
}

const shown = (afterSeq: number, read: ReadResult): string[] =>
  eventsOfRead(afterSeq, read, false).map((event) =>
    event.kind === "gap" ? `gap ${event.fromSeq}-${event.toSeq}` : `${event.kind} ${event.seq}`,
  );

describe("a part of the output", () => {
  it("has what is there, and gaps up to where it ends", () => {
    const read = answer([3, 4, 7], { nextSeq: 10, more: true });
    expect(shown(1, read)).toEqual(["gap 2-2", "output 3", "output 4", "gap 5-6", "output 7", "gap 8-9"]);
    expect(shown(1, answer([], { nextSeq: 4, more: true }))).toEqual(["gap 2-3"]);
  });

  it("has the exit where the server says it is, and no gap is taken for it", () => {
    const read = answer([2, 4], { nextSeq: 6, more: true, exited: true, exitCode: 3, exitSeq: 3 });
    expect(shown(1, read)).toEqual(["output 2", "exited 3", "output 4", "gap 5-5"]);
    const earlier = answer([7], { nextSeq: 9, exited: true, exitCode: 3, exitSeq: 3, closed: true });
    expect(shown(4, earlier)).toEqual(["gap 5-6", "output 7", "closed 8"]);
  });

  it.each([2, 9, 8])("is refused if its exit has the impossible number %i", (exitSeq) => {
    const read = answer([2], { nextSeq: 9, exited: true, exitCode: 0, exitSeq, closed: true });
    expect(() => shown(0, read)).toThrow(`the exit has the number ${exitSeq}`);
  });
});

import { Writable } from "node:stream";
import { describe, expect, it } from "vitest";
import { UsageError } from "../../base/errors.ts";
import { pipeOutput } from "./output-streams.ts";
import type { OutputChunk } from "../routes/process-events.ts";

/** Output of one piece, which counts the readers that have left. */
function someOutput() {
  let pieces = 1;
  return {
    returned: 0,
    async next(): Promise<IteratorResult<OutputChunk>> {
      if (pieces === 0) return { done: true, value: undefined };
      pieces -= 1;
      return { done: false, value: { stream: "stdout" as const, bytes: Uint8Array.of(1), seq: 1 } };
    },
    async return(): Promise<IteratorResult<OutputChunk>> {
      this.returned += 1;
      return { done: true, value: undefined };
    },
    [Symbol.asyncIterator]() {
      return this;
    },
  };
}

const later = (report: () => void): void => void setImmediate(() => setImmediate(report));

describe("pipeOutput", () => {
  // An unhandled error would end the program, and with it this test.
  it.each([true, false])("rejects if the last piece cannot be written (end: %s)", async (end) => {
    const full = new Writable({ write: (_chunk, _encoding, done) => later(() => done(new Error("full"))) });
    await expect(pipeOutput(someOutput(), full, { end })).rejects.toThrow("full");
  });

  it("rejects if the destination cannot be completed", async () => {
    const full = new Writable({
      write: (_chunk, _encoding, done) => done(),
      final: (done) => later(() => done(new Error("full"))),
    });
    await expect(pipeOutput(someOutput(), full, {})).rejects.toThrow("full");
  });

  it("resolves when everything is written", async () => {
    const events: string[] = [];
    const slow = new Writable({
      write: (_chunk, _encoding, done) => later(() => done(void events.push("written"))),
      final: (done) => later(() => done(void events.push("completed"))),
    });
    await pipeOutput(someOutput(), slow, { end: false });
    expect(events).toEqual(["written"]);
    await pipeOutput(someOutput(), slow, {});
    expect(events).toEqual(["written", "written", "completed"]);
    expect(slow.eventNames()).toEqual([]);
  });

  it.each([null, undefined, "file", {}])(
    "refuses %o as a destination, and gives the output up",
    async (none) => {
      const output = someOutput();
      await expect(pipeOutput(output, none as Writable, {})).rejects.toThrow(UsageError);
      expect(output.returned).toBe(1);
    },
  );

  it("gives the output up if a web stream is locked", async () => {
    const output = someOutput();
    const locked = new WritableStream<Uint8Array>();
    locked.getWriter();
    await expect(pipeOutput(output, locked, {})).rejects.toThrow();
    expect(output.returned).toBe(1);
  });
});

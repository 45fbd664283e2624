import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { OutputLog, type StreamName } from "./output-log.ts";

const report = { cpuTimeMs: { user: 1, system: 2 } };

const text = (bytes: Uint8Array): string => Buffer.from(bytes).toString("latin1");

describe("OutputLog", () => {
  it("numbers all events with one counter from 1", () => {
    const log = new OutputLog({ maxBytes: 100, maxChunks: 10 });
    expect([
      log.appendOutput("stdout", Buffer.from("a")),
      log.appendExited(3, report),
      log.appendOutput("stderr", Buffer.from("b")),
      log.appendClosed(),
    ]).toEqual([1, 2, 3, 4]);
    expect(log.event(2)).toEqual({ kind: "exited", seq: 2, exitCode: 3, report });
    expect(log.event(4)).toEqual({ kind: "closed", seq: 4 });
    expect(log.event(5)).toBeUndefined();
    expect(log.nextSeq).toBe(5);
  });

  it("returns one chunk whatever the limit, and more while they fit", () => {
    const log = new OutputLog({ maxBytes: 100, maxChunks: 10 });
    for (const piece of ["aaa", "bb", "c"]) log.appendOutput("stdout", Buffer.from(piece));
    const read = (after: number, max: number): string =>
      log
        .chunksAfter(after, max)
        .map((c) => text(c.bytes))
        .join("|");
    expect(read(0, 0)).toBe("aaa");
    expect(read(0, 4)).toBe("aaa");
    expect(read(0, 5)).toBe("aaa|bb");
    expect(read(1, Number.POSITIVE_INFINITY)).toBe("bb|c");
    expect(read(3, 100)).toBe("");
  });

  it("keeps a number for a chunk that is larger than the whole log", () => {
    const log = new OutputLog({ maxBytes: 4, maxChunks: 10 });
    log.appendOutput("stdout", Buffer.from("ab"));
    expect(log.appendOutput("stdout", Buffer.from("12345"))).toBe(2);
    expect(log.chunksAfter(0, 100)).toEqual([]);
    log.appendOutput("stdout", Buffer.from("cd"));
    expect(log.chunksAfter(0, 100).map((chunk) => [chunk.seq, text(chunk.bytes)])).toEqual([[3, "cd"]]);
  });

  it("holds the newest chunks that fit its bounds, like a plain list would", () => {
    const chunk = fc.record({
      stream: fc.constantFrom<StreamName>("stdout", "stderr"),
      bytes: fc.string({ maxLength: 40, minLength: 1 }).map((value) => Buffer.from(value, "latin1")),
    });
    fc.assert(
      fc.property(
        fc.array(chunk, { maxLength: 200 }),
        fc.integer({ min: 40, max: 3000 }),
        fc.nat(),
        (chunks, maxBytes, after) => {
          const maxChunks = 30;
          const log = new OutputLog({ maxBytes, maxChunks });
          let model: { seq: number; stream: StreamName; value: string }[] = [];
          for (const { stream, bytes } of chunks) {
            model.push({ seq: log.appendOutput(stream, bytes), stream, value: text(bytes) });
            const total = (): number => model.reduce((sum, entry) => sum + entry.value.length, 0);
            while (total() > maxBytes || model.length > maxChunks) model = model.slice(1);
          }
          const afterSeq = after % (chunks.length + 1);
          const kept = log.chunksAfter(afterSeq, Number.POSITIVE_INFINITY);
          expect(kept.map(({ seq, stream, bytes }) => ({ seq, stream, value: text(bytes) }))).toEqual(
            model.filter((entry) => entry.seq > afterSeq),
          );
          for (const { seq, value } of model)
            expect(text((log.event(seq) as { bytes: Uint8Array }).bytes)).toBe(value);
        },
      ),
    );
  });
});

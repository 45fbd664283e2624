import * as fc from "fast-check";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { EvictedEdges } from "./evicted-edges.ts";
import { OutputLog, type StreamName } from "./output-log.ts";

const report = { cpuTimeMs: { user: 1, system: 2 } };

const text = (bytes: Uint8Array): string => Buffer.from(bytes).toString("latin1");

describe("OutputLog", () => {
  it("numbers all events with one counter from 1", () => {
    const log = new OutputLog({ maxRetainedBytes: 100, maxRetainedChunks: 10 });
    expect([
      log.appendOutput("stdout", Buffer.from("a")),
      log.appendExited({ exitCode: 3, report, sandboxDenied: false }),
      log.appendOutput("stderr", Buffer.from("b")),
      log.appendClosed(),
    ]).toEqual([1, 2, 3, 4]);
    expect(log.event(2)).toEqual({ kind: "exited", seq: 2, exitCode: 3, report, sandboxDenied: false });
    expect(log.event(4)).toEqual({ kind: "closed", seq: 4 });
    expect(log.event(5)).toBeUndefined();
    expect(log.nextSeq).toBe(5);
  });

  it("returns one chunk whatever the limit, and more while they fit", () => {
    const log = new OutputLog({ maxRetainedBytes: 100, maxRetainedChunks: 10 });
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

  it("copies nothing of a flood on one stream but its beginning", () => {
    const adding = vi.spyOn(EvictedEdges.prototype, "add");
    onTestFinished(() => adding.mockRestore());
    const log = new OutputLog({ maxRetainedBytes: 100, maxRetainedChunks: 100, edgeBytes: 20 });
    for (let count = 0; count < 50; count += 1) log.appendOutput("stdout", Buffer.alloc(10, "x"));
    expect(adding).toHaveBeenCalledTimes(2);
  });

  it("keeps a number for a chunk that is larger than the whole log", () => {
    const log = new OutputLog({ maxRetainedBytes: 4, maxRetainedChunks: 10 });
    log.appendOutput("stdout", Buffer.from("ab"));
    expect(log.appendOutput("stdout", Buffer.from("12345"))).toBe(2);
    expect(log.chunksAfter(0, 100)).toEqual([]);
    log.appendOutput("stdout", Buffer.from("cd"));
    expect(log.chunksAfter(0, 100).map((chunk) => [chunk.seq, text(chunk.bytes)])).toEqual([[3, "cd"]]);
  });

  it("holds no more chunks than its bound, however small they are", () => {
    const log = new OutputLog({ maxRetainedBytes: 1000, maxRetainedChunks: 3 });
    for (const piece of ["a", "b", "c", "d", "e"]) log.appendOutput("stdout", Buffer.from(piece));
    expect(log.chunksAfter(0, 1000).map((chunk) => [chunk.seq, text(chunk.bytes)])).toEqual([
      [3, "c"],
      [4, "d"],
      [5, "e"],
    ]);
    expect(log.firstSeq).toBe(3);
  });

  it("keeps its chunks whole when it grows, also one that goes around the end of its memory", () => {
    const log = new OutputLog({ maxRetainedBytes: 10_000, maxRetainedChunks: 3 });
    const pieces = ["a", "b", "c", "d"].map((letter) => letter.repeat(300));
    // It has 1 KiB at first, and the first one is evicted because there may be only three.
    for (const piece of pieces) log.appendOutput("stdout", Buffer.from(piece));
    const last = "e".repeat(600);
    log.appendOutput("stdout", Buffer.from(last));
    expect(log.chunksAfter(0, 10_000).map(({ bytes }) => text(bytes))).toEqual([pieces[2], pieces[3], last]);
    const head = Buffer.from(log.snapshot("stdout", 10_000).head);
    expect(text(head)).toBe([...pieces, last].join(""));
  });

  it("holds the newest chunks that fit its bounds, like a plain list would", () => {
    const chunk = fc.record({
      stream: fc.constantFrom<StreamName>("stdout", "stderr"),
      bytes: fc
        .string({ maxLength: 40, minLength: 1, size: "max" })
        .map((value) => Buffer.from(value, "latin1")),
    });
    const seen = new Set<string>();
    fc.assert(
      fc.property(
        fc.array(chunk, { maxLength: 200, size: "max" }),
        fc.integer({ min: 40, max: 3000 }),
        fc.nat(),
        (chunks, maxBytes, after) => {
          const maxChunks = 30;
          let boundedBy = "nothing";
          const log = new OutputLog({ maxRetainedBytes: maxBytes, maxRetainedChunks: maxChunks });
          let model: { seq: number; stream: StreamName; value: string }[] = [];
          for (const { stream, bytes } of chunks) {
            model.push({ seq: log.appendOutput(stream, bytes), stream, value: text(bytes) });
            const total = (): number => model.reduce((sum, entry) => sum + entry.value.length, 0);
            while (total() > maxBytes || model.length > maxChunks) {
              boundedBy = total() > maxBytes ? "bytes" : "chunks";
              model = model.slice(1);
            }
          }
          seen.add(boundedBy);
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
    // Otherwise the runs were too small to see what they are for.
    expect([...seen].sort()).toEqual(["bytes", "chunks", "nothing"]);
  });

  it("takes snapshots of each stream that are as true as a plain copy, whatever the other writes", () => {
    const chunk = fc.record({
      stream: fc.constantFrom<StreamName>("stdout", "stdout", "stdout", "stderr"),
      bytes: fc
        .string({ maxLength: 40, minLength: 1, size: "max" })
        .map((value) => Buffer.from(value, "latin1")),
    });
    const edgeBytes = 50;
    fc.assert(
      fc.property(
        fc.array(chunk, { maxLength: 300, size: "max" }),
        fc.integer({ min: 30, max: 1000 }),
        fc.integer({ min: 0, max: 3000 }),
        (chunks, maxBytes, snapshotBytes) => {
          const log = new OutputLog({ maxRetainedBytes: maxBytes, maxRetainedChunks: 30, edgeBytes });
          const model = { stdout: "", stderr: "" };
          for (const { stream, bytes } of chunks) {
            log.appendOutput(stream, bytes);
            model[stream as "stdout" | "stderr"] += text(bytes);
          }
          expect(log.totalBytes).toBe(model.stdout.length + model.stderr.length);
          for (const stream of ["stdout", "stderr"] as const) {
            const all = model[stream];
            const { head, tail, omittedBytes, totalBytes } = log.snapshot(stream, snapshotBytes);
            expect(all.startsWith(text(head))).toBe(true);
            expect(all.endsWith(text(tail))).toBe(true);
            expect(totalBytes).toBe(all.length);
            expect(head.length + omittedBytes + tail.length).toBe(all.length);
            expect(omittedBytes).toBeGreaterThanOrEqual(0);
            expect(head.length + tail.length).toBeLessThanOrEqual(snapshotBytes);
            const edge = Math.min(edgeBytes, Math.floor(snapshotBytes / 2));
            if (all.length >= 2 * edge) {
              expect(head.length).toBeGreaterThanOrEqual(edge);
              expect(tail.length).toBeGreaterThanOrEqual(omittedBytes === 0 ? 0 : edge);
            } else if (all.length <= snapshotBytes) expect(text(head)).toBe(all);
          }
        },
      ),
    );
  });

  it("keeps the wanted end of a stream to the byte", () => {
    const log = new OutputLog({ maxRetainedBytes: 1000, maxRetainedChunks: 100, edgeBytes: 10 });
    for (const piece of ["beginning ", "middle", "X", "the end 9"])
      log.appendOutput("stderr", Buffer.from(piece));
    // Leaves room for the last piece alone, which is one byte too short.
    log.appendOutput("stdout", Buffer.alloc(991, "x"));
    const { head, omittedBytes, tail } = log.snapshot("stderr", 20);
    expect([text(head), omittedBytes, text(tail)]).toEqual(["beginning ", 6, "Xthe end 9"]);
  });

  it("keeps the end of a quiet stream while another floods the log", () => {
    const log = new OutputLog({ maxRetainedBytes: 1000, maxRetainedChunks: 100, edgeBytes: 10 });
    for (const piece of ["first ", "second ", "third"]) log.appendOutput("stderr", Buffer.from(piece));
    for (let count = 0; count < 50; count += 1) log.appendOutput("stdout", Buffer.alloc(100, "x"));
    const { head, tail, omittedBytes } = log.snapshot("stderr", 20);
    expect([text(head), omittedBytes, text(tail)]).toEqual(["first second third", 0, ""]);
    log.appendOutput("stderr", Buffer.from(" and a fourth"));
    const later = log.snapshot("stderr", 20);
    expect([text(later.head), later.omittedBytes, text(later.tail)]).toEqual([
      "first seco",
      11,
      "d a fourth",
    ]);
  });
});

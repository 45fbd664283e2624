import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { expect, it } from "vitest";
import { ENDED_FAMILY } from "./ending/process-family.ts";
import { ManagedProcess } from "./managed-process.ts";
import type { OutputSink } from "./output/output-source.ts";

const PROCESSES = 4_000;
/** Every part that a closed process must not keep has this much. */
const BALLAST_BYTES = 4_096;
const MAX_BYTES = 1_600;
const LIMITS = { maxRetainedBytes: 1024 * 1024, maxRetainedChunks: 1_000 };

function collectedBytes(): number {
  setFlagsFromString("--expose-gc");
  runInNewContext("gc")();
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  return heapUsed + arrayBuffers;
}

const ballast = (): number[] => Array.from({ length: BALLAST_BYTES / 8 }, () => 0.5);

/** A process that has written a line, exited and closed. */
function closedProcess(pid: number): ManagedProcess {
  const sinks: OutputSink[] = [];
  const heavy = ballast();
  const managed = new ManagedProcess(
    {
      pid,
      family: {
        ...ENDED_FAMILY,
        usage: () => ({ cpuMs: heavy.length, memoryBytes: 0, processes: 0, atMs: 0 }),
      },
      input: undefined,
      outputs: (["stdout", "stderr"] as const).map((stream, fd) => ({
        stream,
        end: { kind: "pipe", fd },
        open: (sink) => {
          sinks.push(sink);
          const weight = ballast();
          const act = (): void => void weight.length;
          return { pause: act, resume: act, hurry: act, finish: act };
        },
      })),
    },
    LIMITS,
    { evicted: () => void heavy.length },
  );
  managed.listen(() => void heavy.length);
  sinks[0]!.data(Buffer.from("a line\n"));
  managed.exited({
    exitCode: 0,
    signal: undefined,
    usage: { userMs: 1.5, systemMs: 2.5, peakMemoryBytes: 0 },
  });
  for (const sink of sinks) sink.end();
  return managed;
}

it(`a closed process keeps its output, and less than ${MAX_BYTES} bytes besides`, () => {
  closedProcess(1);
  const before = collectedBytes();
  const kept = Array.from({ length: PROCESSES }, (_, at) => closedProcess(at));
  expect((collectedBytes() - before) / PROCESSES).toBeLessThan(MAX_BYTES);
  const last = kept.at(-1)!;
  expect(last.state).toMatchObject({ closed: true, exitCode: 0, nextSeq: 4 });
  expect(last.chunksAfter(0, 100).map(({ bytes }) => Buffer.from(bytes).toString())).toEqual(["a line\n"]);
});

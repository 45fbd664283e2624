import { expect, it } from "vitest";
import { pollUntil } from "./deadline.ts";
import { FIRST_FIXED_WIDTH, numberedLines } from "./numbered-lines.ts";
import { forgetPeak, peakResidentBytes, residentBytes } from "./proc-fs.ts";
import { faultRounds } from "./seeded-random.ts";
import { startServer } from "./server-under-test.ts";
import { openSession, startParams } from "./session-client.ts";

const MIB = 1024 * 1024;
const LINE_BYTES = 16;
/** 1 GiB in the long form. */
const TOTAL_BYTES = Math.min(64 * faultRounds, 1024) * MIB;
const CAP_BYTES = MIB;
/** Bytes kept from the beginning of a stream; the rest of the limit is for its end. */
const HEAD_BYTES = 64 * 1024;
const TAIL_BYTES = CAP_BYTES - HEAD_BYTES;
const WARM_UP_BYTES = 16 * MIB;
/** Less than the short form writes. */
const MAX_GROWTH_BYTES = 40 * MIB;
const DEADLINE_MS = 100_000;

interface Snapshot {
  readonly streams: readonly {
    readonly stream: string;
    readonly head: string;
    readonly omittedBytes: number;
    readonly tail: string;
    readonly totalBytes: number;
  }[];
  readonly exitCode: number | null;
}

it("a snapshot of an output that is far larger than what is kept has its true ends, and memory does not grow", async () => {
  await using server = await startServer();
  const client = await openSession(server.url);
  const write = async (processId: string, bytes: number): Promise<void> => {
    const last = FIRST_FIXED_WIDTH + bytes / LINE_BYTES - 1;
    await client.request("process/start", startParams(processId, ["seq", `${FIRST_FIXED_WIDTH}`, `${last}`]));
    // Nothing reads the output, so only the log is between the process and its end.
    await client.request("process/detach", { processId });
    await pollUntil(
      async () => (await client.request<{ closed: boolean }>("process/wait", waitFor(processId))).closed,
      DEADLINE_MS,
      () => `the end of ${processId}`,
    );
  };
  await write("warm-up", WARM_UP_BYTES);
  const before = residentBytes(server.pid);
  forgetPeak(server.pid);
  await write("large", TOTAL_BYTES);
  const growth = peakResidentBytes(server.pid) - before;
  const { streams, exitCode } = await client.request<Snapshot>("process/snapshot", {
    processId: "large",
    maxBytes: CAP_BYTES,
  });
  expect(exitCode).toBe(0);
  const [stdout, stderr] = streams;
  if (stdout === undefined) throw new Error("no stdout");
  const head = Buffer.from(stdout.head, "base64");
  const tail = Buffer.from(stdout.tail, "base64");
  expect({ ...stdout, head: head.length, tail: tail.length }).toEqual({
    stream: "stdout",
    head: HEAD_BYTES,
    tail: TAIL_BYTES,
    omittedBytes: TOTAL_BYTES - CAP_BYTES,
    totalBytes: TOTAL_BYTES,
  });
  const end = FIRST_FIXED_WIDTH + TOTAL_BYTES / LINE_BYTES;
  const first = numberedLines(FIRST_FIXED_WIDTH, FIRST_FIXED_WIDTH + HEAD_BYTES / LINE_BYTES - 1);
  const last = numberedLines(end - TAIL_BYTES / LINE_BYTES, end - 1);
  expect(head.equals(first)).toBe(true);
  expect(tail.equals(last)).toBe(true);
  expect(stderr).toEqual({ stream: "stderr", head: "", omittedBytes: 0, tail: "", totalBytes: 0 });
  expect(growth, `${Math.round(growth / MIB)} MiB more`).toBeLessThan(MAX_GROWTH_BYTES);
});

const waitFor = (processId: string): object => ({ processId, until: "closed", timeoutMs: 10_000 });

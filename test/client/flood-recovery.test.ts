import { afterEach, expect, test } from "vitest";
import { connect } from "../../src/client/host/connect.ts";
import type { Host } from "../../src/client/host/host.ts";
import { ConnectionError } from "../../src/base/errors.ts";
import { withDeadline } from "../fault/deadline.ts";
import { FIRST_FIXED_WIDTH, fixedWidthOffset } from "../fault/numbered-lines.ts";
import { runSeed, SeededRandom } from "../fault/seeded-random.ts";
import { startServer } from "../fault/server-under-test.ts";
import { FaultProxy } from "./fault-proxy.ts";

// More output than a server keeps, over a connection that breaks: a server may have evicted what was in transit. The
// reader must learn of it.

const MEBIBYTE = 1024 * 1024;
const LINE_BYTES = 16;
const TOTAL_BYTES = 48 * MEBIBYTE;
const DEADLINE_MS = 90_000;
const MAX_LIFE_MS = 400;
const command = ["seq", String(FIRST_FIXED_WIDTH), String(FIRST_FIXED_WIDTH + TOTAL_BYTES / LINE_BYTES - 1)];
const cleanups: (() => PromiseLike<unknown>)[] = [];

afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

/** The part of the command's output between two positions. */
function expected(offset: number, length: number): Buffer {
  const first = Math.floor(offset / LINE_BYTES);
  const last = Math.ceil((offset + length) / LINE_BYTES);
  const lines: string[] = [];
  for (let line = first; line < last; line += 1) lines.push(`${FIRST_FIXED_WIDTH + line}\n`);
  const start = offset - first * LINE_BYTES;
  return Buffer.from(lines.join(""), "latin1").subarray(start, start + length);
}

/** Repeats what was lost with its connection before the server had answered. */
async function untilAnswered<T>(begin: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await begin();
    } catch (error) {
      if (!(error instanceof ConnectionError)) throw error;
    }
  }
}

async function connectBadly(): Promise<Host> {
  const server = await startServer();
  cleanups.push(() => server[Symbol.asyncDispose]());
  // No connection lasts as long as the output takes.
  const proxy = await FaultProxy.open(server.port, new SeededRandom(runSeed), { maxLifeMs: MAX_LIFE_MS });
  cleanups.push(() => proxy[Symbol.asyncDispose]());
  const host = await untilAnswered(() => connect(proxy.url));
  cleanups.push(() => host.close());
  return host;
}

test("a flood over a bad connection is whole but for the gaps that are reported", async () => {
  const host = await connectBadly();
  let recoveries = 0;
  host.onStateChange((state) => {
    if (state === "recovering") recoveries += 1;
  });
  const process = await untilAnswered(() => host.start(command));
  let offset = 0;
  let told = false;
  let gaps = 0;
  const reading = (async () => {
    const onGap = (): void => {
      told = true;
      gaps += 1;
    };
    for await (const { bytes } of process.output({ onGap })) {
      const chunk = Buffer.from(bytes);
      if (told) {
        const next = fixedWidthOffset(chunk);
        expect(next).toBeGreaterThan(offset);
        offset = next;
        told = false;
      }
      expect(chunk.equals(expected(offset, chunk.length)), `the bytes from ${offset} on`).toBe(true);
      offset += chunk.length;
    }
  })();
  await withDeadline(reading, DEADLINE_MS, () => `the end of the output, at ${offset}`);
  globalThis.process.stdout.write(`flood: ${recoveries} recoveries, ${gaps} gaps\n`);
  expect(offset).toBe(TOTAL_BYTES);
  expect(recoveries).toBeGreaterThan(0);
  expect(await withDeadline(process.exited, DEADLINE_MS, () => "the exit")).toMatchObject({ exitCode: 0 });
});

test("a run whose output lost something says so", async () => {
  const host = await connectBadly();
  const { stdoutBytes, stdoutOmittedBytes, gaps, exitCode } = await withDeadline(
    untilAnswered(() => host.run(command, { maxOutputBytes: 2 * TOTAL_BYTES })),
    DEADLINE_MS,
    () => "the run",
  );
  expect({ exitCode, stdoutOmittedBytes }).toEqual({ exitCode: 0, stdoutOmittedBytes: 0 });
  if (gaps.length === 0) expect(stdoutBytes.length).toBe(TOTAL_BYTES);
  else expect(stdoutBytes.length).toBeLessThan(TOTAL_BYTES);
});

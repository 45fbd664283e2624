import { expect } from "vitest";
import { fixture, read, run, shell } from "./process-events.ts";
import type { RawPeer } from "./raw-peer.ts";
import { expectError, start, type VerifyContext, verifies } from "./verifies.ts";

const MEBIBYTE = 1024 * 1024;
/** Chunks are evicted whole, so up to one chunk less than the bound is kept. */
const MAX_CHUNK_BYTES = 65_536;

interface Chunk {
  seq: number;
  chunk: string;
}

/** Runs a process that writes this much and returns its output. */
async function runPattern(peer: RawPeer, processId: string, length: number): Promise<Buffer> {
  return (await run(peer, processId, [process.execPath, fixture("emit-pattern.mjs"), `${length}`])).stdout;
}

function bytesOf(chunks: readonly Chunk[]): Buffer {
  return Buffer.concat(chunks.map(({ chunk }) => Buffer.from(chunk, "base64")));
}

verifies("process.retention:whole", async ({ peer }) => {
  const connection = await peer();
  const { events, stdout } = await run(connection, "p", ["head", "-c", `${MEBIBYTE}`, "/dev/zero"]);
  const { chunks } = await read(connection, "p");
  expect(chunks.map(({ seq }: Chunk) => seq)).toEqual(
    events.filter((event) => event.kind === "output").map((event) => event.seq),
  );
  expect(bytesOf(chunks).equals(stdout)).toBe(true);
  expect(stdout).toHaveLength(MEBIBYTE);
});

verifies("process.retention:bound", async ({ peer }) => {
  const connection = await peer();
  const written = await runPattern(connection, "p", 3 * MEBIBYTE);
  expect(written).toHaveLength(3 * MEBIBYTE);
  const { chunks } = await read(connection, "p");
  // The hash on stderr counts too, but is not part of the pattern.
  const kept = bytesOf(chunks.filter(({ stream }: { stream: string }) => stream === "stdout"));
  expect(kept.length).toBeLessThanOrEqual(MEBIBYTE);
  expect(kept.length).toBeGreaterThan(MEBIBYTE - 2 * MAX_CHUNK_BYTES);
  expect(kept.equals(written.subarray(-kept.length))).toBe(true);
});

verifies("process.retention:gap", async ({ peer }) => {
  const connection = await peer();
  await runPattern(connection, "p", 3 * MEBIBYTE);
  const whole = await read(connection, "p");
  const oldest = whole.chunks[0].seq;
  expect(oldest).toBeGreaterThan(1);
  const seqs = whole.chunks.map(({ seq }: Chunk) => seq);
  expect(new Set(seqs).size).toBe(seqs.length);
  expect(seqs).toEqual([...seqs].sort((a, b) => a - b));
  for (const afterSeq of [0, 1, oldest - 1]) {
    const page = await read(connection, "p", { afterSeq, maxBytes: 0 });
    expect({ seqs: page.chunks.map(({ seq }: Chunk) => seq), nextSeq: page.nextSeq }).toEqual({
      seqs: [oldest],
      nextSeq: oldest + 1,
    });
  }
});

verifies("process.retention:streams-share", async ({ peer }) => {
  const connection = await peer();
  const script = shell("head -c 700000 /dev/zero; exec >&-; head -c 700000 /dev/zero >&2");
  const { stdout, stderr } = await run(connection, "p", script);
  expect([stdout.length, stderr.length]).toEqual([700_000, 700_000]);
  const { chunks } = await read(connection, "p");
  expect(bytesOf(chunks).length).toBeLessThanOrEqual(MEBIBYTE);
  expect(bytesOf(chunks).length).toBeGreaterThan(MEBIBYTE - 2 * MAX_CHUNK_BYTES);
});

const isForgottenAfter =
  (retentionMs: number) =>
  async ({ peer }: VerifyContext) => {
    const connection = await peer();
    const begunAt = performance.now();
    await run(connection, "p", shell("echo kept; exit 3"));
    // A read of another, silent process is the clock: it ends after its wait and not before.
    await connection.request("process/start", start("clock", ["sleep", "200"]));
    const wait = (waitMs: number) =>
      connection.request("process/read", { processId: "clock", waitMs }, { timeoutMs: waitMs + 20_000 });
    await wait(retentionMs / 2);
    await expectError(
      connection.request("process/start", start("p", ["true"])),
      -32600,
      "process p already exists",
    );
    // It is there at every look until it is forgotten, which comes late if the machine stands still, but never early.
    const look = () => connection.call("process/read", { processId: "p" });
    let seen = await look();
    for (; seen.result !== undefined; seen = await look()) {
      expect(seen.result).toMatchObject({ exitCode: 3, nextSeq: 4, closed: true });
      expect(performance.now() - begunAt).toBeLessThan(retentionMs + 20_000);
      await wait(200);
    }
    expect(performance.now() - begunAt).toBeGreaterThanOrEqual(retentionMs - 5);
    expect(seen.error).toMatchObject({ code: -32600, message: "unknown process id p" });
    expect(await connection.request("process/start", start("p", ["true"]))).toMatchObject({ processId: "p" });
    const closed = await connection.nextNotification("process/closed", "p");
    expect(closed.params).toEqual({ processId: "p", seq: 2 });
  };

verifies("process.retention:time", isForgottenAfter(80_000), { timeoutMs: 140_000, concurrent: true });
verifies("process.retention:time-0.166", isForgottenAfter(30_000), { timeoutMs: 90_000, concurrent: true });

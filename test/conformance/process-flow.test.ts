import { expect } from "vitest";
import { arrivedEvents, collect, read, run, shell, write } from "./process-events.ts";
import type { RawPeer } from "./raw-peer.ts";
import { expectError, start, verifies } from "./verifies.ts";

const MEBIBYTE = 1024 * 1024;

function flow(peer: RawPeer, processId: string, paused: boolean) {
  return peer.request("process/flow", { processId, paused });
}

/** Starts a process that writes that many zeros as soon as it gets a line. */
async function startWriter(peer: RawPeer, processId: string, bytes: number): Promise<void> {
  const argv = shell(`read go; head -c ${bytes} /dev/zero`);
  await peer.request("process/start", start(processId, argv, { pipeStdin: true }));
}

verifies("process.flow:holds", async ({ peer }) => {
  const connection = await peer();
  await startWriter(connection, "p", 4 * MEBIBYTE);
  expect(await flow(connection, "p", true)).toEqual({});
  await write(connection, "p", "\n");
  await expect.poll(async () => (await read(connection, "p")).chunks).not.toEqual([]);
  // Another process does eight times the work, so the paused one had the time.
  const { stdout: other } = await run(connection, "q", shell(`head -c ${32 * MEBIBYTE} /dev/zero`));
  expect(other.length).toBe(32 * MEBIBYTE);
  expect(arrivedEvents(connection, "p")).toEqual([]);
  const { chunks, exited, nextSeq } = await read(connection, "p");
  expect({ exited, first: chunks[0].seq, last: chunks.at(-1).seq }).toEqual({
    exited: false,
    first: 1,
    last: nextSeq - 1,
  });
  expect(await flow(connection, "p", false)).toEqual({});
  const { stdout, exitCode, events } = await collect(connection, "p");
  expect({ exitCode, same: stdout.equals(Buffer.alloc(4 * MEBIBYTE)) }).toEqual({ exitCode: 0, same: true });
  expect(arrivedEvents(connection, "p").map(({ seq }) => seq)).toEqual(events.map((_, index) => index + 1));
});

verifies("process.flow:exit-waits", async ({ peer }) => {
  const connection = await peer();
  await startWriter(connection, "p", 5);
  await flow(connection, "p", true);
  await write(connection, "p", "\n");
  expect(await connection.request("process/wait", { processId: "p", until: "closed" })).toMatchObject({
    exited: true,
    closed: true,
  });
  await run(connection, "q", ["true"]);
  expect(arrivedEvents(connection, "p")).toEqual([]);
  await flow(connection, "p", false);
  expect((await collect(connection, "p")).stdout.length).toBe(5);
});

verifies("process.flow:connection-ends", async ({ connect }) => {
  const first = await connect();
  const { sessionId } = await first.handshake();
  await startWriter(first, "p", 4 * MEBIBYTE);
  await flow(first, "p", true);
  await write(first, "p", "\n");
  first.drop();
  await first.closed;
  const second = await connect();
  await expect
    .poll(
      async () => (await second.call("initialize", { clientName: "t", resumeSessionId: sessionId })).result,
    )
    .toMatchObject({ sessionId });
  second.notify("initialized");
  expect(await second.request("process/wait", { processId: "p", until: "closed" })).toMatchObject({
    exited: true,
    exitCode: 0,
  });
});

verifies("process.flow:unknown", async ({ peer }) => {
  const connection = await peer();
  await expectError(flow(connection, "nobody", true), -32600, "unknown process id nobody");
  await run(connection, "p", ["true"]);
  expect(await flow(connection, "p", true)).toEqual({});
  expect(await flow(connection, "p", false)).toEqual({});
});

import { expect } from "vitest";
import {
  arrivedEvents,
  collect,
  isRunning,
  read,
  run,
  shell,
  untilNumber,
  untilOutput,
  write,
} from "./process-events.ts";
import type { RawPeer } from "./raw-peer.ts";
import { expectError, start, type VerifyContext, verifies } from "./verifies.ts";

const MEBIBYTE = 1024 * 1024;

/** The session of a process and a connection that wants to follow it. */
async function twoPeers({ connect, peer }: VerifyContext) {
  const owner = await connect();
  const { sessionId } = await owner.handshake();
  return { owner, sessionId: sessionId as string, follower: await peer() };
}

function attach(peer: RawPeer, processId: string, options: Record<string, unknown> = {}) {
  return peer.request("process/attach", { processId, ...options });
}

function detach(peer: RawPeer, processId: string) {
  return peer.request("process/detach", { processId });
}

const echo = shell("echo begun; while read line; do echo $line; done");

verifies("process.attach:follows", async (context) => {
  const { owner, sessionId, follower } = await twoPeers(context);
  await owner.request("process/start", start("p", echo, { pipeStdin: true }));
  await untilOutput(owner, "p", /begun/);
  expect(await attach(follower, "p", { sessionId, fromSeq: 1 })).toEqual({
    processId: "p",
    nextSeq: 2,
    firstSeq: 1,
    tty: false,
    exited: false,
    closed: false,
  });
  await write(owner, "p", "more\n");
  await untilOutput(follower, "p", /more/);
  const waiting = follower.request("process/wait", { processId: "p" });
  await owner.request("process/closeStdin", { processId: "p" });
  expect(await waiting).toMatchObject({ exited: true, exitCode: 0 });
  const seen = await collect(follower, "p");
  expect(seen).toEqual(await collect(owner, "p"));
  expect(seen.stdout.toString()).toBe("begun\nmore\n");
  expect(await read(follower, "p")).toEqual(await read(owner, "p"));
  expect((await follower.request("process/list", {})).processes).toEqual([]);
});

verifies("process.attach:only-looks", async (context) => {
  const { owner, sessionId, follower } = await twoPeers(context);
  await owner.request("process/start", start("p", shell("echo $$; exec cat"), { pipeStdin: true }));
  const pid = await untilNumber(owner, "p");
  await attach(follower, "p", { sessionId });
  expect(await write(follower, "p", "x")).toEqual({ status: "unknownProcess" });
  expect(await follower.request("process/terminate", { processId: "p" })).toEqual({ running: false });
  expect(await follower.request("process/signal", { processId: "p", signal: "kill" })).toEqual({});
  await expectError(follower.request("process/closeStdin", { processId: "p" }), -32600);
  await expectError(follower.request("process/resize", { processId: "p", rows: 1, cols: 1 }), -32600);
  expect(isRunning(pid)).toBe(true);
  expect(await follower.request("process/snapshot", { processId: "p" })).toMatchObject({ running: true });
});

verifies("process.attach:id", async (context) => {
  const { owner, sessionId, follower } = await twoPeers(context);
  await owner.request("process/start", start("p", echo, { pipeStdin: true }));
  await follower.request("process/start", start("p", ["sleep", "60"]));
  await expectError(
    attach(follower, "p", { sessionId }),
    -32600,
    "process/attach p: the id p is in use on this connection",
  );
  expect(await attach(follower, "p", { sessionId, as: "guest" })).toMatchObject({ processId: "guest" });
  await expectError(attach(follower, "p", { sessionId, as: "guest" }), -32600, /is in use/);
  await expectError(
    follower.request("process/start", start("guest", ["true"])),
    -32600,
    "process guest already exists",
  );
  await write(owner, "p", "hello\n");
  expect(await untilOutput(follower, "guest", /hello/)).toMatch(/hello\n$/);
  expect(arrivedEvents(follower, "p")).toEqual([]);
  await detach(follower, "guest");
  expect((await run(follower, "guest", ["true"])).exitCode).toBe(0);
});

verifies("process.attach:slow", async (context) => {
  const { owner, sessionId, follower } = await twoPeers(context);
  const script = shell(`read go; head -c ${4 * MEBIBYTE} /dev/zero`);
  await owner.request("process/start", start("p", script, { pipeStdin: true }));
  await attach(follower, "p", { sessionId });
  await follower.request("process/flow", { processId: "p", paused: true });
  await write(owner, "p", "\n");
  const { stdout, events } = await collect(owner, "p");
  expect(stdout.length).toBe(4 * MEBIBYTE);
  expect(arrivedEvents(follower, "p")).toEqual([]);
  await follower.request("process/flow", { processId: "p", paused: false });
  const gap = (await follower.nextNotification("process/gap", "p")).params;
  await follower.nextNotification("process/closed", "p");
  expect(gap).toEqual({ processId: "p", fromSeq: 1, toSeq: expect.any(Number) });
  const seqs = follower.notifications
    .filter(({ method, params }) => params.processId === "p" && method !== "process/gap")
    .map(({ params }) => params.seq);
  expect(seqs).toEqual(events.slice(gap.toSeq).map(({ seq }) => seq));
});

verifies("process.attach:unknown", async ({ peer }) => {
  const connection = await peer();
  await expectError(attach(connection, "p"), -32600, "unknown process id p");
  await expectError(
    attach(connection, "p", { sessionId: "nobody's" }),
    -32600,
    "unknown session id nobody's",
  );
  await expectError(detach(connection, "p"), -32600, "unknown process id p");
  await connection.request("process/start", start("p", ["sleep", "60"]));
  await expectError(attach(connection, "p"), -32600, /^process\/attach p: the id p is in use/);
  await expectError(attach(connection, "p", { as: "q" }), -32602, /its own id/);
});

verifies("process.detach:stops", async (context) => {
  const { owner, sessionId, follower } = await twoPeers(context);
  await owner.request("process/start", start("p", echo, { pipeStdin: true }));
  await attach(follower, "p", { sessionId, fromSeq: 1 });
  await untilOutput(follower, "p", /begun/);
  expect(await detach(follower, "p")).toEqual({});
  await write(owner, "p", "late\n");
  await untilOutput(owner, "p", /late/);
  await run(follower, "q", ["true"]);
  expect(arrivedEvents(follower, "p")).toHaveLength(1);
  await expectError(read(follower, "p"), -32600, "unknown process id p");
});

verifies("process.detach:own", async ({ peer }) => {
  const connection = await peer();
  await connection.request("process/start", start("p", echo, { pipeStdin: true }));
  await untilOutput(connection, "p", /begun/);
  expect(await detach(connection, "p")).toEqual({});
  expect(await detach(connection, "p")).toEqual({});
  await write(connection, "p", "unseen\n");
  await expect.poll(async () => (await read(connection, "p", { afterSeq: 1 })).nextSeq).toBe(3);
  await run(connection, "q", ["true"]);
  expect(arrivedEvents(connection, "p")).toHaveLength(1);
  await attach(connection, "p", { fromSeq: 2 });
  await connection.request("process/closeStdin", { processId: "p" });
  const { stdout, events } = await collect(connection, "p");
  expect(stdout.toString()).toBe("begun\nunseen\n");
  expect(events.map(({ seq }) => seq)).toEqual([1, 2, 3, 4]);
});

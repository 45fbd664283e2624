import { expect, it } from "vitest";
import type { RawPeer } from "../conformance/raw-peer.ts";
import { pollUntil } from "./deadline.ts";
import { base64, expectLimit, limitedCli, limitedServer, start, untilAllowed } from "./limited-server.ts";

const DEADLINE_MS = 60_000;
const WAIT = "exec sleep 600";
const SMALLEST_LOG_BYTES = 524_288;

const startIn = (peer: RawPeer, processId: string, script = WAIT, more = {}) =>
  peer.request("process/start", start(processId, script, more));

async function end(peer: RawPeer, processId: string): Promise<void> {
  await peer.request("process/terminate", { processId });
  await peer.nextNotification("process/closed", processId);
}

it("a start beyond maxProcessesPerSession is refused, in that session alone, until a process has closed", async () => {
  await using server = await limitedCli(["--max-processes-per-session", "2"]);
  const [busy, other] = [await server.session(), await server.session()];
  await startIn(busy, "1");
  await startIn(busy, "2");
  await expectLimit(startIn(busy, "3"), "maxProcessesPerSession", 2);
  await expect(busy.request("process/read", { processId: "3" })).rejects.toThrow(/^unknown process id/);
  await startIn(other, "1");
  await startIn(other, "2");
  await end(busy, "1");
  await startIn(busy, "3");
  await expectLimit(startIn(busy, "4"), "maxProcessesPerSession", 2);
});

it("a start beyond maxProcesses is refused in every session, until one has ended", async () => {
  await using server = limitedServer({ maxProcesses: 2, detachedSessionTtlMs: 0 });
  const [leaving, staying] = [await server.session(), await server.session()];
  await startIn(leaving, "1");
  await startIn(staying, "1");
  await expectLimit(startIn(leaving, "2"), "maxProcesses", 2);
  await expectLimit(startIn(staying, "2"), "maxProcesses", 2);
  leaving.close();
  await untilAllowed(() => startIn(staying, "2"));
  await expectLimit(startIn(staying, "3"), "maxProcesses", 2);
});

it("starts that fail, short processes and refused starts take no place for good", async () => {
  await using server = limitedServer({ maxProcessesPerSession: 1 });
  const peer = await server.session();
  for (let round = 0; round < 20; round += 1) {
    const missing = start("missing", "", { argv: ["/nowhere"] });
    await expect(peer.request("process/start", missing)).rejects.toMatchObject({ code: -32603 });
    await startIn(peer, `long ${round}`);
    await expectLimit(startIn(peer, "refused"), "maxProcessesPerSession", 1);
    await end(peer, `long ${round}`);
    await startIn(peer, `short ${round}`, "exit 0");
    await peer.nextNotification("process/closed", `short ${round}`);
  }
});

it("processes of both dialects count together", async () => {
  await using server = limitedServer({ maxProcessesPerSession: 1 });
  const peer = await server.session();
  const exec = { argv: ["/bin/sleep", "600"], cwd: "/", env: {}, tty: false };
  const { sessionId } = await peer.request("command/exec", exec);
  await expectLimit(startIn(peer, "p"), "maxProcessesPerSession", 1);
  await expectLimit(peer.request("command/exec", exec), "maxProcessesPerSession", 1);
  await peer.request("command/exec/terminate", { sessionId });
  await untilAllowed(() => startIn(peer, "p"));
  await expectLimit(peer.request("command/exec", exec), "maxProcessesPerSession", 1);
});

it("processes of a v0 connection that has ended take no place", async () => {
  await using server = limitedServer({ maxProcesses: 1 });
  const first = await server.session();
  await first.request("command/exec", { argv: ["/bin/sleep", "600"], cwd: "/", env: {}, tty: false });
  first.close();
  const second = await server.session();
  await untilAllowed(() => startIn(second, "p"));
});

it("no more than maxRetainedBytesPerProcess of output is kept", async () => {
  await using server = limitedServer({ maxRetainedBytesPerProcess: SMALLEST_LOG_BYTES });
  const peer = await server.session();
  await startIn(peer, "p", "head -c 2097152 /dev/zero");
  await peer.nextNotification("process/closed", "p");
  const { chunks } = await peer.request("process/read", { processId: "p" });
  const sizes = chunks.map(({ chunk }: { chunk: string }) => Buffer.from(chunk, "base64").length);
  const kept = sizes.reduce((sum: number, size: number) => sum + size, 0);
  expect(kept).toBeLessThanOrEqual(SMALLEST_LOG_BYTES);
  expect(kept).toBeGreaterThan(SMALLEST_LOG_BYTES / 2);
});

it("a start without room for its output is refused, until others have closed", async () => {
  await using server = limitedServer({
    maxRetainedBytesPerProcess: SMALLEST_LOG_BYTES,
    maxRetainedBytes: 2 * SMALLEST_LOG_BYTES,
  });
  const [loud, other] = [await server.session(), await server.session()];
  await startIn(loud, "1");
  await startIn(other, "1");
  await expectLimit(startIn(other, "2"), "maxRetainedBytes", 2 * SMALLEST_LOG_BYTES);
  // A process that leaves next to nothing makes room as soon as it closes.
  await end(other, "1");
  await startIn(other, "2", `head -c ${SMALLEST_LOG_BYTES} /dev/zero`);
  await other.nextNotification("process/closed", "2");
  // A process that leaves the maximum does not.
  await expectLimit(startIn(other, "3"), "maxRetainedBytes", 2 * SMALLEST_LOG_BYTES);
});

it("a process that has left the maximum makes room when it is forgotten", async () => {
  await using server = limitedServer({
    maxRetainedBytesPerProcess: SMALLEST_LOG_BYTES,
    maxRetainedBytes: 2 * SMALLEST_LOG_BYTES,
    exitedProcessRetentionMs: 500,
  });
  const [loud, other] = [await server.session(), await server.session()];
  await startIn(loud, "1");
  await startIn(other, "1", `head -c ${SMALLEST_LOG_BYTES} /dev/zero`);
  await other.nextNotification("process/closed", "1");
  await untilAllowed(() => startIn(other, "2"));
  await expectLimit(startIn(loud, "2"), "maxRetainedBytes", 2 * SMALLEST_LOG_BYTES);
});

it("the output of a session that has ended takes no room", async () => {
  await using server = limitedServer({
    maxRetainedBytesPerProcess: SMALLEST_LOG_BYTES,
    maxRetainedBytes: SMALLEST_LOG_BYTES,
    detachedSessionTtlMs: 0,
  });
  const first = await server.session();
  await startIn(first, "1", `head -c ${SMALLEST_LOG_BYTES} /dev/zero`);
  await first.nextNotification("process/closed", "1");
  const second = await server.session();
  await expectLimit(startIn(second, "1"), "maxRetainedBytes", SMALLEST_LOG_BYTES);
  first.close();
  await untilAllowed(() => startIn(second, "1"));
});

it("a process that has closed can be read for exitedProcessRetentionMs, and then its id is free", async () => {
  const retentionMs = 1_000;
  await using server = limitedServer({ exitedProcessRetentionMs: retentionMs });
  const peer = await server.session();
  const begun = performance.now();
  await startIn(peer, "p", "echo said");
  await peer.nextNotification("process/closed", "p");
  await pollUntil(
    () =>
      peer.request("process/read", { processId: "p" }).then(
        ({ chunks }): false => {
          expect(chunks).toHaveLength(1);
          return false;
        },
        (error: Error) => error.message === "unknown process id p",
      ),
    DEADLINE_MS,
    () => "the end of p",
  );
  // Timers may be early by a part of a millisecond.
  expect(performance.now() - begun).toBeGreaterThan(retentionMs - 1);
  await startIn(peer, "p", "exit 0");
});

it("input beyond maxUnreadInputBytes is refused, for that process alone, until it reads", async () => {
  await using server = limitedServer({ maxUnreadInputBytes: 65_536 });
  const peer = await server.session();
  const slow = "trap 'cat > /dev/null; exit 3' INT; echo ready; while :; do sleep 600 & wait; done";
  await startIn(peer, "slow", slow, { pipeStdin: true });
  await peer.nextNotification("process/output", "slow");
  await startIn(peer, "other", "exec cat", { pipeStdin: true });
  const chunk = base64(Buffer.alloc(65_536));
  let lastId = 0;
  const write = (processId: string, data = chunk) =>
    peer.request("process/write", { processId, chunk: data, writeId: `${++lastId}` });
  // Data that fits into the pipe counts as read.
  for (;;) {
    const refused = await write("slow").then(
      () => false,
      () => true,
    );
    if (refused) break;
    if (lastId > 100) throw new Error("100 writes to a process that does not read were accepted");
  }
  await expectLimit(write("slow"), "maxUnreadInputBytes", 65_536);
  const withoutId = peer.request("process/write", { processId: "slow", chunk });
  await expectLimit(withoutId, "maxUnreadInputBytes", 65_536);
  expect(await write("other", base64("echo"))).toEqual({ status: "accepted" });
  await peer.nextNotification("process/output", "other");
  await peer.request("process/signal", { processId: "slow", signal: "interrupt" });
  expect(await untilAllowed(() => write("slow"))).toEqual({ status: "accepted" });
});

it("allowDirectExec and allowPreparedExec say which starts are allowed", async () => {
  const exec = { argv: ["/bin/true"], cwd: "/", env: {}, tty: false };
  {
    await using server = limitedServer({});
    const peer = await server.session();
    for (const specKind of ["direct", "prepared", null, undefined])
      await startIn(peer, `${specKind}`, "exit 0", { specKind });
    await expect(startIn(peer, "p", "exit 0", { specKind: "other" })).rejects.toMatchObject({ code: -32602 });
    await peer.request("command/exec", exec);
  }
  {
    await using server = await limitedCli(["--allow-direct-exec", "false"]);
    const peer = await server.session();
    await expectLimit(startIn(peer, "p"), "allowDirectExec", false);
    await expectLimit(startIn(peer, "p", "exit 0", { specKind: "direct" }), "allowDirectExec", false);
    await expectLimit(peer.request("command/exec", exec), "allowDirectExec", false);
    await startIn(peer, "p", "exit 0", { specKind: "prepared" });
  }
  {
    await using server = limitedServer({ allowPreparedExec: false });
    const peer = await server.session();
    await expectLimit(startIn(peer, "p", "exit 0", { specKind: "prepared" }), "allowPreparedExec", false);
    await startIn(peer, "p", "exit 0", { specKind: "direct" });
    await startIn(peer, "q", "exit 0");
    await peer.request("command/exec", exec);
  }
});

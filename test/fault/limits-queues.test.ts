import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { openStdioPeer, type RawPeer } from "../conformance/raw-peer.ts";
import { pollUntil, withDeadline } from "./deadline.ts";
import { LIMIT_CODE, limitedCli, limitedServer, start } from "./limited-server.ts";
import { isAlive } from "./proc-fs.ts";
import { builtCli } from "./server-under-test.ts";

const DEADLINE_MS = 60_000;
const MESSAGE_BYTES = 65_536;

let directory: string;

beforeEach(() => {
  directory = mkdtempSync("/var/tmp/exec-server-limits-");
});

afterEach(() => rmSync(directory, { recursive: true, force: true }));

/** A request of exactly this many bytes. */
function requestOfBytes(bytes: number): string {
  const empty = JSON.stringify({ id: "long", method: "environment/status", trace: { x: "" } });
  return empty.replace('"x":""', `"x":"${"x".repeat(bytes - empty.length)}"`);
}

async function expectTooLong(peer: RawPeer): Promise<void> {
  const { error } = await peer.next(({ id }) => id === -1);
  expect(error).toEqual({
    code: LIMIT_CODE,
    message: `the message is too long (maxMessageBytes is ${MESSAGE_BYTES})`,
    data: { code: "LIMIT_REACHED", limit: "maxMessageBytes", value: MESSAGE_BYTES },
  });
  await withDeadline(peer.closed, DEADLINE_MS, () => "the end of the connection");
}

it("a WebSocket message beyond maxMessageBytes is answered, and ends its connection and no other", async () => {
  await using server = await limitedCli(["--max-message-bytes", `${MESSAGE_BYTES}`]);
  const bystander = await server.session();
  const whole = await server.session();
  whole.sendText(requestOfBytes(MESSAGE_BYTES));
  expect((await whole.next(({ id }) => id === "long")).result).toEqual({ status: "ready" });
  const closed = once(whole.webSocket!, "close");
  whole.sendText(requestOfBytes(MESSAGE_BYTES + 1));
  await expectTooLong(whole);
  expect((await closed)[0]).toBe(1009);
  const inFragments = await server.session();
  const text = Buffer.from(requestOfBytes(MESSAGE_BYTES + 1));
  inFragments.webSocket?.send(text.subarray(0, 40_000), { fin: false, binary: false });
  inFragments.webSocket?.ping("between");
  inFragments.webSocket?.send(text.subarray(40_000), { fin: true, binary: false });
  await expectTooLong(inFragments);
  // Many small messages do not count as a long one.
  const parts = await server.session();
  for (let part = 0; part < 10; part += 1) {
    const request = Buffer.from(requestOfBytes(MESSAGE_BYTES - part));
    parts.webSocket?.send(request.subarray(0, 100), { fin: false, binary: false });
    parts.webSocket?.send(request.subarray(100), { fin: true, binary: false });
    expect((await parts.next(({ id }) => id === "long")).result).toEqual({ status: "ready" });
  }
  expect(await bystander.request("environment/status")).toEqual({ status: "ready" });
});

it("a line beyond maxMessageBytes is answered, and ends the server of its client", async () => {
  const args = [builtCli, "--listen", "stdio", "--max-message-bytes", `${MESSAGE_BYTES}`];
  const child = spawn(process.execPath, args, { stdio: ["pipe", "pipe", "inherit"], cwd: directory });
  const exited = once(child, "exit");
  const peer = openStdioPeer(child);
  await peer.handshake();
  peer.sendText(requestOfBytes(MESSAGE_BYTES));
  expect((await peer.next(({ id }) => id === "long")).result).toEqual({ status: "ready" });
  peer.sendText(requestOfBytes(MESSAGE_BYTES + 2));
  await expectTooLong(peer);
  expect((await withDeadline(exited, DEADLINE_MS, () => "the server's exit"))[0]).toBe(0);
});

it("from maxUnansweredRequests on nothing more is read, until answers have gone out", async () => {
  execFileSync("mkfifo", [join(directory, "go")]);
  await using server = limitedServer({ maxUnansweredRequests: 16 });
  const [busy, other] = [await server.session(), await server.session()];
  const script = `read line < ${directory}/go; echo go; exec sleep 600`;
  await busy.request("process/start", start("p", script));
  const polls = Array.from({ length: 16 }, () =>
    busy.request("process/read", { processId: "p", waitMs: 60_000 }, { timeoutMs: 60_000 }),
  );
  const later = busy.request("environment/status", undefined, { timeoutMs: 60_000 });
  let answered = false;
  void later.then(() => {
    answered = true;
  });
  for (let round = 0; round < 20; round += 1)
    expect(await other.request("environment/status")).toEqual({ status: "ready" });
  expect(answered).toBe(false);
  writeFileSync(join(directory, "go"), "\n");
  for (const { chunks } of await Promise.all(polls)) expect(chunks).toHaveLength(1);
  expect(await later).toEqual({ status: "ready" });
});

it("from maxBufferedBytesPerConnection on no request is started, until the client reads", async () => {
  const [file, marker] = [join(directory, "file"), join(directory, "marker")];
  writeFileSync(file, Buffer.alloc(1024 * 1024));
  const flood = async (args: readonly string[], look: () => unknown) => {
    rmSync(marker, { force: true });
    await using server = await limitedCli(args);
    const [slow, other] = [await server.session(), await server.session()];
    slow.webSocket?.pause();
    const reads = Array.from({ length: 32 }, () =>
      slow.request("fs/readFile", { path: file }, { timeoutMs: 60_000 }),
    );
    const written = slow.request("fs/writeFile", { path: marker, dataBase64: "" }, { timeoutMs: 60_000 });
    // The same for a client that reads: enough time.
    for (let round = 0; round < 32; round += 1) await other.request("fs/readFile", { path: file });
    await look();
    slow.webSocket?.resume();
    await Promise.all([...reads, written]);
    expect(existsSync(marker)).toBe(true);
  };
  await flood(["--max-buffered-bytes-per-connection", "1048576"], () =>
    expect(existsSync(marker)).toBe(false),
  );
  await flood([], () =>
    pollUntil(
      () => existsSync(marker),
      DEADLINE_MS,
      () => "the last request",
    ),
  );
});

async function stopWith(graceMs: number, script: string): Promise<{ pid: number; exit: unknown }> {
  await using server = await limitedCli(["--shutdown-grace-ms", `${graceMs}`]);
  const peer = await server.session();
  await peer.request("process/start", start("p", script));
  const { params } = await peer.nextNotification("process/output", "p");
  const pid = Number.parseInt(Buffer.from(params.chunk, "base64").toString(), 10);
  return { pid, exit: await server.kill("SIGTERM") };
}

it("processes have shutdownGraceMs to end after SIGTERM, and not a moment when it is 0", async () => {
  const marker = join(directory, "marker");
  // Short sleeps: a signal that comes just when the shell forks may reach the new process before it has forgotten the trap, and is lost on it.
  const script = `trap 'echo > ${marker}; exit 0' TERM; echo $$; while :; do sleep 0.05; done`;
  const patient = await stopWith(DEADLINE_MS, script);
  expect({ exit: patient.exit, ended: existsSync(marker) }).toEqual({
    exit: { code: 0, signal: null },
    ended: true,
  });
  rmSync(marker);
  const strict = await stopWith(0, script);
  await pollUntil(
    () => !isAlive(strict.pid),
    DEADLINE_MS,
    () => "the end of the process",
  );
  expect(existsSync(marker)).toBe(false);
});

it("a process that ignores SIGTERM is killed when shutdownGraceMs is over", async () => {
  const { pid, exit } = await stopWith(200, "trap '' TERM; echo $$; while :; do sleep 600; done");
  expect(exit).toEqual({ code: 0, signal: null });
  await pollUntil(
    () => !isAlive(pid),
    DEADLINE_MS,
    () => "the end of the process",
  );
});

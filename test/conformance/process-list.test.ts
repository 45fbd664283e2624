import { once } from "node:events";
import { createServer } from "node:net";
import headless from "@xterm/headless";
import { expect } from "vitest";
import { collect, run, shell, untilNumber, untilOutput, withFiles, write } from "./process-events.ts";
import type { RawPeer } from "./raw-peer.ts";
import { expectError, fromBase64, start, verifies } from "./verifies.ts";

const MEBIBYTE = 1024 * 1024;

function list(peer: RawPeer, params: Record<string, unknown> = {}) {
  return peer.request("process/list", params);
}

/** The clock of this machine, which is the server's. */
async function waitFor(isTrue: () => boolean): Promise<void> {
  while (!isTrue()) await new Promise((resolve) => setImmediate(resolve));
}

function snapshot(peer: RawPeer, processId: string, options: Record<string, unknown> = {}) {
  return peer.request("process/snapshot", { processId, ...options });
}

verifies("process.times:order", async ({ peer }) => {
  const connection = await peer();
  const before = Date.now();
  await connection.request(
    "process/start",
    start("p", shell("echo one; read line; echo two"), { pipeStdin: true }),
  );
  await untilOutput(connection, "p", /one/);
  const between = Date.now();
  await write(connection, "p", "\n");
  await collect(connection, "p");
  const { firstSeq, timesMs } = await connection.request("process/times", { processId: "p" });
  // Two pieces of output, exited and closed.
  const [one, two, ...ends] = timesMs as number[];
  expect([firstSeq, ends.length]).toEqual([1, 2]);
  const moments = [before, one!, between, two!, ...ends, Date.now()];
  expect(moments.toSorted((earlier, later) => earlier - later)).toEqual(moments);
});

verifies("process.times:from", async ({ peer }) => {
  const connection = await peer();
  await run(connection, "p", shell("echo one"));
  const { timesMs } = await connection.request("process/times", { processId: "p" });
  const all = timesMs as number[];
  expect(await connection.request("process/times", { processId: "p", fromSeq: 3 })).toEqual({
    firstSeq: 3,
    timesMs: all.slice(2),
  });
  expect(await connection.request("process/times", { processId: "p", fromSeq: 99 })).toEqual({
    firstSeq: all.length + 1,
    timesMs: [],
  });
  await expectError(connection.request("process/times", { processId: "nope" }), -32600);
});

verifies("process.times:age", async ({ peer }) => {
  const connection = await peer();
  await run(connection, "p", shell("echo one"));
  const { timesMs } = await connection.request("process/times", { processId: "p" });
  const all = timesMs as number[];
  expect(await connection.request("process/times", { processId: "p", ageMs: 3_600_000 })).toEqual({
    firstSeq: 1,
    timesMs: all,
  });
  await waitFor(() => Date.now() > all.at(-1)!);
  expect(await connection.request("process/times", { processId: "p", ageMs: 0 })).toEqual({
    firstSeq: all.length + 1,
    timesMs: [],
  });
});

verifies("process.list:session", async ({ peer }) =>
  withFiles({}, async ({ uri }) => {
    const connection = await peer();
    expect(await list(connection)).toEqual({ processes: [] });
    const before = Date.now();
    const argv = shell("echo $$; exec sleep 60");
    await connection.request(
      "process/start",
      start("first", argv, { cwd: uri, label: "a label", tty: true }),
    );
    const pid = await untilNumber(connection, "first");
    await run(connection, "second", shell("printf 12345; exit 3"));
    const { processes } = await list(connection, { scope: "session" });
    const outputBytes = `${pid}\r\n`.length;
    const startedAtMs = expect.any(Number);
    expect(processes).toEqual([
      {
        processId: "first",
        own: true,
        pid,
        argv,
        cwd: uri,
        label: "a label",
        tty: true,
        hasInput: true,
        startedAtMs,
        state: "running",
        exitCode: null,
        outputBytes,
        retainedBytes: outputBytes,
        terminalSize: { cols: 80, rows: 24 },
      },
      {
        processId: "second",
        own: true,
        pid: expect.any(Number),
        argv: shell("printf 12345; exit 3"),
        cwd: "file:///",
        label: null,
        tty: false,
        hasInput: false,
        startedAtMs,
        state: "closed",
        exitCode: 3,
        outputBytes: 5,
        retainedBytes: 5,
        endedAtMs: expect.any(Number),
      },
    ]);
    expect(processes[0].startedAtMs).toBeGreaterThanOrEqual(before);
    expect(processes[1].startedAtMs).toBeLessThanOrEqual(Date.now());
  }),
);

verifies("process.list:usage", async ({ peer }) => {
  const connection = await peer();
  // A child holds 32 MiB, and another process of the session, without a parent to find it by, uses time.
  const hold = "x=$(head -c 33554432 /dev/zero | tr '\\0' x); echo held; sleep 60; true";
  const spin = "(while :; do :; done) & ";
  await connection.request("process/start", start("p", shell(`(${spin}) ; (${hold}) ; true`)));
  await run(connection, "ended", ["true"]);
  await untilOutput(connection, "p", /held/);
  const listed = async () => (await list(connection, { usage: true })).processes;
  const usage = async () => (await listed())[0].usage;
  await expect.poll(async () => (await usage()).cpuMs, { timeout: 20_000 }).toBeGreaterThan(200);
  // The shell, its two subshells and the sleep.
  await expect.poll(async () => (await usage()).processes, { timeout: 20_000 }).toBe(4);
  expect((await usage()).memoryBytes).toBeGreaterThan(32 * MEBIBYTE);
  expect((await listed())[1]).not.toHaveProperty("usage");
  expect((await list(connection)).processes[0]).not.toHaveProperty("usage");
  await connection.request("process/terminate", { processId: "p" });
});

/** Prints the port on which it listens. */
const LISTEN =
  "const s = require('net').createServer().listen(0, '127.0.0.1', () => console.log(s.address().port))";

verifies("process.ports:own", async ({ peer }) => {
  const connection = await peer();
  const ports = async () => (await connection.request("process/ports", null)).ports;
  expect(await ports()).toEqual([]);
  await connection.request(
    "process/start",
    start("web", shell(`'${process.execPath}' -e "${LISTEN}"; true`)),
  );
  const port = Number(await untilOutput(connection, "web", /\d+\n/));
  const listed = { port, host: "127.0.0.1", processId: "web", own: true };
  await expect.poll(ports).toEqual([expect.objectContaining({ ...listed, program: expect.any(String) })]);
  await connection.request("process/terminate", { processId: "web" });
  await expect.poll(ports).toEqual([]);
});

verifies("process.ports:others", async ({ peer }) => {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  try {
    const connection = await peer();
    await connection.request("process/start", start("p", shell("sleep 60")));
    expect((await connection.request("process/ports", null)).ports).toEqual([]);
  } finally {
    server.close();
  }
});

verifies("process.list:after", async ({ peer }) => {
  const connection = await peer();
  const argv = ["true", ...Array.from({ length: 50_000 }, () => "x")];
  for (const id of ["a", "b", "c", "d"]) await run(connection, id, argv);
  const ids: string[] = [];
  const sizes: number[] = [];
  for (let after = { startedAtMs: 0, pid: 0 }, more = true; more; ) {
    const part = await list(connection, { after });
    ids.push(...part.processes.map(({ processId }: { processId: string }) => processId));
    sizes.push(part.processes.length);
    const { startedAtMs, pid } = part.processes.at(-1);
    after = { startedAtMs, pid };
    ({ more } = part);
  }
  expect([ids, sizes]).toEqual([
    ["a", "b", "c", "d"],
    [2, 2],
  ]);
});

verifies("process.list:other-sessions", async ({ peer }) => {
  const [one, other] = [await peer(), await peer()];
  await one.request("process/start", start("p", ["sleep", "60"]));
  expect((await list(one)).processes).toHaveLength(1);
  expect(await list(other)).toEqual({ processes: [] });
});

verifies("process.list:server-scope", async ({ peer }) => {
  const refused = await expectError(
    list(await peer(), { scope: "server" }),
    -32600,
    "process/list: this server does not show the processes of other sessions",
  );
  expect(refused.data).toEqual({ code: "PERMISSION_DENIED" });
  await expectError(list(await peer(), { scope: "planet" }), -32602);
});

verifies("process.snapshot:whole", async ({ peer }) => {
  const connection = await peer();
  await connection.request(
    "process/start",
    start("p", shell("printf out; printf error >&2; read line; exit 3"), { pipeStdin: true }),
  );
  const whole = (stream: string, text: string) => ({
    stream,
    head: Buffer.from(text).toString("base64"),
    tail: "",
    omittedBytes: 0,
    totalBytes: text.length,
  });
  await connection.nextNotification("process/output", "p");
  await connection.nextNotification("process/output", "p");
  const streams = [whole("stdout", "out"), whole("stderr", "error")];
  expect(await snapshot(connection, "p")).toEqual({ streams, running: true, exitCode: null });
  await connection.request("process/closeStdin", { processId: "p" });
  await collect(connection, "p");
  expect(await snapshot(connection, "p", { stream: "stderr" })).toEqual({
    streams: [streams[1]],
    running: false,
    exitCode: 3,
  });
  expect((await snapshot(connection, "p", { stream: "pty" })).streams).toEqual([]);
  const [cut] = (await snapshot(connection, "p", { stream: "stderr", maxBytes: 3 })).streams;
  expect([fromBase64(cut.head), cut.omittedBytes, fromBase64(cut.tail)]).toEqual(["er", 2, "r"]);
});

verifies("process.snapshot:edges", async ({ peer }) => {
  const connection = await peer();
  const script = shell(`printf begin; head -c ${5 * MEBIBYTE} /dev/zero; printf end`);
  await run(connection, "p", script);
  const [stdout] = (await snapshot(connection, "p", { stream: "stdout" })).streams;
  const totalBytes = 5 * MEBIBYTE + "beginend".length;
  expect(stdout.totalBytes).toBe(totalBytes);
  const [head, tail] = [Buffer.from(stdout.head, "base64"), Buffer.from(stdout.tail, "base64")];
  expect([head.length, tail.length]).toEqual([65_536, 65_536]);
  expect(stdout.omittedBytes).toBe(totalBytes - 2 * 65_536);
  expect([head.subarray(0, 6).toString(), tail.subarray(-4).toString()]).toEqual(["begin\0", "\0end"]);
});

verifies("process.snapshot:quiet-stream", async ({ peer }) => {
  const connection = await peer();
  const script = shell(`echo warning >&2; head -c ${5 * MEBIBYTE} /dev/zero; echo failure >&2`);
  await run(connection, "p", script);
  const [stderr] = (await snapshot(connection, "p", { stream: "stderr" })).streams;
  expect(fromBase64(stderr.head)).toBe("warning\nfailure\n");
  expect((await list(connection)).processes[0].retainedBytes).toBeLessThanOrEqual(MEBIBYTE);
});

verifies("process.snapshot:terminal", async ({ peer }) => {
  const connection = await peer();
  await run(connection, "p", ["echo", "text"], { tty: true });
  const { streams } = await snapshot(connection, "p");
  expect(
    streams.map(({ stream, head }: { stream: string; head: string }) => [stream, fromBase64(head)]),
  ).toEqual([["pty", "text\r\n"]]);
});

verifies("process.snapshot:screen", async ({ peer }) => {
  const connection = await peer();
  const draw =
    "printf 'first\\nsecond\\033[1;1HFIRST\\033[3;5Hx'; read line; printf '\\033[2J\\033[1;1Hcleared'";
  await connection.request("process/start", {
    ...start("p", shell(draw), { tty: true }),
    terminalSize: { rows: 5, cols: 20 },
  });
  const shown = async () => (await snapshot(connection, "p", { screen: true })).screen;
  await expect.poll(shown, { timeout: 10_000 }).toMatchObject({
    lines: ["FIRST", "second", "    x", "", ""],
    cursor: { row: 2, col: 5 },
    complete: true,
    size: { rows: 5, cols: 20 },
  });
  expect(await shown()).not.toHaveProperty("paint");
  await connection.request("process/write", {
    processId: "p",
    chunk: Buffer.from("\n").toString("base64"),
    writeId: "1",
  });
  await collect(connection, "p");
  expect((await shown()).lines).toEqual(["cleared", "", "", "", ""]);
});

verifies("process.snapshot:paint", async ({ peer }) => {
  const connection = await peer();
  // The first snapshot falls within an escape sequence.
  const draw = "printf '\\033[?1049h\\033[31mred\\033[4'; read line; printf ';5Hnext'";
  await connection.request("process/start", {
    ...start("p", shell(`stty -echo; ${draw}`), { tty: true }),
    terminalSize: { rows: 5, cols: 20 },
  });
  await untilOutput(connection, "p", /\[4$/);
  const { screen } = await snapshot(connection, "p", { paint: true });
  await write(connection, "p", "\n");
  await collect(connection, "p");
  const { chunks } = await connection.request("process/read", {
    processId: "p",
    afterSeq: screen.nextSeq - 1,
    maxBytes: null,
    waitMs: 0,
  });
  const viewer = new headless.Terminal({ rows: 5, cols: 20, allowProposedApi: true });
  for (const text of [screen.paint, ...chunks.map(({ chunk }: { chunk: string }) => chunk)])
    await new Promise<void>((resolve) => viewer.write(Buffer.from(text, "base64"), resolve));
  const { active } = viewer.buffer;
  expect(active.type).toBe("alternate");
  expect(active.getLine(0)!.translateToString(true)).toBe("red");
  expect(active.getLine(0)!.getCell(0)!.getFgColor()).toBe(1);
  expect(active.getLine(3)!.translateToString(true)).toBe("    next");
});

verifies("process.start:follow-screen", async ({ peer }) => {
  const connection = await peer();
  // The alternate screen is entered long before what is retained.
  const script = "printf '\\033[?1049h'; yes '' | head -n 2000000; printf '\\033[2;3Hend'";
  await connection.request("process/start", {
    ...start("p", shell(script), { tty: true }),
    followScreen: true,
    terminalSize: { rows: 5, cols: 20 },
  });
  await collect(connection, "p");
  const { screen, streams } = await snapshot(connection, "p", { paint: true, maxBytes: 10 });
  expect(streams[0].totalBytes).toBeGreaterThan(2 * 1024 * 1024);
  expect(screen).toMatchObject({ complete: true, lines: ["", "  end", "", "", ""] });
  expect(Buffer.from(screen.paint, "base64").toString()).toContain("\u001b[?1049h");
});

verifies("process.snapshot:no-screen", async ({ peer }) => {
  const connection = await peer();
  await run(connection, "p", ["true"]);
  expect(await snapshot(connection, "p", { screen: true })).not.toHaveProperty("screen");
});

verifies("process.snapshot:unknown", async ({ peer }) => {
  await expectError(snapshot(await peer(), "nobody"), -32600, "unknown process id nobody");
});

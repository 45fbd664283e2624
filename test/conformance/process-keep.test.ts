import { randomUUID } from "node:crypto";
import { expect } from "vitest";
import { arrivedEvents, collect, read, shell, untilNumber, untilOutput, write } from "./process-events.ts";
import { type RawPeer, RpcFailure } from "./raw-peer.ts";
import { isAlive, resume } from "./session-peers.ts";
import { base64, expectError, start, verifies } from "./verifies.ts";

// The names of a server are shared by all tests of this file.

const echo = shell("echo begun; while read line; do echo got $line; done; exit 3");

function keep(peer: RawPeer, processId: string, name: string, overrides: Record<string, unknown> = {}) {
  return peer.request(
    "process/start",
    start(processId, echo, { pipeStdin: true, keep: { name }, ...overrides }),
  );
}

function attach(peer: RawPeer, name: string, options: Record<string, unknown> = {}) {
  return peer.request("process/attach", { name, ...options });
}

// oxlint-disable-next-line typescript/no-explicit-any
async function listed(peer: RawPeer, name: string): Promise<any> {
  const { processes } = await peer.request("process/list", { scope: "kept" });
  return processes.find((process: { name: string }) => process.name === name);
}

async function kill(peer: RawPeer, processId: string): Promise<void> {
  expect(await peer.request("process/terminate", { processId })).toEqual({ running: true });
  await peer.nextNotification("process/closed", processId);
}

/** The code in the data of a refusal. */
async function refusedWith(request: Promise<unknown>): Promise<unknown> {
  const error = await request.then(
    () => undefined,
    (failure: unknown) => failure,
  );
  expect(error).toBeInstanceOf(RpcFailure);
  return ((error as RpcFailure).data as { code?: unknown } | undefined)?.code;
}

verifies("process.keep:outlives", async ({ connect, peer }) => {
  const name = randomUUID();
  const first = await connect();
  await first.handshake();
  expect(await keep(first, "p", name)).toEqual({ processId: "p", sandboxType: "none" });
  await untilOutput(first, "p", /begun/);
  first.drop();
  await first.closed;
  const second = await peer();
  expect(await attach(second, name, { mode: "control", as: "q", fromSeq: 1 })).toMatchObject({
    processId: "q",
  });
  await write(second, "q", "on\n");
  await second.request("process/closeStdin", { processId: "q" });
  const { stdout, exitCode } = await collect(second, "q");
  expect([stdout.toString(), exitCode]).toEqual(["begun\ngot on\n", 3]);
});

verifies("process.keep:started", async ({ peer }) => {
  const connection = await peer();
  const argv = shell("trap 'echo usr1' USR1; stty size; echo $$; while :; do read line && stty size; done");
  const keepIt = { name: randomUUID() };
  const params = start("p", argv, { tty: true, terminalSize: { rows: 10, cols: 20 }, keep: keepIt });
  await connection.request("process/start", { ...params, tellPid: true });
  await untilOutput(connection, "p", /10 20\r\n\d+/);
  await connection.request("process/resize", { processId: "p", rows: 30, cols: 40 });
  await write(connection, "p", "\n");
  await untilOutput(connection, "p", /30 40\r\n/);
  await connection.request("process/signal", { processId: "p", signal: "SIGUSR1" });
  await untilOutput(connection, "p", /usr1/);
  expect(await read(connection, "p")).toMatchObject({ exited: false });
  expect((await connection.request("process/list", {})).processes).toEqual([]);
  await kill(connection, "p");
  expect(await read(connection, "p")).toMatchObject({ closed: true, exitCode: 137 });
});

verifies("process.keep:pipelined", async ({ peer }) => {
  const [connection, other] = [await peer(), await peer()];
  const name = randomUUID();
  const answers = await Promise.all([
    keep(connection, "p", name),
    write(connection, "p", "x\n"),
    attach(connection, name, { as: "q" }),
    connection.request("process/closeStdin", { processId: "p" }),
    connection.request("process/wait", { processId: "p" }),
    attach(other, name).catch(() => attach(other, name)),
  ]);
  expect(answers[1]).toEqual({ status: "accepted" });
  expect(answers[2]).toMatchObject({ processId: "q", name });
  expect(answers[4]).toMatchObject({ exited: true, exitCode: 3 });
  expect((await collect(connection, "p")).stdout.toString()).toBe("begun\ngot x\n");
});

verifies("process.keep:names", async ({ peer }) => {
  const connection = await peer();
  for (const bad of ["", "-a", ".a", "_a", "a b", "a/b", "a\n", "ä", "a".repeat(129), 5, null])
    await expectError(
      connection.request("process/start", start("bad", echo, { keep: { name: bad } })),
      -32602,
    );
  for (const good of ["a", "0", `${randomUUID()}_.-Z`.padEnd(128, "x")]) {
    await keep(connection, good, good);
    await kill(connection, good);
  }
  const name = randomUUID();
  await keep(connection, "p", name);
  const replacing = { keep: { name, replace: true } };
  expect(await refusedWith(keep(connection, "q", name))).toBe("ALREADY_EXISTS");
  await expectError(keep(connection, "q", name, replacing), -32600, `the kept process ${name} is running`);
  // The id is in use too.
  await expectError(keep(connection, "p", randomUUID()), -32600, "process p already exists");
  await connection.request("process/closeStdin", { processId: "p" });
  await connection.nextNotification("process/closed", "p");
  expect(await refusedWith(keep(connection, "q", name))).toBe("ALREADY_EXISTS");
  await keep(connection, "q", name, { ...replacing, argv: shell("echo second") });
  expect((await collect(connection, "q")).stdout.toString()).toBe("second\n");
  // The id stands for a process that is gone, and is free.
  await expectError(read(connection, "p"), -32600, "unknown process id p");
  await keep(connection, "p", randomUUID(), { argv: shell("echo third") });
  expect(await listed(connection, name)).toMatchObject({ argv: shell("echo second") });
});

verifies("process.keep:race", async ({ peer }) => {
  const peers = [await peer(), await peer(), await peer()];
  const name = randomUUID();
  const starts = peers.flatMap((connection) => ["p", "q", "r"].map((id) => keep(connection, id, name)));
  const results = await Promise.allSettled(starts);
  expect(results.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
  for (const result of results)
    if (result.status === "rejected") expect(result.reason.data).toEqual({ code: "ALREADY_EXISTS" });
  expect(await listed(peers[0]!, name)).toMatchObject({ attached: 1, state: "running" });
});

verifies("process.keep:failed", async ({ peer }) => {
  const connection = await peer();
  const name = randomUUID();
  const absent = { argv: ["/no/such/program"] };
  expect(await refusedWith(keep(connection, "p", name, absent))).toBe("SPAWN_FAILED");
  expect(await listed(connection, name)).toBeUndefined();
  await expectError(attach(connection, name), -32600, `there is no kept process ${name}`);
  await expectError(read(connection, "p"), -32600, "unknown process id p");
  // A start that waited for the name gets it when the first one fails.
  const [failed, started] = await Promise.allSettled([
    keep(connection, "p", name, absent),
    keep(connection, "q", name),
  ]);
  expect([failed.status, started.status]).toEqual(["rejected", "fulfilled"]);
  await kill(connection, "q");
});

verifies("process.keep:forgotten", async ({ peer }) => {
  const [connection, other] = [await peer(), await peer()];
  const name = randomUUID();
  const forget = (from: RawPeer, processId: string) =>
    from.request("process/detach", { processId, forget: true });
  await keep(connection, "p", name);
  await attach(other, name, { as: "f" });
  await expectError(forget(other, "f"), -32602, /forget needs a kept process that this connection controls/);
  // It runs: only the attachment ends.
  await forget(connection, "p");
  expect(await listed(connection, name)).toMatchObject({ state: "running" });
  await attach(connection, name, { as: "c", mode: "control" });
  await kill(connection, "c");
  await forget(connection, "c");
  expect(await listed(connection, name)).toBeUndefined();
  await expectError(read(other, "f"), -32600, "unknown process id f");
  await keep(connection, "p", name);
  await kill(connection, "p");
  await connection.request("process/start", start("q", echo));
  await expectError(forget(connection, "q"), -32602, /forget needs/);
});

verifies("process.keep:renamed", async ({ peer }) => {
  const [connection, other] = [await peer(), await peer()];
  const [name, free, taken] = [randomUUID(), randomUUID(), randomUUID()];
  const rename = (from: RawPeer, processId: string, to: unknown) =>
    from.request("process/rename", { processId, name: to });
  await keep(connection, "p", name);
  await keep(connection, "q", taken);
  await attach(other, name, { as: "f", fromSeq: 1 });
  const uncontrolled = /only a kept process that this connection controls can be renamed/;
  await expectError(rename(other, "f", free), -32602, uncontrolled);
  await connection.request("process/start", start("own", echo));
  await expectError(rename(connection, "own", free), -32602, uncontrolled);
  await expectError(rename(connection, "p", "a b"), -32602, /a name has 1 to 128/);
  expect(await refusedWith(rename(connection, "p", taken))).toBe("ALREADY_EXISTS");
  expect(await rename(connection, "p", free)).toEqual({});
  expect([await listed(connection, name), await listed(connection, free)]).toMatchObject([
    undefined,
    { name: free, state: "running" },
  ]);
  expect(await refusedWith(attach(other, name, { as: "g" }))).toBe("NOT_FOUND");
  // Who is attached stays attached, under the id of that connection.
  await write(connection, "p", "on\n");
  await untilOutput(other, "f", /got on/);
  await attach(other, free, { as: "h", mode: "control" });
  await kill(other, "h");
  await other.request("process/detach", { processId: "h", forget: true });
  expect(await listed(connection, free)).toBeUndefined();
  await expectError(rename(connection, "p", name), -32602, uncontrolled);
  await kill(connection, "q");
});

verifies("process.keep:repeated", async ({ connect }) => {
  const [first, second] = [await connect(), await connect()];
  const { sessionId } = await first.handshake();
  const name = randomUUID();
  const again = (peer: RawPeer, more = {}) =>
    keep(peer, "p", name, { idempotencyKey: "key", tellPid: true, ...more });
  const answer = await again(first);
  expect(await again(first)).toEqual(answer);
  expect(await refusedWith(again(first, { label: "another" }))).toBe("IDEMPOTENCY_CONFLICT");
  first.drop();
  await resume(second, sessionId);
  second.notify("initialized", {});
  expect(await again(second)).toEqual(answer);
  await write(second, "p", "on\n");
  await untilOutput(second, "p", /got on/);
  // The key belongs to the session: others may have the same one.
  const other = await connect();
  await other.handshake();
  expect(await refusedWith(again(other))).toBe("ALREADY_EXISTS");
  await kill(second, "p");
});

verifies("process.keep:resumed", async ({ connect, peer }) => {
  const [first, second, watching] = [await connect(), await connect(), await peer()];
  const { sessionId } = await first.handshake();
  const [mine, theirs] = [randomUUID(), randomUUID()];
  await keep(first, "mine", mine);
  await keep(watching, "theirs", theirs);
  await attach(first, theirs, { mode: "control", as: "control" });
  await attach(first, theirs, { as: "follow" });
  expect(await listed(watching, theirs)).toMatchObject({ attached: 2 });
  await write(watching, "theirs", "before\n");
  await untilOutput(first, "follow", /got before/);
  first.drop();
  await first.closed;
  await resume(second, sessionId);
  second.notify("initialized", {});
  expect(await listed(watching, theirs)).toMatchObject({ attached: 2 });
  for (const id of ["mine", "control"]) {
    await write(second, id, "after\n");
    await untilOutput(second, id, /^got after\n$/);
  }
  await untilOutput(second, "follow", /^got after\n$/);
  expect(await second.request("process/write", { processId: "follow", chunk: "", writeId: "1" })).toEqual({
    status: "unknownProcess",
  });
  expect((await read(second, "control")).chunks.length).toBeGreaterThan(1);
  await kill(second, "mine");
  await kill(second, "control");
});

verifies("process.keep:window", async ({ peer }) => {
  const [ann, bob] = [await peer(), await peer()];
  const name = randomUUID();
  const argv = shell("stty -echo; echo ready; while read line; do echo $line: $(stty size); done");
  const terminalSize = { rows: 11, cols: 111 };
  await ann.request("process/start", start("p", argv, { tty: true, terminalSize, keep: { name } }));
  await untilOutput(ann, "p", /ready/);
  await attach(bob, name, { mode: "control", as: "p" });
  const resize = (connection: RawPeer, rows: number) =>
    connection.request("process/resize", { processId: "p", rows, cols: 10 * rows });
  const type = async (connection: RawPeer, word: string): Promise<string> => {
    await write(connection, "p", `${word}\n`);
    const text = await untilOutput(ann, "p", new RegExp(`${word}: \\d+ \\d+\r\n`));
    return text.slice(text.indexOf(`${word}: `) + word.length + 2).trim();
  };
  // Without typing, the newest size applies.
  await resize(bob, 22);
  expect(await type(bob, "one")).toBe("22 220");
  // Another one's size waits until that one types.
  await resize(ann, 33);
  expect(await type(bob, "two")).toBe("22 220");
  expect(await type(ann, "three")).toBe("33 330");
  await resize(bob, 44);
  await bob.request("process/detach", { processId: "p" });
  expect(await type(ann, "four")).toBe("33 330");
  // The last who typed leaves: the newest size of those who are there.
  await attach(bob, name, { mode: "control", as: "p" });
  await resize(bob, 55);
  ann.drop();
  await ann.closed;
  await write(bob, "p", "five\n");
  await untilOutput(bob, "p", /five: 55 550/);
  await kill(bob, "p");
});

verifies("process.keep:stdio", async ({ peer }) => {
  const connection = await peer();
  const { extensions } = await connection.request("environment/info");
  expect(extensions).not.toContain("process/start.keep");
  expect(await refusedWith(keep(connection, "p", "a"))).toBe("UNSUPPORTED");
  expect(await refusedWith(attach(connection, "a"))).toBe("NOT_FOUND");
  expect(await connection.request("process/list", { scope: "kept" })).toEqual({ processes: [] });
  await expectError(read(connection, "p"), -32600, "unknown process id p");
});

verifies("process.attach:name", async ({ peer }) => {
  const [owner, follower, controller] = [await peer(), await peer(), await peer()];
  const name = randomUUID();
  await keep(owner, "p", name, { argv: shell("echo $$; read line; echo got $line; exit 3") });
  const pid = await untilNumber(owner, "p");
  expect(await attach(follower, name, { fromSeq: 1 })).toEqual({
    processId: name,
    nextSeq: 2,
    firstSeq: 1,
    tty: false,
    exited: false,
    closed: false,
    name,
  });
  expect(await untilNumber(follower, name)).toBe(pid);
  const chunk = base64("x\n");
  const toIt = { processId: name };
  expect(await follower.request("process/write", { ...toIt, chunk, writeId: "1" })).toEqual({
    status: "unknownProcess",
  });
  await expectError(follower.request("process/closeStdin", toIt), -32600);
  await expectError(follower.request("process/resize", { ...toIt, rows: 1, cols: 1 }), -32600);
  await follower.request("process/signal", { ...toIt, signal: "SIGKILL" });
  expect(await follower.request("process/terminate", toIt)).toEqual({ running: false });
  expect(isAlive(pid)).toBe(true);
  await attach(controller, name, { mode: "control", as: "c" });
  const written = { processId: "c", chunk, writeId: "1" };
  expect(await controller.request("process/write", written)).toEqual({ status: "accepted" });
  expect(await controller.request("process/write", written)).toEqual({ status: "accepted" });
  for (const [connection, id] of [
    [owner, "p"],
    [follower, name],
  ] as const) {
    const { stdout, exitCode } = await collect(connection, id);
    expect([stdout.toString(), exitCode]).toEqual([`${pid}\ngot x\n`, 3]);
  }
  // Only new events came.
  await controller.nextNotification("process/closed", "c");
  expect(arrivedEvents(controller, "c").map(({ seq }) => seq)[0]).toBe(2);
  // An ended process can be attached and read.
  expect(await attach(controller, name, { as: "late", fromSeq: 1 })).toMatchObject({
    exited: true,
    closed: true,
  });
  expect((await collect(controller, "late")).stdout.toString()).toBe(`${pid}\ngot x\n`);
});

verifies("process.attach:name-repeated", async ({ peer }) => {
  const connection = await peer();
  const name = randomUUID();
  await keep(connection, "p", name);
  await untilOutput(connection, "p", /begun/);
  const first = await attach(connection, name, { as: "a" });
  expect(await attach(connection, name, { as: "a" })).toEqual(first);
  await expectError(attach(connection, name, { as: "a", mode: "control" }), -32600, /is in use/);
  await attach(connection, name, { as: "b", mode: "control" });
  expect(await listed(connection, name)).toMatchObject({ attached: 1 });
  await write(connection, "b", "x\n");
  for (const id of ["p", "a", "b"]) await untilOutput(connection, id, /got x/);
  await connection.request("process/detach", { processId: "a" });
  await expectError(connection.request("process/detach", { processId: "a" }), -32600, "unknown process id a");
  await connection.request("process/detach", { processId: "p" });
  await kill(connection, "b");
  expect(arrivedEvents(connection, "a")).toHaveLength(1);
});

verifies("process.attach:name-params", async ({ peer }) => {
  const connection = await peer();
  await expectError(attach(connection, "nobody"), -32600, "there is no kept process nobody");
  await expectError(attach(connection, "a/b"), -32602);
  await expectError(attach(connection, "a", { processId: "p" }), -32602, /cannot be combined/);
  await expectError(attach(connection, "a", { sessionId: "s" }), -32602, /cannot be combined/);
  await expectError(attach(connection, "a", { mode: "own" }), -32602);
  await expectError(connection.request("process/attach", {}), -32602, /processId/);
  await connection.request("process/start", start("p", ["sleep", "60"]));
  await expectError(
    connection.request("process/attach", { processId: "p", mode: "control" }),
    -32602,
    /kept/,
  );
});

verifies("process.list:kept", async ({ peer }) => {
  const [owner, other] = [await peer(), await peer()];
  const names = [randomUUID(), randomUUID()] as const;
  await keep(owner, "p", names[0], { label: "a label" });
  await keep(owner, "q", names[1], { argv: shell("printf 123") });
  await collect(owner, "q");
  await attach(other, names[0]);
  const { processes } = await other.request("process/list", { scope: "kept" });
  const mine = processes.filter(({ name }: { name: string }) => (names as readonly string[]).includes(name));
  expect(mine).toEqual([
    {
      processId: names[0],
      own: false,
      pid: expect.any(Number),
      argv: echo,
      cwd: "file:///",
      label: "a label",
      tty: false,
      startedAtMs: expect.any(Number),
      state: "running",
      exitCode: null,
      outputBytes: expect.any(Number),
      retainedBytes: expect.any(Number),
      hasInput: true,
      name: names[0],
      owner: expect.stringMatching(/^user:./),
      attached: 2,
    },
    expect.objectContaining({
      processId: names[1],
      name: names[1],
      state: "closed",
      attached: 1,
      endedAtMs: expect.any(Number),
    }),
  ]);
  expect(mine[1].endedAtMs).toBeGreaterThanOrEqual(mine[1].startedAtMs);
  expect((await owner.request("process/list", {})).processes).toEqual([]);
  await kill(owner, "p");
});

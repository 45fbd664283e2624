import { expect, test } from "vitest";
import { chunk, type Fields, output, readResult, Scene, textOf } from "../../test/fixtures/bridge-scene.ts";

test("after a cut, what is idempotent is sent again in order; the rest fails", async () => {
  const scene = await Scene.open();
  const server = await scene.begin();
  const requests = [
    { id: 10, method: "process/write", params: { processId: "p", chunk: "", writeId: "1" } },
    { id: 11, method: "process/signal", params: { processId: "p", signal: "interrupt" } },
    { id: 12, method: "fs/readFile", params: { path: "file:///a" } },
    { id: 13, method: "fs/readBlock", params: { handleId: "h" } },
    { id: 15, method: "fs/open", params: { handleId: "h", path: "file:///a" } },
  ];
  for (const request of requests) scene.client.send(request);
  for (const _ of requests) await server.next();
  server.transport.destroy();
  expect(await scene.client.next()).toMatchObject({
    id: 11,
    error: { code: -32603, data: { code: "EFFECT_UNKNOWN" } },
  });
  expect(await scene.client.next()).toMatchObject({
    id: 13,
    error: { message: expect.stringContaining("ended") },
  });
  scene.client.send({ id: 14, method: "environment/status", params: null });
  const again = await scene.resumed();
  expect([await again.next(), await again.next(), await again.next(), await again.next()]).toEqual([
    requests[0],
    requests[2],
    requests[4],
    { id: 14, method: "environment/status", params: null },
  ]);
});

test("after a cut, each event passes once and in order", async () => {
  const scene = await Scene.open();
  const server = await scene.begin();
  await scene.start(server);
  for (const seq of [1, 2, 4]) server.send(output(seq));
  for (const seq of [1, 2, 4]) expect(await scene.client.next()).toEqual(output(seq));
  server.transport.destroy();
  const again = await scene.resumed();
  // New events arrive before the answer, and repeat its contents.
  again.send(output(6));
  again.send(output(8));
  again.send(output(7));
  const { id, ...read } = await again.next();
  expect(read).toEqual({
    method: "process/read",
    params: { processId: "p", afterSeq: 2, maxBytes: null, waitMs: 0 },
  });
  again.send({ id, result: readResult({ chunks: [3, 4, 5, 6].map((seq) => chunk(seq)), nextSeq: 7 }) });
  for (const seq of [3, 5, 6, 7, 8]) expect(await scene.client.next()).toEqual(output(seq));
  again.send(output(8));
  again.send(output(9));
  expect(await scene.client.next()).toEqual(output(9));
});

test("the end of a process that ended in between is reported", async () => {
  const scene = await Scene.open();
  const server = await scene.begin();
  await scene.start(server);
  server.transport.destroy();
  const again = await scene.resumed();
  const { id } = await again.next();
  const exit = { signal: "SIGKILL" };
  again.send({
    id,
    result: readResult({
      chunks: [chunk(1)],
      nextSeq: 4,
      exited: true,
      exitCode: 137,
      closed: true,
      sandboxDenied: true,
      exit,
    }),
  });
  expect([await scene.client.next(), await scene.client.next(), await scene.client.next()]).toEqual([
    output(1),
    {
      method: "process/exited",
      params: { processId: "p", seq: 2, exitCode: 137, sandboxDenied: true, exit },
    },
    { method: "process/closed", params: { processId: "p", seq: 3 } },
  ]);
});

test("output that the server no longer has is replaced, and said to be lost", async () => {
  const scene = await Scene.open();
  const server = await scene.begin();
  await scene.start(server);
  server.transport.destroy();
  const again = await scene.resumed();
  const { id } = await again.next();
  again.send({ id, result: readResult({ chunks: [chunk(4)], nextSeq: 5 }) });
  const events = [await scene.client.next(), await scene.client.next(), await scene.client.next()];
  expect(events.map(({ params }) => (params as Fields)["seq"])).toEqual([1, 2, 3]);
  expect(events.map(textOf)).toEqual(["\n[exec-server: output was lost with the connection]\n", "", ""]);
  expect(await scene.client.next()).toEqual(output(4));
});

test("a process that the server no longer knows ends, and says why", async () => {
  const scene = await Scene.open();
  const server = await scene.begin();
  await scene.start(server);
  server.send(output(1));
  await scene.client.next();
  server.transport.destroy();
  const again = await scene.resumed();
  const { id } = await again.next();
  again.send({ id, error: { code: -32600, message: "unknown process id p" } });
  expect(textOf(await scene.client.next())).toContain("unknown process id p");
  expect(await scene.client.next()).toEqual({
    method: "process/exited",
    params: { processId: "p", seq: 3, exitCode: -1 },
  });
  expect(await scene.client.next()).toEqual({
    method: "process/closed",
    params: { processId: "p", seq: 4 },
  });
});

test("a flood of events during the recovery is read again instead of held", async () => {
  const scene = await Scene.open();
  const server = await scene.begin();
  await scene.start(server);
  server.transport.destroy();
  const again = await scene.resumed();
  const first = await again.next();
  for (let seq = 2; seq <= 400; seq += 1) again.send(output(seq));
  again.send({ id: first["id"], result: readResult({ chunks: [chunk(1)], nextSeq: 2 }) });
  const second = await again.next();
  expect(second["params"]).toMatchObject({ afterSeq: 1 });
  const rest = Array.from({ length: 399 }, (_, index) => chunk(index + 2));
  again.send({ id: second["id"], result: readResult({ chunks: rest, nextSeq: 401 }) });
  for (let seq = 1; seq <= 400; seq += 1) expect(await scene.client.next()).toEqual(output(seq));
});

test("a start gets a key where the server knows keys, and is repeated with it", async () => {
  const scene = await Scene.open({ extensions: ["process/start.idempotencyKey"] });
  const server = await scene.begin();
  const text = '{"id":2,"method":"process/start","params":{"processId":"p","n":1.0}}';
  scene.client.send(text);
  const sent = await server.nextText();
  expect(sent).toMatch(/"params":\{"idempotencyKey":"[0-9a-f-]{36}","processId":"p","n":1\.0\}\}$/);
  server.transport.destroy();
  const again = await scene.resumed();
  expect(await again.nextText()).toBe(sent);
  again.send(output(3));
  again.send({ id: 2, result: { processId: "p", sandboxType: "none" } });
  expect(await scene.client.next()).toEqual({ id: 2, result: { processId: "p", sandboxType: "none" } });
  // The request may have run before.
  const { id } = await again.next();
  again.send({ id, result: readResult({ chunks: [chunk(1), chunk(2)], nextSeq: 3 }) });
  for (const seq of [1, 2, 3]) expect(await scene.client.next()).toEqual(output(seq));
});

test.each(["process/started", "process/failed"])(
  "a start that the bridge repeats is reported by %s once",
  async (method) => {
    const scene = await Scene.open();
    const server = await scene.begin();
    const start = { id: 2, method: "process/start", params: { processId: "p", idempotencyKey: "k" } };
    const report = { method, params: { processId: "p" } };
    const answer = method === "process/started" ? { result: {} } : { error: { code: -32603, message: "no" } };
    scene.client.send(start);
    await server.next();
    server.send(report);
    expect(await scene.client.next()).toEqual(report);
    server.transport.destroy();
    const again = await scene.resumed();
    await again.next();
    again.send(report);
    again.send({ id: 2, ...answer });
    expect(await scene.client.next()).toEqual({ id: 2, ...answer });
  },
);

test("a start that the client repeats is reported again", async () => {
  const scene = await Scene.open();
  const server = await scene.begin();
  const start = { method: "process/start", params: { processId: "p", idempotencyKey: "k" } };
  const report = { method: "process/started", params: { processId: "p" } };
  const seen: unknown[] = [];
  for (const id of [2, 3]) {
    scene.client.send({ id, ...start });
    await server.next();
    server.send(report);
    server.send({ id, result: {} });
    seen.push(await scene.client.next(), await scene.client.next());
  }
  expect(seen).toEqual([report, { id: 2, result: {} }, report, { id: 3, result: {} }]);
});

test("a repeated start whose id is in use was carried out, once the server knows the process", async () => {
  const scene = await Scene.open();
  const server = await scene.begin();
  scene.client.send({ id: 2, method: "process/start", params: { processId: "p" } });
  await server.next();
  server.transport.destroy();
  const again = await scene.resumed();
  const taken = { id: 2, error: { code: -32600, message: "process p already exists" } };
  for (const _ of [1, 2]) {
    expect(await again.next()).toMatchObject({ id: 2, method: "process/start" });
    again.send(taken);
    const { id } = await again.next();
    again.send({ id, error: { code: -32600, message: "unknown process id p" } });
  }
  await again.next();
  again.send(taken);
  const { id } = await again.next();
  again.send({ id, result: readResult({ chunks: [chunk(1)], nextSeq: 2 }) });
  expect([await scene.client.next(), await scene.client.next()]).toEqual([
    output(1),
    { id: 2, result: { processId: "p" } },
  ]);
});

test("a start that is refused the first time stays refused", async () => {
  const scene = await Scene.open();
  const server = await scene.begin();
  await scene.start(server);
  const refusal = { id: 3, error: { code: -32600, message: "process p already exists" } };
  scene.client.send({ id: 3, method: "process/start", params: { processId: "p" } });
  await server.next();
  server.send(refusal);
  expect(await scene.client.next()).toEqual(refusal);
  // The events of the first are still numbered.
  server.send(output(1));
  server.send(output(1));
  server.send(output(2));
  expect([await scene.client.next(), await scene.client.next()]).toEqual([output(1), output(2)]);
});

test("what a repeated remove does not find was removed", async () => {
  const scene = await Scene.open();
  const server = await scene.begin();
  const request = { id: 2, method: "fs/remove", params: { path: "file:///a", force: false } };
  const missing = { code: -32004, message: "No such file or directory (os error 2)" };
  scene.client.send(request);
  await server.next();
  server.send({ id: 2, error: missing });
  expect(await scene.client.next()).toMatchObject({ error: missing });
  scene.client.send(request);
  await server.next();
  server.transport.destroy();
  const again = await scene.resumed();
  expect(await again.next()).toEqual(request);
  again.send({ id: 2, error: missing });
  expect(await scene.client.next()).toEqual({ id: 2, result: {} });
});

test("watches are set up again, and clients look again", async () => {
  const scene = await Scene.open();
  const server = await scene.begin();
  scene.client.send({ id: 2, method: "fs/watchMissing", params: { watchId: 7, missing: [] } });
  await server.next();
  server.send({ id: 2, result: { watching: true } });
  await scene.client.next();
  const params = { watchId: "w", path: "file:///a", recursive: true };
  scene.client.send({ id: 3, method: "fs/watch", params });
  await server.next();
  server.send({ id: 3, result: {} });
  await scene.client.next();
  server.transport.destroy();
  const again = await scene.resumed();
  expect(await scene.client.next()).toEqual({ method: "fs/missingChanged", params: { watchId: 7 } });
  const { id, ...request } = await again.next();
  expect(request).toEqual({ method: "fs/watch", params });
  again.send({ id, result: {} });
  expect(await scene.client.next()).toEqual({
    method: "fs/watch/changed",
    params: { watchId: "w", paths: [], overflow: true, ended: false },
  });
});

test("a paused process stays paused", async () => {
  const scene = await Scene.open();
  const server = await scene.begin();
  await scene.start(server);
  scene.client.send({ id: 3, method: "process/flow", params: { processId: "p", paused: true } });
  await server.next();
  server.send({ id: 3, result: {} });
  await scene.client.next();
  server.transport.destroy();
  const again = await scene.resumed();
  expect(await again.next()).toMatchObject({
    method: "process/flow",
    params: { processId: "p", paused: true },
  });
});

test.each([
  ["a call of the client", false],
  ["the resumption of its session", true],
])("a server that answers %s with `JSON-RPC transport closed` has lost the connection", async (_, isOwn) => {
  const scene = await Scene.open();
  const server = await scene.begin();
  const closed = { error: { code: -32000, message: "JSON-RPC transport closed" } };
  const call = { id: 5, method: "environment/status" };
  scene.client.send(call);
  expect(await server.next()).toEqual(call);
  if (isOwn) {
    server.transport.destroy();
    const refusing = await scene.server();
    refusing.send({ id: (await refusing.next())["id"], ...closed });
    expect(await refusing.closed).toBeUndefined();
  } else {
    server.send({ id: 5, ...closed });
    await server.closed;
  }
  const again = await scene.resumed();
  expect(await again.next()).toEqual(call);
  again.send({ id: 5, result: { status: "ready" } });
  expect(await scene.client.next()).toEqual({ id: 5, result: { status: "ready" } });
});

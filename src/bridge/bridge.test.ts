import { expect, test } from "vitest";
import { environment, output, Scene, SESSION } from "../../test/fixtures/bridge-scene.ts";

test("messages pass as they are written, whatever they mean", async () => {
  const scene = await Scene.open();
  const server = await scene.begin();
  const up = '{"id":9007199254740993,"trace":{"traceparent":"x"},"method":"new/thing", "params":{"n":1.0}}';
  scene.client.send(up);
  expect(await server.nextText()).toBe(up);
  const down = '{"id":9007199254740993,"result":{"n":12345678901234567890}, "more":true}';
  server.send(down);
  expect(await scene.client.nextText()).toBe(down);
  server.send('{"method":"new/event",\n"params":[1]}');
  expect(await scene.client.nextText()).toBe('{"method":"new/event", "params":[1]}');
  scene.client.send('{"method":"new/note"}');
  expect(await server.nextText()).toBe('{"method":"new/note"}');
});

test("a line that is no message is answered, and goes no further", async () => {
  const scene = await Scene.open();
  const server = await scene.begin();
  scene.client.send("not json");
  expect(await scene.client.next()).toMatchObject({ id: -1, error: { code: -32600 } });
  scene.client.send({ id: 5, method: "environment/status" });
  expect(await server.next()).toMatchObject({ id: 5 });
});

test("two requests with one id are both answered", async () => {
  const scene = await Scene.open();
  const server = await scene.begin();
  for (const n of [1, 2]) scene.client.send({ id: "a", method: "x", params: n });
  expect([await server.next(), await server.next()]).toMatchObject([{ params: 1 }, { params: 2 }]);
  for (const n of [1, 2]) server.send({ id: "a", result: n });
  expect([await scene.client.next(), await scene.client.next()]).toMatchObject([
    { result: 1 },
    { result: 2 },
  ]);
});

test("questions of the server are answered on their own connection only", async () => {
  const scene = await Scene.open();
  const server = await scene.begin();
  const question = (text: string) => ({ id: 1, method: "network/policyRequest", params: { text } });
  server.send(question("first"));
  const first = await scene.client.next();
  expect(first).toMatchObject({ method: "network/policyRequest", params: { text: "first" } });
  server.transport.destroy();
  const again = await scene.resumed();
  again.send(question("second"));
  const second = await scene.client.next();
  expect(second["id"]).not.toBe(first["id"]);
  scene.client.send({ id: first["id"], result: "late" });
  scene.client.send({ id: second["id"], result: "in time" });
  expect(await again.next()).toEqual({ id: 1, result: "in time" });
});

test("a streamed body fails with its connection", async () => {
  const scene = await Scene.open();
  const server = await scene.begin();
  const request = (id: number, requestId: string) => ({
    id,
    method: "http/request",
    params: { requestId, streamResponse: true, method: "GET", url: "http://x/" },
  });
  for (const id of [2, 3, 4]) {
    scene.client.send(request(id, `http-${id}`));
    await server.next();
    server.send({ id, result: { status: 200 } });
    await scene.client.next();
  }
  const delta = (requestId: string, seq: number, done: boolean) => ({
    method: "http/request/bodyDelta",
    params: { requestId, seq, deltaBase64: "", done, error: null },
  });
  server.send(delta("http-2", 1, false));
  server.send(delta("http-3", 1, true));
  await scene.client.next();
  await scene.client.next();
  server.transport.destroy();
  const failed = (requestId: string, seq: number) => ({
    method: "http/request/bodyDelta",
    params: { requestId, seq, deltaBase64: "", done: true, error: expect.stringContaining("disconnected") },
  });
  expect([await scene.client.next(), await scene.client.next()]).toEqual([
    failed("http-2", 2),
    failed("http-4", 1),
  ]);
});

test("a handshake whose answer was lost is made again", async () => {
  const scene = await Scene.open();
  const first = await scene.server();
  const initialize = { id: 1, method: "initialize", params: { clientName: "test" } };
  scene.client.send(initialize);
  await first.next();
  first.transport.destroy();
  const second = await scene.server();
  expect(await second.next()).toEqual(initialize);
  second.send({ id: 1, result: { sessionId: SESSION, environmentInfo: environment() } });
  expect(await scene.client.next()).toMatchObject({ id: 1, result: { sessionId: SESSION } });
});

test("a session that the server no longer has ends the bridge", async () => {
  const scene = await Scene.open();
  (await scene.begin()).transport.destroy();
  const again = await scene.server();
  const { id } = await again.next();
  again.send({ id, error: { code: -32600, message: "unknown session id session-1" } });
  const error = await scene.bridge.ended;
  expect(error?.message).toMatch(
    /^exec-server transport disconnected; failed to resume.*unknown session id …$/,
  );
  await scene.client.closed;
});

test("a server without sessions, or a connection that cannot be replaced, ends the bridge", async () => {
  const scene = await Scene.open({ resumable: false });
  (await scene.begin()).transport.destroy();
  expect((await scene.bridge.ended)?.message).toBe("exec-server transport disconnected");
});

test("when the client leaves, its processes end at once; kept ones do not", async () => {
  const scene = await Scene.open();
  const server = await scene.begin();
  await scene.start(server);
  scene.client.send({ id: 3, method: "process/start", params: { processId: "kept", keep: { name: "k" } } });
  await server.next();
  server.send({ id: 3, result: { processId: "kept" } });
  await scene.client.next();
  scene.client.transport.close();
  const { id, ...request } = await server.next();
  expect(request).toEqual({ method: "process/terminate", params: { processId: "p" } });
  server.send({ id, result: { running: true } });
  await server.closed;
  expect(await scene.bridge.ended).toBeUndefined();
  expect(await server.waiting()).toEqual([]);
});

test("a client that does not read makes the server wait, and loses nothing", async () => {
  const scene = await Scene.open();
  const server = await scene.begin();
  await scene.start(server);
  scene.client.transport.pause();
  const text = "x".repeat(48_000);
  const COUNT = 400;
  for (let seq = 1; seq <= COUNT; seq += 1) server.send(output(seq, text));
  await server.waiting();
  // A mebibyte waits in front of the client, the rest before the bridge.
  expect(server.transport.queuedBytes).toBeGreaterThan(20_000_000);
  scene.client.transport.resume();
  for (let seq = 1; seq <= COUNT; seq += 1)
    expect((await scene.client.next())["params"]).toMatchObject({ seq });
});

test("a server that does not read makes the client wait", async () => {
  const scene = await Scene.open();
  const server = await scene.begin();
  server.transport.pause();
  const params = { path: "file:///a", dataBase64: "x".repeat(100_000) };
  for (let id = 10; id < 110; id += 1) scene.client.send({ id, method: "fs/writeFile", params });
  await scene.client.waiting();
  expect(scene.client.transport.queuedBytes).toBeGreaterThan(8_000_000);
  server.transport.resume();
  for (let id = 10; id < 110; id += 1) expect(await server.next()).toMatchObject({ id });
});

test("while there is no connection, the client is read only up to a limit", async () => {
  const scene = await Scene.open();
  const server = await scene.begin();
  server.transport.destroy();
  const params = { path: "file:///a", dataBase64: "x".repeat(100_000) };
  for (let id = 10; id < 110; id += 1) scene.client.send({ id, method: "fs/writeFile", params });
  const again = await scene.server();
  await scene.client.waiting();
  expect(scene.client.transport.queuedBytes).toBeGreaterThan(8_000_000);
  const { id } = await again.next();
  again.send({ id, result: { sessionId: SESSION, environmentInfo: environment() } });
  await again.next();
  for (let next = 10; next < 110; next += 1) expect(await again.next()).toMatchObject({ id: next });
});

test("a message that the server refuses as too long fails, and is not sent again", async () => {
  const scene = await Scene.open();
  const server = await scene.begin();
  const params = { path: "file:///a", dataBase64: "x".repeat(5_000) };
  scene.client.send({ id: 2, method: "fs/writeFile", params });
  scene.client.send({ id: 3, method: "environment/status" });
  await server.next();
  await server.next();
  const error = { code: -32011, message: "too long", data: { limit: "maxMessageBytes", value: 1_000 } };
  server.send({ id: -1, error });
  server.transport.destroy();
  expect(await scene.client.next()).toEqual({ id: 2, error });
  const again = await scene.resumed();
  expect(await again.next()).toMatchObject({ id: 3 });
});

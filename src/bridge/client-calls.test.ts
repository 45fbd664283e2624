import { expect, test, vi } from "vitest";
import { Scene } from "../../test/fixtures/bridge-scene.ts";
import { type ClientCall, ClientCalls } from "./client-calls.ts";
import type { RelayedMessage } from "./relayed-message.ts";
import type { UpstreamLink } from "./upstream-link.ts";

const MIB = 1024 * 1024;

test.each([
  ["fs/open", { handleId: "h", path: "file:///a" }],
  ["fs/openPart", { handleId: "h", path: "file:///a" }],
  ["fs/watch", { watchId: "w", path: "file:///a" }],
  ["fs/watchMissing", { watchId: "w", path: "file:///a" }],
  ["process/attach", { processId: "other" }],
  ["process/flow", { processId: "other", paused: false }],
  ["tcp/connect", { streamId: "t", host: "localhost", port: 1 }],
  ["tcp/listen", { listenId: "l", port: 1 }],
  ["process/start", { processId: "p" }],
  ["fs/remove", { path: "file:///a" }],
])("a %s whose answer was lost is made again on the next connection", async (method, params) => {
  const scene = await Scene.open();
  const server = await scene.begin();
  const request = { id: 7, method, params };
  scene.client.send(request);
  await server.next();
  server.transport.destroy();
  const again = await scene.resumed();
  expect(await again.next()).toEqual(request);
  expect(await scene.client.waiting()).toEqual([]);
});

test("the client is read until 4096 of its requests are unanswered, and again after one answer", () => {
  const { calls } = open();
  for (let id = 1; id < 4_096; id += 1) calls.add(call(id, 1));
  expect(calls.isFull).toBe(false);
  calls.add(call(4_096, 1));
  expect(calls.isFull).toBe(true);
  calls.settle("1", message(1));
  expect(calls.isFull).toBe(false);
});

test("the client is read until 64 MiB of its requests are unanswered, and again after one answer", () => {
  const { calls } = open();
  calls.add(call(1, 64 * MIB - 1));
  expect(calls.isFull).toBe(false);
  calls.add(call(2, 1));
  expect(calls.isFull).toBe(true);
  calls.settle("2", message(1));
  expect(calls.isFull).toBe(false);
});

test("without a connection the client is read until 1 MiB waits, and again when that is sent", () => {
  const { calls, link } = open();
  calls.lose("gone");
  calls.add(call(1, MIB - 1));
  expect(calls.isFull).toBe(false);
  calls.add(call(2, 1));
  expect(calls.isFull).toBe(true);
  calls.use(link, () => {});
  expect(calls.isFull).toBe(false);
});

test("what waits for the next connection counts once, however many connections are lost", () => {
  const { calls, link } = open();
  calls.add(call(1, MIB - 1));
  for (let round = 0; round < 3; round += 1) {
    calls.lose("gone");
    expect(calls.isFull).toBe(false);
    calls.lose("gone again");
    expect(calls.isFull).toBe(false);
    calls.use(link, () => {});
  }
  calls.lose("gone");
  calls.add(call(2, 1));
  expect(calls.isFull).toBe(true);
});

test("everything is answered only when nothing is on its way and nothing waits", async () => {
  const { calls, link } = open();
  await calls.answered();
  calls.add(call(1, 1));
  const answered = vi.fn();
  void calls.answered().then(answered);
  calls.lose("gone");
  calls.add(call(2, 1));
  calls.use(link, () => {});
  calls.settle("1", message(1));
  await Promise.resolve();
  expect(answered).not.toHaveBeenCalled();
  calls.settle("2", message(1));
  await Promise.resolve();
  expect(answered).toHaveBeenCalledOnce();
});

test("the memory of a request is returned with its answer, and that of a notification when it is sent", () => {
  const { calls } = open();
  const release = vi.fn();
  const request = { ...call(1, 1), message: message(1, release) };
  calls.add(request);
  expect(release).not.toHaveBeenCalled();
  calls.settle("1", message(1));
  expect(release).toHaveBeenCalledOnce();
  calls.add({ ...request, id: undefined });
  expect(release).toHaveBeenCalledTimes(2);
});

/** Opens a link that accepts everything. */
function open(): { calls: ClientCalls; link: UpstreamLink } {
  const calls = new ClientCalls(() => {});
  const link = { relay: (_: RelayedMessage, flushed?: () => void) => flushed?.() } as UpstreamLink;
  calls.use(link, () => {});
  return { calls, link };
}

function call(id: number, size: number): ClientCall {
  return {
    id: `${id}`,
    method: "fs/readFile",
    message: message(size),
    fate: "repeat",
    repeated: false,
    suddenEnds: 0,
  };
}

function message(size: number, release = (): void => {}): RelayedMessage {
  return { size, release } as unknown as RelayedMessage;
}

import { expect } from "vitest";
import { openWebSocketPeer, type RawPeer } from "./raw-peer.ts";
import { base64, fromBase64, start, type VerifyContext, verifies } from "./verifies.ts";

const cat = (processId: string) => start(processId, ["cat"], { pipeStdin: true });

function send(peer: RawPeer, id: number | string, method: string, params?: unknown): void {
  peer.sendText(JSON.stringify({ id, method, params }));
}

verifies("order:answers", async ({ peer }) => {
  const connection = await peer();
  const ids = Array.from({ length: 300 }, (_, index) => index + 1000);
  const methods = ["environment/status", "no/such", "environment/info", "process/read"];
  for (const id of ids) send(connection, id, methods[id % 4] ?? "", id % 4 === 3 ? { processId: "p" } : null);
  const answered: unknown[] = [];
  for (const _ of ids) answered.push((await connection.next()).id);
  expect(answered).toEqual(ids);
});

verifies("order:as-if-sequential", async ({ peer }) => {
  const connection = await peer();
  const processIds = Array.from({ length: 100 }, (_, index) => `p${index}`);
  for (const processId of processIds) {
    send(connection, `start ${processId}`, "process/start", start(processId, ["sleep", "60"]));
    send(connection, `read ${processId}`, "process/read", { processId });
    send(connection, `terminate ${processId}`, "process/terminate", { processId });
  }
  const running = { chunks: [], nextSeq: 1, exited: false, exitCode: null, closed: false };
  for (const processId of processIds) {
    const answer = async (verb: string) =>
      connection.next((message) => message.id === `${verb} ${processId}`, 20_000);
    expect(await answer("start")).toMatchObject({ result: { processId } });
    expect(await answer("read")).toMatchObject({ result: running });
    expect(await answer("terminate")).toMatchObject({ result: { running: true } });
  }
});

verifies("order:pipelined-handshake", async ({ connect }) => {
  const connection = await connect();
  await pipelineHandshake(connection);
});

async function pipelineHandshake(connection: RawPeer): Promise<void> {
  send(connection, 1, "initialize", { clientName: "conformance" });
  send(connection, 2, "environment/status");
  connection.notify("initialized");
  send(connection, 3, "environment/status");
  send(connection, 4, "process/start", start("p", ["true"]));
  expect(await connection.next()).toMatchObject({ id: 1, result: {} });
  expect(await connection.next()).toMatchObject({
    id: 2,
    error: { message: "client must send initialized before using environment status methods" },
  });
  const rest = [await connection.next((m) => m.id === 3), await connection.next((m) => m.id === 4)];
  expect(rest).toMatchObject([{ result: { status: "ready" } }, { result: { processId: "p" } }]);
}

verifies("order:start-first", async ({ peer }) => {
  const connection = await peer();
  for (let round = 0; round < 30; round++) {
    const processId = `p${round}`;
    send(connection, processId, "process/start", start(processId, ["echo", "x"]));
    const first = await connection.next(
      ({ id, params }) => id === processId || params?.processId === processId,
    );
    expect(first.id).toBe(processId);
    await connection.nextNotification("process/closed", processId);
  }
});

verifies("order:notifications-while-waiting", async ({ peer }) => {
  const connection = await peer();
  await connection.request("process/start", start("quiet", ["sleep", "60"]));
  await connection.request("process/start", start("loud", ["sh", "-c", "sleep 0.2; echo x"]));
  send(connection, "poll", "process/read", { processId: "quiet", waitMs: 25_000 });
  const first = await connection.next(({ id, method }) => id === "poll" || method === "process/output");
  expect(first.method).toBe("process/output");
});

verifies("order:long-poll-blocks-nobody", async ({ peer }) => {
  const connection = await peer();
  await connection.request("process/start", cat("p"));
  send(connection, "poll", "process/read", { processId: "p", waitMs: 25_000 });
  for (let round = 0; round < 3; round++) {
    expect(await connection.request("environment/status", null, { timeoutMs: 10_000 })).toEqual({
      status: "ready",
    });
  }
  await connection.request(
    "process/write",
    { processId: "p", chunk: base64("x"), writeId: "1" },
    { timeoutMs: 10_000 },
  );
  const { result } = await connection.next((message) => message.id === "poll");
  expect(result.chunks.map(({ chunk }: { chunk: string }) => fromBase64(chunk))).toEqual(["x"]);
});

verifies("order:flood", async ({ peer }) => {
  const connection = await peer();
  const source = connection.webSocket ?? connection.child?.stdout;
  const count = 10_000;
  source?.pause();
  for (let id = 1; id <= count; id++) send(connection, `flood ${id}`, "environment/info");
  source?.resume();
  await connection.next((message) => message.id === `flood ${count}`, 20_000);
  const answers = connection.rawMessages.filter((text) => text.startsWith('{"id":"flood '));
  expect(answers).toHaveLength(count);
});

/** A server that serves two requests of each lane at a time. */
async function openConcurrent({ launch }: VerifyContext): Promise<RawPeer> {
  const server = await launch(["--listen", "ws://127.0.0.1:0", "--concurrent-requests", "2"]);
  return openWebSocketPeer(await server.banner());
}

verifies("order:control-lane", async (context) => {
  const connection = await openConcurrent(context);
  await connection.handshake();
  await connection.request("process/start", cat("p"));
  send(connection, "poll 1", "process/read", { processId: "p", waitMs: 25_000 });
  send(connection, "poll 2", "process/read", { processId: "p", waitMs: 25_000 });
  const soon = { timeoutMs: 10_000 };
  expect(await connection.request("environment/status", null, soon)).toEqual({ status: "ready" });
  expect(await connection.request("environment/info", null, soon)).toHaveProperty("shell");
  const params = { processId: "other", signal: "interrupt" };
  expect(await connection.request("process/signal", params, soon)).toEqual({});
  expect(await connection.request("process/terminate", { processId: "p" }, soon)).toEqual({ running: true });
  for (const id of ["poll 1", "poll 2"]) {
    expect(await connection.next((message) => message.id === id)).toMatchObject({ result: { exited: true } });
  }
});

verifies("order:concurrent-handshake", async (context) => {
  await pipelineHandshake(await openConcurrent(context));
});

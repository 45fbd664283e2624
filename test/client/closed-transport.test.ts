import { expect, test } from "vitest";
import { ConnectionError, RpcError } from "../../src/base/errors.ts";
import { connect } from "../../src/client/host/connect.ts";
import { inTime, open } from "./fake-hosts.ts";
import { type FakeConnection, FakeServer, Refusal, someEnvironment } from "./fake-server.ts";

// A server that answers -32000 `JSON-RPC transport closed` has lost the connection, whatever its socket says.

const CLOSED = new Refusal(-32000, "JSON-RPC transport closed");
/** Answers so on the first connection, and with `result` on the next. */
function closedAtFirst(server: FakeServer, method: string, result: unknown): void {
  server.answers.set(method, (_params, connection) => (isFirst(server, connection) ? CLOSED : result));
}

const isFirst = (server: FakeServer, connection: FakeConnection): boolean =>
  server.connections[0] === connection;

test("an idempotent call that is answered so is sent again on a new connection, and processes continue", async () => {
  const server = new FakeServer();
  const host = await open(server);
  const process = await host.start(["any"], { processId: "p" });
  closedAtFirst(server, "environment/info", someEnvironment);
  const states: string[] = [];
  host.onStateChange((state) => states.push(state));

  expect(await inTime(host.request("environment/info", {}), "the answer")).toEqual(someEnvironment);
  expect(states).toEqual(["recovering", "connected"]);
  await inTime(server.connections[0]!.closed, "the end of the first connection");
  const second = await server.connection(2);
  expect(second.requests.map(({ method }) => method)).toEqual([
    "initialize",
    "process/read",
    "environment/info",
  ]);
  second.exited("p", 1, 3);
  expect(await inTime(process.exited, "the exit")).toMatchObject({ exitCode: 3 });
});

test("another call that is answered so may have taken effect", async () => {
  const server = new FakeServer();
  const host = await open(server);
  closedAtFirst(server, "fs/createDirectory", {});
  const created = host.request("fs/createDirectory", { path: "file:///x" });
  await expect(created).rejects.toMatchObject({
    name: "ConnectionError",
    code: "EFFECT_UNKNOWN",
    message:
      "exec-server transport disconnected: JSON-RPC transport closed; the session goes on, but whether fs/createDirectory took effect is not known",
  });
  expect((await server.connection(2)).requests.map(({ method }) => method)).toEqual(["initialize"]);
});

test("a session that is refused so is resumed with the next attempt", async () => {
  const server = new FakeServer();
  const host = await open(server);
  server.answers.set("initialize", (_params, connection) =>
    server.connections[1] === connection ? CLOSED : { sessionId: "session-1" },
  );
  server.connections[0]!.cut();
  expect(await inTime(host.request("environment/info", {}), "the answer")).toEqual(someEnvironment);
  expect(server.attempts).toBe(3);
});

test("a connection that cannot be replaced ends with that reason", async () => {
  const server = new FakeServer();
  const host = await connect(await server.open());
  server.answers.set("environment/info", () => CLOSED);
  const message = "exec-server transport disconnected: JSON-RPC transport closed";
  const asked = host.request("environment/info", {});
  await expect(asked).rejects.toMatchObject({ name: "ConnectionError", code: "CONNECTION_CLOSED", message });
  expect(await host.closed).toEqual({ reason: message, code: "CONNECTION_CLOSED" });
});

test("connecting fails with a ConnectionError if initialize is answered so", async () => {
  const server = new FakeServer();
  server.answers.set("initialize", () => CLOSED);
  await expect(connect(server.open)).rejects.toBeInstanceOf(ConnectionError);
});

test.each([new Refusal(-32000, "transport closed"), new Refusal(-32603, "JSON-RPC transport closed")])(
  "%j is an answer like any other",
  async (refusal) => {
    const server = new FakeServer();
    const host = await open(server);
    server.answers.set("environment/info", () => refusal);
    const asked = host.request("environment/info", {});
    await expect(asked).rejects.toBeInstanceOf(RpcError);
    await expect(asked).rejects.toMatchObject({ rpcCode: refusal.code, message: refusal.message });
    expect(host.state).toBe("connected");
  },
);

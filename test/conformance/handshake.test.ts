import { expect } from "vitest";
import { expectError, start, verifies } from "./verifies.ts";

const UUID_V4 = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
const ONCE = "initialize may only be sent once per connection";

verifies("initialize:result", async ({ connect }) => {
  const connection = await connect();
  const result = await connection.request("initialize", { clientName: "conformance" });
  // A separate requirement covers the older dialect.
  const { protocolVersion: _, ...rest } = result;
  expect(Object.keys(rest).toSorted()).toEqual(["environmentInfo", "sessionId"]);
  expect(result.sessionId).toMatch(UUID_V4);
  expect(result.environmentInfo).toHaveProperty("shell");
});

verifies("initialize:client-name", async ({ connect }) => {
  const connection = await connect();
  await expectError(connection.request("initialize", {}), -32602, "missing field `clientName`");
  await expectError(connection.request("initialize", { clientName: 5 }), -32602, /expected a string/);
  await expectError(connection.request("initialize", { clientName: null }), -32602, /expected a string/);
  expect((await connection.request("initialize", { clientName: "" })).sessionId).toMatch(UUID_V4);
});

verifies("initialize:resume-type", async ({ connect }) => {
  const connection = await connect();
  for (const resumeSessionId of [5, true, {}]) {
    const params = { clientName: "conformance", resumeSessionId };
    await expectError(connection.request("initialize", params), -32602, /expected a string/);
  }
  const params = { clientName: "conformance", resumeSessionId: null };
  expect((await connection.request("initialize", params)).sessionId).toMatch(UUID_V4);
});

verifies("initialize:params-type", async ({ connect }) => {
  const connection = await connect();
  await expectError(connection.request("initialize", "x"), -32602, /expected struct InitializeParams$/);
  await expectError(connection.request("initialize", 5), -32602, /expected struct InitializeParams$/);
  await expectError(connection.request("initialize", []), -32602);
});

verifies("initialize:once", async ({ connect }) => {
  const connection = await connect();
  await connection.request("initialize", { clientName: "conformance" });
  await expectError(connection.request("initialize", { clientName: "conformance" }), -32600, ONCE);
  connection.notify("initialized");
  await expectError(connection.request("initialize", { clientName: "conformance" }), -32600, ONCE);
});

verifies("initialize:once-after-decoding", async ({ peer }) => {
  const connection = await peer();
  await expectError(connection.request("initialize", {}), -32602, "missing field `clientName`");
});

verifies("initialize:once-before-lookup", async ({ peer }) => {
  const connection = await peer();
  const params = { clientName: "conformance", resumeSessionId: "nope" };
  await expectError(connection.request("initialize", params), -32600, ONCE);
  expect(await connection.request("environment/status")).toEqual({ status: "ready" });
});

verifies("initialize:retry-after-bad-params", async ({ connect }) => {
  const connection = await connect();
  await expectError(connection.request("initialize", {}), -32602);
  await connection.handshake();
  expect(await connection.request("environment/status")).toEqual({ status: "ready" });
});

verifies("initialize:retry-after-unknown-session", async ({ connect }) => {
  const connection = await connect();
  const params = { clientName: "conformance", resumeSessionId: "nope" };
  await expectError(connection.request("initialize", params), -32600, "unknown session id nope");
  await connection.handshake();
  expect(await connection.request("environment/status")).toEqual({ status: "ready" });
});

verifies("initialize:failed-leaves-gate", async ({ connect }) => {
  const connection = await connect();
  const params = { clientName: "conformance", resumeSessionId: "nope" };
  await expectError(connection.request("initialize", params), -32600);
  await expectError(
    connection.request("environment/status"),
    -32600,
    "client must call initialize before using environment status methods",
  );
});

verifies("initialized:params-ignored", async ({ connect }) => {
  for (const params of [[1, "x"], { clientName: 5 }]) {
    const connection = await connect();
    await connection.request("initialize", { clientName: "conformance" });
    connection.notify("initialized", params);
    expect(await connection.request("environment/status")).toEqual({ status: "ready" });
  }
});

verifies("initialized:repeated", async ({ peer }) => {
  const connection = await peer();
  connection.notify("initialized");
  connection.notify("initialized");
  expect(await connection.request("environment/status")).toEqual({ status: "ready" });
});

verifies("gate:after-decoding", async ({ connect }) => {
  const connection = await connect();
  await expectError(connection.request("process/read", {}), -32602, "missing field `processId`");
  await expectError(
    connection.request("environment/status", { a: 1 }),
    -32602,
    "invalid type: map, expected unit",
  );
  await connection.request("initialize", { clientName: "conformance" });
  await expectError(connection.request("process/read", {}), -32602, "missing field `processId`");
});

verifies("gate:refusal-harmless", async ({ connect }) => {
  const connection = await connect();
  await expectError(connection.request("process/start", start("p", ["true"])), -32600);
  await connection.request("initialize", { clientName: "conformance" });
  await expectError(connection.request("process/start", start("p", ["true"])), -32600);
  connection.notify("initialized");
  expect((await connection.request("process/start", start("p", ["true"]))).processId).toBe("p");
});

const notImplemented = (method: string) => `exec-server stub does not implement \`${method}\` yet`;

verifies("method:unknown", async ({ peer }) => {
  const connection = await peer();
  for (const method of ["no/such", "", "command", "initialized", "process/output", "x\u0000`é"]) {
    await expectError(connection.request(method, {}), -32601, notImplemented(method));
  }
});

verifies("method:unknown-any-time", async ({ connect }) => {
  const connection = await connect();
  await expectError(connection.request("no/such"), -32601, notImplemented("no/such"));
  await connection.request("initialize", { clientName: "conformance" });
  await expectError(connection.request("no/such", 5), -32601, notImplemented("no/such"));
  connection.notify("initialized");
  await expectError(connection.request("no/such", [[]]), -32601, notImplemented("no/such"));
});

verifies("method:exact-name", async ({ peer }) => {
  const connection = await peer();
  for (const method of [
    "Process/start",
    "process/start ",
    "process/Start",
    "/process/start",
    "process.start",
  ]) {
    await expectError(connection.request(method, start("p", ["true"])), -32601, notImplemented(method));
  }
});

verifies("method:inherited-names", async ({ peer }) => {
  const connection = await peer();
  for (const method of ["constructor", "__proto__", "toString", "hasOwnProperty"]) {
    await expectError(connection.request(method, {}), -32601, notImplemented(method));
  }
});

verifies("params:missing-field", async ({ peer }) => {
  const connection = await peer();
  await expectError(connection.request("process/start", {}), -32602, "missing field `processId`");
  await expectError(connection.request("process/start", { processId: "p" }), -32602, "missing field `argv`");
  for (const field of ["processId", "argv", "cwd", "env", "tty"]) {
    const { [field]: _, ...rest } = start("p", ["true"]);
    await expectError(connection.request("process/start", rest), -32602, `missing field \`${field}\``);
  }
});

verifies("params:wrong-type", async ({ peer }) => {
  const connection = await peer();
  await expectError(connection.request("process/read", null), -32602, /^invalid type: null, expected /);
  await expectError(
    connection.request("process/read", { processId: 5 }),
    -32602,
    "invalid type: number, expected a string",
  );
  const wrong = { processId: null, argv: "x", cwd: 5, env: null, tty: 0, pipeStdin: "yes", arg0: 5 };
  for (const [field, value] of Object.entries(wrong)) {
    const params = start("p", ["true"], { [field]: value });
    await expectError(connection.request("process/start", params), -32602, /^invalid type: /);
  }
});

verifies("params:unknown-variant", async ({ peer, target }) => {
  const connection = await peer();
  await expectError(
    connection.request("process/signal", { processId: "p", signal: "vanish" }),
    -32602,
    target.kind === "ours"
      ? /^unknown variant `vanish`, expected one of `interrupt`, (`\w+`, )+`SIGCONT`$/
      : "unknown variant `vanish`, expected `interrupt`",
  );
});

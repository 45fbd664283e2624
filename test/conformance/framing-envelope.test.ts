import { expect } from "vitest";
import { expectDropped, expectMalformed } from "./malformed.ts";
import type { RawPeer } from "./raw-peer.ts";
import { expectError, start, verifies } from "./verifies.ts";

/** Sends a request with id 1 as text; the status must come back. */
async function expectStatus(peer: RawPeer, text: string): Promise<void> {
  const answer = peer.nextText();
  peer.sendText(text);
  expect(await answer, text).toBe('{"id":1,"result":{"status":"ready"}}');
}

const status = '"id":1,"method":"environment/status"';

verifies("envelope.response:order", async ({ peer }) => {
  const connection = await peer();
  const answer = connection.nextText();
  connection.sendText('{"params":null,"method":"environment/status","id":7}');
  expect(await answer).toBe('{"id":7,"result":{"status":"ready"}}');
});

verifies("envelope.error:order", async ({ peer }) => {
  const connection = await peer();
  const answer = connection.nextText();
  connection.sendText('{"id":7,"method":"no/such"}');
  expect(await answer).toBe(
    '{"error":{"code":-32601,"message":"exec-server stub does not implement `no/such` yet"},"id":7}',
  );
});

verifies("envelope:jsonrpc-ignored", async ({ peer }) => {
  const connection = await peer();
  await expectStatus(connection, `{"jsonrpc":"2.0",${status}}`);
  await expectStatus(connection, `{"jsonrpc":"1.0",${status}}`);
  await expectStatus(connection, `{${status},"jsonrpc":null}`);
});

verifies("envelope:unknown-members", async ({ peer }) => {
  const connection = await peer();
  await expectStatus(connection, `{"extra":{"deep":[1,{"x":null}]},${status},"Id":2,"METHOD":"x","":0}`);
});

verifies("envelope.request:method-decides", async ({ peer }) => {
  const connection = await peer();
  await expectStatus(connection, `{${status},"result":3}`);
  await expectStatus(connection, `{"error":{"code":1,"message":"x"},${status}}`);
  await expectStatus(connection, `{"result":null,${status},"error":3}`);
});

verifies("envelope.notification:no-answer", async ({ connect }) => {
  const connection = await connect();
  await connection.request("initialize", { clientName: "conformance" });
  const before = connection.rawMessages.length;
  connection.notify("initialized");
  connection.notify("initialized", {});
  await connection.request("environment/status");
  expect(connection.rawMessages.slice(before)).toHaveLength(1);
});

verifies("envelope.notification:null-id", async ({ peer, transport }) => {
  await expectMalformed(await peer(), transport, '{"id":null,"method":"initialized"}', /RequestId/);
});

verifies("envelope.response:result-decides", async ({ peer }) => {
  const connection = await peer();
  // Read as an error this would be malformed, and answered.
  await expectDropped(connection, () => connection.sendText('{"id":5,"result":1,"error":null}'));
});

verifies("envelope.response:needs-id", async ({ peer, transport }) => {
  await expectMalformed(await peer(), transport, '{"result":1}', "missing field `id`");
});

verifies("envelope.error:needs-error", async ({ peer, transport }) => {
  const connection = await peer();
  await expectMalformed(connection, transport, "{}", "missing field `error`");
  await expectMalformed(connection, transport, '{"id":81}', "missing field `error`");
  await expectMalformed(connection, transport, '{"id":81,"params":{}}', "missing field `error`");
});

verifies("envelope.error:incomplete", async ({ peer, transport }) => {
  const connection = await peer();
  await expectMalformed(connection, transport, '{"error":{"code":1,"message":"x"}}', "missing field `id`");
  await expectMalformed(connection, transport, '{"id":1,"error":{"message":"x"}}', "missing field `code`");
  await expectMalformed(connection, transport, '{"id":1,"error":{"code":1}}', "missing field `message`");
  await expectMalformed(connection, transport, '{"id":1,"error":null}', /null/);
});

verifies("envelope.method:not-a-string", async ({ peer, transport }) => {
  const connection = await peer();
  for (const method of ["5", "true", "{}", "[]"]) {
    await expectMalformed(connection, transport, `{"id":1,"method":${method}}`, /expected a string/);
  }
  await expectMalformed(
    connection,
    transport,
    '{"id":1,"method":null}',
    "invalid type: null, expected a string",
  );
  await expectMalformed(connection, transport, '{"method":5}', /expected a string/);
});

verifies("params:absent", async ({ peer }) => expectStatus(await peer(), `{${status}}`));

verifies("params:null", async ({ peer }) => expectStatus(await peer(), `{${status},"params":null}`));

verifies("params:empty-object", async ({ peer }) => expectStatus(await peer(), `{${status},"params":{}}`));

verifies("params:array", async ({ peer }) => {
  const connection = await peer();
  for (const method of ["environment/status", "environment/info"]) {
    await expectError(connection.request(method, []), -32602, "invalid type: sequence, expected unit");
    await expectError(connection.request(method, [1]), -32602, "invalid type: sequence, expected unit");
  }
});

verifies("params:object", async ({ peer }) => {
  const connection = await peer();
  for (const method of ["environment/status", "environment/info"]) {
    await expectError(connection.request(method, { a: 1 }), -32602, "invalid type: map, expected unit");
  }
});

verifies("params:scalar", async ({ peer }) => {
  const connection = await peer();
  await expectError(connection.request("environment/status", 0), -32602, /expected unit/);
  await expectError(connection.request("environment/status", false), -32602, /expected unit/);
  await expectError(connection.request("environment/status", "x"), -32602, /expected unit/);
});

verifies("params:absent-is-null", async ({ connect }) => {
  const connection = await connect();
  const message = "invalid type: null, expected struct InitializeParams";
  await expectError(connection.request("initialize"), -32602, message);
  await expectError(connection.request("initialize", null), -32602, message);
});

verifies("params:unknown-members", async ({ connect }) => {
  const connection = await connect();
  const result = await connection.request("initialize", {
    clientName: "conformance",
    protocolVersion: 7,
    extra: {},
  });
  expect(result.sessionId).toBeTypeOf("string");
  connection.notify("initialized");
  const params = start("p", ["true"], { extra: [1], ProcessId: 5, sessionId: "x" });
  expect((await connection.request("process/start", params)).processId).toBe("p");
});

verifies("trace:accepted", async ({ peer }) => {
  const connection = await peer();
  const traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
  await expectStatus(connection, `{${status},"trace":{"traceparent":"${traceparent}","tracestate":"a=b"}}`);
  await expectStatus(connection, `{${status},"trace":{"traceparent":"${traceparent}"}}`);
});

verifies("trace:unusable", async ({ peer }) => {
  const connection = await peer();
  await expectStatus(connection, `{${status},"trace":{}}`);
  await expectStatus(connection, `{${status},"trace":{"traceparent":"junk"}}`);
  await expectStatus(connection, `{${status},"trace":{"traceparent":null,"other":5}}`);
});

verifies("trace:null", async ({ peer }) => expectStatus(await peer(), `{${status},"trace":null}`));

verifies("trace:not-an-object", async ({ peer, transport }) => {
  const connection = await peer();
  const expected = 'invalid type: string "bad", expected struct W3cTraceContext';
  await expectMalformed(connection, transport, `{${status},"trace":"bad"}`, expected);
  await expectMalformed(connection, transport, `{${status},"trace":5}`, /W3cTraceContext/);
  await expectMalformed(connection, transport, `{${status},"trace":true}`, /W3cTraceContext/);
});

verifies("trace:member-type", async ({ peer, transport }) => {
  const connection = await peer();
  await expectMalformed(connection, transport, `{${status},"trace":{"traceparent":5}}`, /expected a string/);
  await expectMalformed(connection, transport, `{${status},"trace":{"tracestate":[]}}`, /expected a string/);
});

verifies("trace:never-sent", async ({ peer }) => {
  const connection = await peer();
  const params = JSON.stringify(start("p", ["echo", "hi"]));
  const trace = '{"traceparent":"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"}';
  connection.sendText(`{"id":"traced","method":"process/start","params":${params},"trace":${trace}}`);
  await connection.nextNotification("process/closed", "p");
  expect(await connection.next((message) => message.id === "traced")).not.toHaveProperty("error");
  expect(connection.notifications.length).toBeGreaterThanOrEqual(3);
  expect(connection.rawMessages.filter((text) => Object.hasOwn(JSON.parse(text), "trace"))).toEqual([]);
});

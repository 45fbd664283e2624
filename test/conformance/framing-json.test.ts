import { expect } from "vitest";
import { expectMalformed } from "./malformed.ts";
import type { RawPeer } from "./raw-peer.ts";
import { verifies } from "./verifies.ts";

const status = '"id":1,"method":"environment/status"';
const MAX_JSON_VALUES = 262_144;
const MAX_DEPTH = 127;

async function expectStatus(peer: RawPeer, text: string): Promise<void> {
  const answer = peer.nextText();
  peer.sendText(text);
  expect(await answer, text.slice(0, 200)).toBe('{"id":1,"result":{"status":"ready"}}');
}

/** A status request of this many JSON values: the object, its id, its method, an array and what the array holds. */
function requestOfValues(count: number): string {
  return `{${status},"x":[${"0,".repeat(count - 5)}0]}`;
}

/** A status request whose deepest array is at this depth, the object itself being at depth 1. */
function requestOfDepth(depth: number): string {
  return `{${status},"x":${"[".repeat(depth - 1)}${"]".repeat(depth - 1)}}`;
}

verifies("json:batch", async ({ peer, transport }) => {
  const connection = await peer();
  await expectMalformed(connection, transport, "[]", "expected a JSON-RPC object");
  await expectMalformed(connection, transport, `[{${status}}]`, "expected a JSON-RPC object");
});

verifies("json:not-an-object", async ({ peer, transport }) => {
  const connection = await peer();
  for (const text of ["5", '"x"', "null", "true", "-1.5e3"]) {
    await expectMalformed(connection, transport, text, "expected a JSON-RPC object");
  }
});

verifies("json:duplicate-key", async ({ peer, transport }) => {
  const connection = await peer();
  await expectMalformed(connection, transport, `{"id":1,${status}}`, /^duplicate JSON object key `id`/);
  await expectMalformed(
    connection,
    transport,
    `{${status},"method":"x"}`,
    /^duplicate JSON object key `method`/,
  );
  await expectMalformed(connection, transport, `{${status},"x":1,"x":1}`, /^duplicate JSON object key `x`/);
  await expectMalformed(connection, transport, `{${status},"":1,"":1}`, /^duplicate JSON object key ``/);
});

verifies("json:duplicate-key-nested", async ({ peer, transport }) => {
  const connection = await peer();
  await expectMalformed(
    connection,
    transport,
    `{${status},"params":{"a":1,"a":2}}`,
    /^duplicate JSON object key `a`/,
  );
  await expectMalformed(
    connection,
    transport,
    `{${status},"x":{"q":[{"b":1,"b":1}]}}`,
    /^duplicate JSON object key `b`/,
  );
  await expectMalformed(
    connection,
    transport,
    `{${status},"x":{"a":{"a":1},"b":2,"a":3}}`,
    /^duplicate JSON object key `a`/,
  );
});

verifies("json:duplicate-key-escaped", async ({ peer, transport }) => {
  const connection = await peer();
  await expectMalformed(connection, transport, `{"\\u0069d":2,${status}}`, /^duplicate JSON object key `id`/);
  await expectMalformed(
    connection,
    transport,
    `{${status},"params":{"a/b":1,"a\\/b":2}}`,
    /^duplicate JSON object key `a\/b`/,
  );
});

verifies("json:same-key-elsewhere", async ({ peer }) => {
  const connection = await peer();
  await expectStatus(
    connection,
    `{${status},"x":[{"id":1},{"id":2,"x":{"id":3}}],"y":{"id":1,"Id":2,"id ":3}}`,
  );
  // A brace or quote inside a string opens nothing.
  await expectStatus(connection, `{${status},"x":{"a":"\\"{\\"a\\":","b":"}{\\"a\\":1","c":"\\\\"}}`);
});

verifies("json:values-limit", async ({ peer }) =>
  expectStatus(await peer(), requestOfValues(MAX_JSON_VALUES)),
);

verifies("json:values-over-limit", async ({ peer, transport }) => {
  const connection = await peer();
  const reason = /^JSON-RPC message exceeds the limit of 262144 JSON values/;
  await expectMalformed(connection, transport, requestOfValues(MAX_JSON_VALUES + 1), reason);
  // Keys are not values; empty objects and arrays are.
  const objects = Array.from(
    { length: (MAX_JSON_VALUES - 4) / 2 },
    (_, index) => `{"k":${index % 2 ? "{}" : "[]"}}`,
  );
  await expectStatus(connection, `{${status},"all":[${objects.join(",")}]}`);
  await expectMalformed(
    connection,
    transport,
    `{${status},"all":[${objects.join(",")}],"one":"more"}`,
    reason,
  );
});

verifies("json:depth-limit", async ({ peer }) => expectStatus(await peer(), requestOfDepth(MAX_DEPTH)));

verifies("json:depth-over-limit", async ({ peer, transport }) => {
  const connection = await peer();
  await expectMalformed(connection, transport, requestOfDepth(MAX_DEPTH + 1));
  await expectMalformed(connection, transport, requestOfDepth(100_000));
});

verifies("json:whitespace", async ({ peer }) => {
  const connection = await peer();
  await expectStatus(connection, ` \t { "id" : 1 ,\t"method" :"environment/status" } \t `);
});

verifies("json:huge-number", async ({ peer }) => {
  await expectStatus(await peer(), `{${status},"x":[1e400,-1e400,1e-400,123456789012345678901234567890]}`);
});

verifies("malformed:keeps-connection", async ({ connect, transport }) => {
  const connection = await connect();
  const { sessionId } = await connection.handshake();
  for (let round = 0; round < 20; round++) await expectMalformed(connection, transport, "not json");
  expect(await connection.request("environment/status")).toEqual({ status: "ready" });
  expect(sessionId).toBeTypeOf("string");
});

verifies("malformed:answer", async ({ peer }) => {
  const connection = await peer();
  const answer = connection.nextText();
  connection.sendText("not json");
  expect(await answer).toMatch(
    /^\{"error":\{"code":-32600,"message":"failed to parse (?:[^"\\]|\\.)+"\},"id":-1\}$/,
  );
});

verifies("malformed:prefix-ws", async ({ peer, transport }) => {
  await expectMalformed(await peer(), transport, "not json");
});

verifies("malformed:prefix-stdio", async ({ peer, transport }) => {
  await expectMalformed(await peer(), transport, "not json");
});

verifies("malformed:before-handshake", async ({ connect, transport }) => {
  const connection = await connect();
  await expectMalformed(connection, transport, "{");
  await connection.handshake();
  expect(await connection.request("environment/status")).toEqual({ status: "ready" });
});

verifies("malformed:in-turn", async ({ peer }) => {
  const connection = await peer();
  connection.sendText('{"id":1,"method":"environment/status"}');
  connection.sendText("junk");
  connection.sendText('{"id":2,"method":"environment/status"}');
  const ids = [await connection.next(), await connection.next(), await connection.next()].map(({ id }) => id);
  expect(ids.toSorted((a, b) => Number(a) - Number(b))).toEqual([-1, 1, 2]);
});

verifies("malformed:syntax", async ({ peer, transport }) => {
  const connection = await peer();
  const broken = [
    "not json",
    "{",
    `{${status}`,
    `{${status},}`,
    "{'id':1}",
    "{id:1}",
    '{"id":01,"method":"environment/status"}',
    '{"id":+1,"method":"environment/status"}',
    '{"id":1.,"method":"environment/status"}',
    '{"id":NaN,"method":"environment/status"}',
    '{"id":1 "method":"environment/status"}',
    '{"id":1,"method":"a\tb"}',
    '{"id":1,"method":"a\\x"}',
    '{"id":1,"method":"\\u12"}',
    `{${status},"x":[1,]}`,
    `{${status}} // comment`,
    `/* */ {${status}}`,
    "]",
  ];
  for (const text of broken) await expectMalformed(connection, transport, text);
});

verifies("malformed:trailing-text", async ({ peer, transport }) => {
  const connection = await peer();
  await expectMalformed(connection, transport, `{${status}} x`);
  await expectMalformed(connection, transport, `{${status}}{${status}}`);
  await expectMalformed(connection, transport, `{${status}}}`);
});

verifies("malformed:lone-surrogate", async ({ peer, transport }) => {
  const connection = await peer();
  await expectMalformed(connection, transport, '{"id":"\\ud800","method":"environment/status"}');
  await expectMalformed(connection, transport, `{${status},"x":"\\udc00"}`);
  await expectMalformed(connection, transport, `{${status},"x":"\\ud800\\ud800"}`);
});

verifies("malformed:byte-order-mark", async ({ peer, transport }) => {
  await expectMalformed(await peer(), transport, `\uFEFF{${status}}`);
});

verifies("malformed:empty-frame", async ({ peer, transport }) => {
  const connection = await peer();
  await expectMalformed(connection, transport, "");
  await expectMalformed(connection, transport, " \t\n");
});

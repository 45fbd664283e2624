import { expect } from "vitest";
import { expectMalformed } from "./malformed.ts";
import type { RawPeer } from "./raw-peer.ts";
import { verifies } from "./verifies.ts";

/** Sends a status request with the id spelled as given; the answer must spell it as expected. */
async function expectEcho(peer: RawPeer, sent: string, expected = sent): Promise<void> {
  const answer = peer.nextText();
  peer.sendText(`{"id":${sent},"method":"environment/status"}`);
  expect(await answer).toBe(`{"id":${expected},"result":{"status":"ready"}}`);
}

const withId = (id: string) => `{"id":${id},"method":"environment/status"}`;

verifies("id:zero", async ({ peer }) => expectEcho(await peer(), "0"));

verifies("id:empty-string", async ({ peer }) => expectEcho(await peer(), '""'));

verifies("id:text", async ({ peer }) => {
  const connection = await peer();
  // Escapes may be spelled differently: the value counts.
  for (const id of [
    '"a 😀 é \\n \\" \\\\"',
    '"\\u0061\\ud83d\\ude00\\u0000"',
    '"9007199254740993"',
    `"${"x".repeat(5000)}"`,
  ]) {
    const answer = connection.next();
    connection.sendText(withId(id));
    expect(await answer).toEqual({ id: JSON.parse(id), result: { status: "ready" } });
  }
});

verifies("id:negative", async ({ peer }) => {
  const connection = await peer();
  await expectEcho(connection, "-7");
  // The id of answers to malformed messages is not reserved.
  await expectEcho(connection, "-1");
});

verifies("id:above-2-53", async ({ peer }) => {
  const connection = await peer();
  await expectEcho(connection, "9007199254740993");
  await expectEcho(connection, "-9007199254740993");
  await expectEcho(connection, "1234567890123456789");
});

verifies("id:max-i64", async ({ peer }) => expectEcho(await peer(), "9223372036854775807"));

verifies("id:min-i64", async ({ peer }) => expectEcho(await peer(), "-9223372036854775808"));

verifies("id:above-i64", async ({ peer, transport }) => {
  const connection = await peer();
  await expectMalformed(connection, transport, withId("9223372036854775808"), /RequestId/);
  await expectMalformed(connection, transport, withId("99999999999999999999999999"));
});

verifies("id:below-i64", async ({ peer, transport }) => {
  await expectMalformed(await peer(), transport, withId("-9223372036854775809"));
});

verifies("id:negative-zero", async ({ peer }) => expectEcho(await peer(), "-0", "0"));

verifies("id:float-spelling", async ({ peer, transport }) => {
  const connection = await peer();
  for (const id of ["1.0", "1e2", "1E2", "-0.0", "9007199254740993.0"]) {
    await expectMalformed(connection, transport, withId(id), /RequestId/);
  }
});

verifies("id:fraction", async ({ peer, transport }) => {
  await expectMalformed(await peer(), transport, withId("1.5"), /RequestId/);
});

verifies("id:null", async ({ peer, transport }) => {
  await expectMalformed(await peer(), transport, withId("null"), /RequestId/);
});

verifies("id:wrong-type", async ({ peer, transport }) => {
  const connection = await peer();
  for (const id of ["true", "false", "{}", "[]", "[1]", '{"id":1}']) {
    await expectMalformed(connection, transport, withId(id), /RequestId/);
  }
});

verifies("id:type-kept", async ({ peer }) => {
  const connection = await peer();
  await expectEcho(connection, "1");
  await expectEcho(connection, '"1"');
});

verifies("id:reused", async ({ peer }) => {
  const connection = await peer();
  await expectEcho(connection, "5");
  await expectEcho(connection, "5");
  const answers = [connection.nextText(), connection.nextText()];
  connection.sendText(withId("6"));
  connection.sendText(withId("6"));
  const expected = '{"id":6,"result":{"status":"ready"}}';
  expect(await Promise.all(answers)).toEqual([expected, expected]);
});

verifies("id:in-errors", async ({ peer }) => {
  const connection = await peer();
  for (const id of ["9223372036854775807", "9007199254740993", '""', "0", '"9"']) {
    const answer = connection.nextText();
    connection.sendText(`{"id":${id},"method":"no/such"}`);
    expect(await answer).toMatch(new RegExp(`,"id":${id}}$`));
  }
});

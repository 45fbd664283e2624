import { expect } from "vitest";
import { expectClosed, expectDropped } from "./malformed.ts";
import { verifies } from "./verifies.ts";

verifies("close:unknown-notification", async ({ peer }) => {
  const connection = await peer();
  await expectDropped(connection, () => connection.notify("foo", {}));
});

verifies("close:unknown-notification-early", async ({ connect }) => {
  const connection = await connect();
  await expectDropped(connection, () => connection.notify("foo"));
});

verifies("close:request-as-notification", async ({ peer }) => {
  const connection = await peer();
  await expectDropped(connection, () => connection.notify("environment/status"));
});

verifies("close:initialized-first", async ({ connect }) => {
  const connection = await connect();
  await expectDropped(connection, () => connection.notify("initialized"));
});

verifies("close:unmatched-response", async ({ peer, connect }) => {
  const connection = await peer();
  await expectDropped(connection, () => connection.sendText('{"id":5,"result":{}}'));
  const early = await connect();
  await expectDropped(early, () => early.sendText('{"id":"5","result":null}'));
});

verifies("close:unmatched-error", async ({ peer }) => {
  const connection = await peer();
  await expectDropped(connection, () =>
    connection.sendText('{"id":5,"error":{"code":1,"message":"x","data":null}}'),
  );
});

verifies("close:others-unharmed", async ({ peer }) => {
  const bystander = await peer();
  const culprit = await peer();
  await expectDropped(culprit, () => culprit.notify("foo"));
  expect(await bystander.request("environment/status")).toEqual({ status: "ready" });
});

verifies("close:no-close-frame", async ({ peer }) => {
  const connection = await peer();
  const code = new Promise<number>((resolve) => connection.webSocket?.once("close", resolve));
  connection.notify("foo");
  expect(await code).toBe(1006);
});

verifies("close:client-close", async ({ peer }) => {
  const connection = await peer();
  connection.close();
  await expectClosed(connection);
});

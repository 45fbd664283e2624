import { expect, test } from "vitest";
import { ConnectionError, ProtocolError, RpcError } from "../../base/errors.ts";
import { closedHere, unrecovered, unresumable } from "./session-end.ts";

test.each([
  ["a server that broke the protocol", new ProtocolError("nonsense"), "PROTOCOL_ERROR"],
  ["a server that refuses to resume", new RpcError(-32600, "unknown session"), "SESSION_LOST"],
  ["a server that refuses the token", new ConnectionError("no", { status: 401 }), "UNAUTHORIZED"],
  ["a server that is away", new ConnectionError("refused"), "CONNECTION_CLOSED"],
])("a session that ends because of %s says so, with both reasons", (_, error, code) => {
  expect(unresumable("cut", error)).toMatchObject({
    code,
    cause: error,
    message: `cut; failed to resume exec-server session: ${error.message}`,
  });
});

test.each([
  ["broke the protocol", new ProtocolError("nonsense"), "PROTOCOL_ERROR"],
  ["does not know it", new RpcError(-32004, "unknown process"), "CONNECTION_CLOSED"],
])("a process of which the server %s is lost, and named", (_, error, code) => {
  expect(unrecovered("p", error)).toMatchObject({
    code,
    cause: error,
    message: `failed to recover process p: ${error.message}`,
  });
});

test("a session that was closed here is closed", () => {
  expect(closedHere()).toMatchObject({ code: "CONNECTION_CLOSED" });
});

import { expect, test } from "vitest";
import { CapabilityError, type ErrorCode, RpcError } from "../base/errors.ts";
import { fromWire, toWire } from "./error-wire.ts";

test("an error of the protocol is sent as it is, with its data if it has any", () => {
  expect(toWire(new RpcError(-32000, "no"))).toEqual({ code: -32000, message: "no" });
  expect(toWire(new RpcError(-32000, "no", { data: { why: 1 } }))).toEqual({
    code: -32000,
    message: "no",
    data: { why: 1 },
  });
});

test.each([
  ["NOT_FOUND", -32004],
  ["PERMISSION_DENIED", -32600],
  ["INVALID_INPUT", -32600],
  ["OS_ERROR", -32603],
] as const)("the machine's error %s has the number %i, and says what it is", (code, number) => {
  expect(toWire(new CapabilityError(code, "no"))).toEqual({ code: number, message: "no", data: { code } });
});

test("the system's own name of an error, and why a program did not start, are reported", () => {
  const error = new CapabilityError("SPAWN_FAILED", "no", {
    errno: "EACCES",
    reason: "notExecutable" as never,
  });
  expect(toWire(error)).toMatchObject({
    data: { code: "SPAWN_FAILED", errno: "EACCES", reason: "notExecutable" },
  });
});

test("nothing of an internal fault is reported", () => {
  expect(toWire(new TypeError("secret"))).toBeUndefined();
});

test.each<[number, unknown, ErrorCode]>([
  [-32603, { code: "PERMISSION_DENIED" }, "PERMISSION_DENIED"],
  [-32004, { code: "PERMISSION_DENIED" }, "PERMISSION_DENIED"],
  [-32004, undefined, "NOT_FOUND"],
  [-32601, undefined, "UNSUPPORTED"],
  [-32602, undefined, "INVALID_INPUT"],
  [-32603, undefined, "RPC_ERROR"],
  [-32600, null, "RPC_ERROR"],
])("the error %i with the data %j is %s", (code, data, expected) => {
  const error = fromWire({ code, message: "no", data });
  expect(error).toBeInstanceOf(RpcError);
  expect(error).toMatchObject({
    rpcCode: code,
    data,
    code: expected,
    message: "no",
  });
});

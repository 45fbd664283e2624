import { expect, test } from "vitest";
import { RpcError } from "../../base/errors.ts";
import { errnoOf } from "./errno.ts";

test.each([
  [{ errno: "EACCES" }, "no (os error 2)", "EACCES"],
  [undefined, "no such file (os error 2)", "ENOENT"],
  [null, "(os error 40)", "ELOOP"],
  [{ errno: 13 }, "denied (os error 13)", "EACCES"],
  [undefined, "denied (os error 13), really", undefined],
  [undefined, "odd (os error 9999)", undefined],
  [undefined, "no", undefined],
])("an error with the data %j and the message %j is %s", (data, message, expected) => {
  expect(errnoOf(new RpcError(-32603, message, { data }))).toBe(expected);
});

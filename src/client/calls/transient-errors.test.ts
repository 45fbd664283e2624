import { expect, test } from "vitest";
import { ConnectionError, ProtocolError, RpcError } from "../../base/errors.ts";
import { isTransient } from "./transient-errors.ts";

test.each([
  [new ConnectionError("refused"), true],
  [new ConnectionError("busy", { status: 503 }), true],
  [new ConnectionError("broken", { status: 500 }), true],
  [new ConnectionError("slow", { status: 408 }), true],
  [new ConnectionError("too many", { status: 429 }), true],
  [new ConnectionError("no", { status: 499 }), false],
  [new ConnectionError("who?", { status: 401 }), false],
  [new ConnectionError("not here", { status: 404 }), false],
  [new RpcError(-32010, "attached"), true],
  [new RpcError(-32000, "no"), false],
  [new RpcError(-32600, "no"), false],
  [new DOMException("late", "TimeoutError"), true],
  [new DOMException("enough", "AbortError"), false],
  [new ProtocolError("nonsense"), false],
  [undefined, false],
])("%s is transient: %s", (error, expected) => {
  expect(isTransient(error)).toBe(expected);
});

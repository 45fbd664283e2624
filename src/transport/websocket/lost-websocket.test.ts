import { expect, it } from "vitest";
import { describeEnd, describeFault } from "./lost-websocket.ts";

const PEER = "ws://127.0.0.1:7070";

it.each([
  [1000, "", undefined],
  [1000, "bye", undefined],
  [1005, "", undefined],
  [
    1006,
    "",
    `failed to read websocket JSON-RPC message from ${PEER}: the connection ended without a closing handshake`,
  ],
  [1011, "", "the server closed the connection with code 1011"],
  [4010, "taken", "the server closed the connection with code 4010: taken"],
])("a WebSocket that ends with code %i and reason %j", (code, reason, described) => {
  expect(describeEnd(PEER, code, reason)).toBe(described);
});

it.each([
  ["write", "failed to write websocket JSON-RPC message to"],
  ["read", "failed to read websocket JSON-RPC message from"],
  [undefined, "failed to read websocket JSON-RPC message from"],
])("a fault of the system call %j", (syscall, described) => {
  const error = Object.assign(new Error("EPIPE"), syscall === undefined ? {} : { syscall });
  expect(describeFault(PEER, error)).toBe(`${described} ${PEER}: EPIPE`);
});

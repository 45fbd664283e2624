import { AuthorizationError, errors } from "@nats-io/transport-node";
import { expect, test } from "vitest";
import { ConnectionError } from "../base/errors.ts";
import { isAway, openFailure } from "./open-failure.ts";

const system = (code: string): Error => Object.assign(new Error(`failed: ${code}`), { code });
const wrapped = (cause: Error): Error => new Error("the library failed", { cause });

test("a refused login is no matter of a token", () => {
  const failure = openFailure(new AuthorizationError("Authorization Violation"));
  expect(failure).toBeInstanceOf(ConnectionError);
  expect(failure).toMatchObject({
    message: "failed to connect to NATS: it refused the login (Authorization Violation)",
    status: 401,
    code: "CONNECTION_CLOSED",
  });
  expect(isAway(failure)).toBe(false);
});

test.each([
  ["ECONNREFUSED", "ECONNREFUSED", true],
  ["ENOTFOUND", "ENOTFOUND", true],
  ["EACCES", undefined, false],
])("%s has the system's name %s, and means that NATS is away: %s", (code, errno, away) => {
  for (const cause of [system(code), wrapped(system(code))]) {
    const failure = openFailure(cause);
    expect(failure.errno).toBe(errno);
    expect(isAway(failure)).toBe(away);
  }
});

test.each([
  ["server does not support 'tls'", "the server does not speak TLS"],
  ["unexpected response from server", "the server there is not a NATS server"],
  ["undefined error", "the server closed the connection without a reason"],
  ["something else", "failed to connect to NATS: something else"],
])("%j is told as %j", (said, message) => {
  expect(openFailure(new Error(said)).message).toContain(message);
});

test.each([
  [new errors.TimeoutError(), true],
  [new Error("undefined error"), true],
  [new Error("something else"), false],
])("after %s, NATS is away: %s", (cause, expected) => {
  expect(isAway(openFailure(cause))).toBe(expected);
});

test("a server that does not accept the login in time may want a certificate", () => {
  expect(openFailure(new errors.TimeoutError()).message).toContain("check the address, and `cert` and `key`");
});

test.each([undefined, new Error("undefined error"), new ConnectionError("no cause")])(
  "%s says nothing about NATS",
  (error) => {
    expect(isAway(error)).toBe(false);
  },
);

test("an unknown certificate is reported with what to do", () => {
  expect(openFailure(wrapped(system("SELF_SIGNED_CERT_IN_CHAIN"))).message).toContain("`ca`");
});

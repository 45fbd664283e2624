import { expect, it } from "vitest";
import { type MethodName, methods } from "../protocol/index.ts";
import { describeIssue } from "./describe-issue.ts";

function fault(method: MethodName, params: unknown): string {
  const { error } = methods[method].params.safeParse(params);
  if (error === undefined) throw new Error("the parameters are right");
  return describeIssue(error, params, method);
}

it.each<[MethodName, unknown, string]>([
  ["initialize", null, "invalid type: null, expected struct InitializeParams"],
  ["initialize", {}, "missing field `clientName`"],
  [
    "http/request",
    { method: "GET", url: "http://a", requestId: "r", redirectPolicy: "ask" },
    "unknown variant `ask`, expected `follow` or `stop`",
  ],
  [
    "http/request",
    { method: "GET", url: "http://a", requestId: "r", redirectPolicy: 1 },
    "invalid type: number, expected a variant",
  ],
  ["process/terminate", { processId: 1 }, "invalid type: number, expected a string"],
  ["process/read", { processId: "p", afterSeq: -1 }, "invalid number"],
  ["environment/status", [], "invalid type: sequence, expected unit"],
  ["environment/status", { a: 1 }, "invalid type: map, expected unit"],
])("%s with %j: %s", (method, params, message) => {
  expect(fault(method, params)).toBe(message);
});

it("a long value is not repeated in full", () => {
  expect(
    fault("http/request", { method: "GET", url: "http://a", requestId: "r", redirectPolicy: "x".repeat(500) })
      .length,
  ).toBeLessThan(150);
});

import { expect, test } from "vitest";
import { isPrompt, isSandboxed, lostAnswer } from "./method-facts.ts";

test.each([
  ["fs/readFile", {}, "repeat"],
  ["fs/rename", {}, "unknown"],
  ["fs/openPart", {}, "opened"],
  ["fs/close", {}, "ended"],
  ["fs/remove", { force: true }, "repeat"],
  ["fs/remove", { force: false }, "unknown"],
  ["process/start", { idempotencyKey: "k" }, "repeat"],
  ["process/start", { idempotencyKey: null }, "unknown"],
  ["process/attach", { processId: "p" }, "opened"],
  ["process/attach", undefined, "opened"],
  ["of/another/version", {}, "unknown"],
  ["toString", {}, "unknown"],
])("the lost answer to %s with %j means %s", (method, params, expected) => {
  expect(lostAnswer(method, params)).toBe(expected);
});

test.each([
  ["process/start", {}, true],
  ["process/wait", {}, false],
  ["process/read", { waitMs: 0 }, true],
  ["process/read", { waitMs: null }, true],
  ["process/read", { waitMs: 10 }, false],
  ["of/another/version", {}, false],
])("%s with %j is answered promptly: %s", (method, params, expected) => {
  expect(isPrompt(method, params)).toBe(expected);
});

test("requests about paths carry a sandbox, those about handles do not", () => {
  expect(isSandboxed("fs/readFile")).toBe(true);
  expect(isSandboxed("fs/readBlock")).toBe(false);
  expect(isSandboxed("process/start")).toBe(false);
});

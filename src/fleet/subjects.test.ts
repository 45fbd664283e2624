import { expect, test } from "vitest";
import { checkLabels } from "./labels.ts";
import {
  checkExecutorId,
  isClientInbox,
  isConnectionOfExecutor,
  isExecutorInbox,
  runOf,
} from "./subjects.ts";

const LONGEST = 200;
const padded = (beginning: string, length: number): string => beginning.padEnd(length, "x");

test.each([
  ["_INBOX.me", true],
  ["_INBOX.me.box", true],
  ["_INBOX.", false],
  ["_INBOX", false],
  ["_INBOXES.me", false],
  ["_INBOX.me.*", false],
  ["_INBOX.>", false],
  ["_INBOX.me\r\nPUB x 0", false],
  ["exec._INBOX.me", false],
  [padded("_INBOX.me.", LONGEST), true],
  [padded("_INBOX.me.", LONGEST + 1), false],
])("%j is where a client receives: %s", (subject, expected) => {
  expect(isClientInbox(subject)).toBe(expected);
});

test.each([
  ["exec.a.run.box", true],
  ["exec.a.dial", true],
  ["exec.ab.run.box", false],
  ["exec.a.run.*", false],
  ["exec.a.", false],
  ["other.exec.a.run", false],
])("%j is where the executor a receives: %s", (subject, expected) => {
  expect(isExecutorInbox(subject, "a")).toBe(expected);
});

test.each([
  ["exec.a.run.box", true],
  ["exec.a.run", false],
  ["exec.a.run.box.more", false],
  ["fleet.a.run.box", false],
  ["exec.a.run.*", false],
])("%j is a connection of an executor: %s", (subject, expected) => {
  expect(isConnectionOfExecutor(subject)).toBe(expected);
});

test("a connection leads to a run", () => {
  expect(runOf("exec.a.run.box")).toBe("run");
  expect(runOf("exec.a")).toBeUndefined();
});

test("the name of an executor is one token, and one that cannot be is reported", () => {
  expect(checkExecutorId("web-1")).toBe("web-1");
  expect(() => checkExecutorId("a.b")).toThrow('invalid executor name "a.b"');
});

test("labels are taken as they are, up to 64 of them", () => {
  const labels = Object.fromEntries(Array.from({ length: 64 }, (_, at) => [`k${at}`, "v"]));
  expect(checkLabels(labels)).toBe(labels);
  expect(() => checkLabels({ ...labels, more: "v" })).toThrow("an executor has at most 64 labels, not 65");
});

test.each([
  [{ "a=b": "v" }, 'invalid label name "a=b"'],
  [{ a: "" }, 'invalid value "" for the label a'],
  [{ ok: "v", b: "x y" }, 'invalid value "x y" for the label b'],
])("the labels %j are refused: %s", (labels, why) => {
  expect(() => checkLabels(labels as Record<string, string>)).toThrow(why);
});

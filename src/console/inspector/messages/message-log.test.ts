import { beforeEach, expect, it, vi } from "vitest";
import { filterMessages, indexOfMessage } from "./filter-messages.ts";
import { hideSecrets } from "./hide-secrets.ts";
import { MessageLog } from "./message-log.ts";
import { readEnvelope } from "./read-envelope.ts";

const LONG = "x".repeat(20_000);

beforeEach(() => {
  vi.stubGlobal("requestAnimationFrame", (tell: () => void) => setTimeout(tell));
  return () => vi.unstubAllGlobals();
});

function logOf(bounds?: { messages: number; characters: number }) {
  const log = new MessageLog(bounds);
  let nowMs = 0;
  return {
    log,
    pass: (direction: "sent" | "received", message: unknown) => {
      nowMs += 5;
      const text = typeof message === "string" ? message : JSON.stringify(message);
      log.add({ direction, text, atMs: 1000 + nowMs }, nowMs);
    },
  };
}

it.each([
  [
    { id: 1, method: "a/b", params: {} },
    { kind: "request", method: "a/b", id: "1" },
  ],
  [
    { id: "x-y", method: "a", params: { big: LONG } },
    { kind: "request", method: "a", id: '"x-y"' },
  ],
  [
    { method: "a", params: { id: 3, big: LONG } },
    { kind: "notification", method: "a" },
  ],
  [
    { id: 7, result: { method: "no", big: LONG } },
    { kind: "answer", id: "7" },
  ],
  [
    { error: { code: -1, message: LONG }, id: 7 },
    { kind: "error", id: "7" },
  ],
  [
    { id: 7, error: { code: -1, message: "short" } },
    { kind: "error", id: "7" },
  ],
  [
    { jsonrpc: "2.0", id: -4, result: [LONG] },
    { kind: "answer", id: "-4" },
  ],
  [[1, 2], { kind: "other" }],
  [null, { kind: "other" }],
])("the envelope of %.60j is read, however long it is", (message, envelope) => {
  expect(readEnvelope(JSON.stringify(message))).toEqual(envelope);
});

it("text that is no message is one of its own kind", () => {
  expect(readEnvelope("{")).toEqual({ kind: "other" });
  expect(readEnvelope("x".repeat(100_000))).toEqual({ kind: "other" });
});

it("an answer is paired with its request, and has its method and how long it took", () => {
  const { log, pass } = logOf();
  pass("sent", { id: 1, method: "one", params: null });
  pass("sent", { id: 2, method: "two", params: null });
  pass("received", { id: 1, method: "question", params: null });
  pass("received", { error: { code: 1, message: "no" }, id: 2 });
  pass("received", { id: 1, result: {} });
  pass("sent", { id: 1, result: "to the question" });
  expect(log.messages.map(({ method, tookMs, peer }) => [method, tookMs, peer?.number])).toEqual([
    ["one", 20, 5],
    ["two", 10, 4],
    ["question", 15, 6],
    ["two", 10, 2],
    ["one", 20, 1],
    ["question", 15, 3],
  ]);
});

it("only so many messages and characters are kept, and nothing of those that are gone", () => {
  const { log, pass } = logOf({ messages: 3, characters: 120 });
  for (let id = 0; id < 10; id++) pass("sent", { id, method: "m", params: null });
  expect(log.messages.map(({ number }) => number)).toEqual([8, 9, 10]);
  pass("received", { id: 0, result: {} });
  expect(log.messages.at(-1)).toMatchObject({ kind: "answer", id: "0" });
  expect(log.messages.at(-1)?.peer).toBeUndefined();
  pass("sent", { id: 20, method: "m", params: "y".repeat(70) });
  expect(log.messages.length).toBeLessThan(3);
});

it("output is kept short, requests as they are", () => {
  const { log, pass } = logOf();
  pass("received", { method: "process/output", params: { chunk: "A".repeat(87_000) } });
  pass("sent", { id: 1, method: "fs/writeFile", params: { dataBase64: "A".repeat(50_000) } });
  const [output, request] = log.messages;
  expect([output?.isCut, output?.text.length]).toEqual([true, 2048]);
  expect(output?.size).toBeGreaterThan(87_000);
  expect(request?.isCut).toBe(false);
});

it("many messages are one piece of news", async () => {
  const { log, pass } = logOf();
  for (let id = 0; id < 100; id++) pass("sent", { id, method: "m", params: null });
  expect(log.news.value).toBe(0);
  await expect.poll(() => log.news.value).toBe(1);
});

it("ids of sessions and tokens of links are hidden, also when the text is cut within them", () => {
  const { log, pass } = logOf();
  pass("sent", { id: 1, method: "initialize", params: { clientName: "c", resumeSessionId: 'secret-"1' } });
  pass("received", { id: 1, result: { sessionId: "secret-2" } });
  pass("sent", { id: 2, method: "console/link", params: null });
  pass("received", { id: 2, result: { token: "secret-3" } });
  pass("sent", { id: 3, method: "process/attach", params: { sessionId: "secret-4" } });
  pass("received", {
    method: "x",
    params: { pad: "p".repeat(1990), sessionId: `secret-5${"s".repeat(200)}` },
  });
  expect(JSON.stringify(log.messages.map(({ text }) => text))).not.toContain("secret");
  expect(JSON.parse(log.messages[0]!.text)).toMatchObject({
    params: { clientName: "c", resumeSessionId: "(hidden)" },
  });
  expect(hideSecrets('{"sessionId":"p1"}', "command/exec/write")).toBe('{"sessionId":"p1"}');
});

it("messages are filtered by words and direction, and found by their number", () => {
  const { log, pass } = logOf({ messages: 4, characters: 1000 });
  for (const method of ["fs/open", "fs/close", "process/start", "process/read", "fs/readFile"])
    pass(method === "fs/close" ? "received" : "sent", { id: method, method, params: null });
  const numbersFor = (text: string, direction?: "sent" | "received") =>
    filterMessages(log.messages, { text, direction }).map(({ number }) => number);
  expect(numbersFor("FS")).toEqual([2, 5]);
  expect(numbersFor("fs read")).toEqual([5]);
  expect(numbersFor("", "received")).toEqual([2]);
  expect(indexOfMessage(log.messages, 1)).toBe(0);
  expect(indexOfMessage(log.messages, 4)).toBe(2);
  expect(indexOfMessage(log.messages, 99)).toBe(4);
});

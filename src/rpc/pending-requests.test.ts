import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { ConnectionError, ProtocolError, RpcError } from "../base/errors.ts";
import { PendingRequests } from "./pending-requests.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const UNREAD = { code: -32600, message: "no JSON" };
const response = (id: string, result: unknown = null) => ({ kind: "response", id, result }) as const;

test("a request is pending until it is answered, and an answer counts once", async () => {
  const pending = new PendingRequests();
  const answer = pending.add("1", "fs/copy", 10);
  expect(pending.methodOf("1")).toBe("fs/copy");
  expect(pending.some((method) => method === "fs/copy")).toBe(true);
  expect(pending.some((method) => method === "fs/hash")).toBe(false);
  expect(pending.settle(response("1", 7))).toBe(true);
  expect(await answer).toBe(7);
  expect(pending.methodOf("1")).toBeUndefined();
  expect(pending.some(() => true)).toBe(false);
  expect(pending.settle(response("1"))).toBe(false);
});

test("an error of the server is the error of its request", async () => {
  const pending = new PendingRequests();
  const answer = pending.add("1", "m", 10);
  pending.settle({ kind: "error", id: "1", error: { code: -32004, message: "gone" } });
  await expect(answer).rejects.toMatchObject({ rpcCode: -32004, message: "gone", code: "NOT_FOUND" });
});

test("the late answer to a request that was given up is expected, once", () => {
  const pending = new PendingRequests();
  void pending.add("1", "m", 10);
  pending.giveUp("1");
  expect(pending.methodOf("1")).toBeUndefined();
  expect(pending.settle(response("1"))).toBe(true);
  expect(pending.settle(response("1"))).toBe(false);
});

test("giving up a request that was answered changes nothing", () => {
  const pending = new PendingRequests();
  void pending.add("1", "m", 10);
  pending.settle(response("1"));
  pending.giveUp("1");
  expect(pending.settle(response("1"))).toBe(false);
});

test("late answers to the last 1024 requests that were given up are expected", () => {
  const pending = new PendingRequests();
  for (let id = 1; id <= 1_026; id += 1) {
    void pending.add(`${id}`, "m", 10);
    pending.giveUp(`${id}`);
  }
  expect(["1", "2", "3", "1026"].map((id) => pending.settle(response(id)))).toEqual([
    false,
    false,
    true,
    true,
  ]);
});

test("an unread request fails at once if it is the only one", async () => {
  const pending = new PendingRequests();
  const answer = pending.add("1", "m", 10);
  expect(pending.unread(UNREAD)).toBe(true);
  await expect(answer).rejects.toThrow(ProtocolError);
  await expect(answer).rejects.toThrow("the server could not read a request: no JSON");
  expect(pending.settle(response("1"))).toBe(true);
  expect(pending.unread(UNREAD)).toBe(false);
});

test("of several requests, the unread one is the one that is left when the others are answered", async () => {
  const pending = new PendingRequests();
  const [first, second, third] = ["1", "2", "3"].map((id) => settled(pending.add(id, "m", 10)));
  pending.unread(UNREAD);
  pending.settle(response("1"));
  pending.settle(response("3"));
  await vi.advanceTimersByTimeAsync(0);
  expect([first!.state, second!.state, third!.state]).toEqual(["resolved", "rejected", "resolved"]);
});

test("as many requests fail as were unread, and none before that is certain", async () => {
  const pending = new PendingRequests();
  const requests = ["1", "2", "3"].map((id) => settled(pending.add(id, "m", 10)));
  pending.unread(UNREAD);
  await vi.advanceTimersByTimeAsync(0);
  expect(requests.map(({ state }) => state)).toEqual(["pending", "pending", "pending"]);
  pending.unread(UNREAD);
  await vi.advanceTimersByTimeAsync(0);
  expect(requests.map(({ state }) => state)).toEqual(["pending", "pending", "pending"]);
  pending.settle(response("2"));
  await vi.advanceTimersByTimeAsync(0);
  expect(requests.map(({ state }) => state)).toEqual(["rejected", "resolved", "rejected"]);
});

test("requests that may be the unread one fail after a second, later ones do not", async () => {
  const pending = new PendingRequests();
  const [first, second] = ["1", "2"].map((id) => settled(pending.add(id, "m", 10)));
  pending.unread(UNREAD);
  const later = settled(pending.add("3", "m", 10));
  await vi.advanceTimersByTimeAsync(999);
  expect([first!.state, second!.state]).toEqual(["pending", "pending"]);
  await vi.advanceTimersByTimeAsync(1);
  expect([first!.state, second!.state, later.state]).toEqual(["rejected", "rejected", "pending"]);
  // Two requests are suspects again, of which one was unread.
  const last = settled(pending.add("4", "m", 10));
  pending.unread(UNREAD);
  await vi.advanceTimersByTimeAsync(0);
  expect([later.state, last.state]).toEqual(["pending", "pending"]);
});

test("a suspect that was given up counts no more", async () => {
  const pending = new PendingRequests();
  void pending.add("1", "m", 10);
  const other = settled(pending.add("2", "m", 10));
  pending.unread(UNREAD);
  pending.giveUp("1");
  await vi.advanceTimersByTimeAsync(1_000);
  expect(other.state).toBe("rejected");
});

test.each([99, 100])(
  "a server that names its limit of %i suspects only requests that may be longer",
  async (value) => {
    const pending = new PendingRequests();
    // Each character may be three bytes.
    const short = settled(pending.add("1", "m", 33));
    const long = settled(pending.add("2", "m", 34));
    pending.unread({ ...UNREAD, data: { limit: "maxMessageBytes", value } });
    await vi.advanceTimersByTimeAsync(0);
    expect([short.state, long.state]).toEqual(["pending", "rejected"]);
  },
);

test("a server that names a limit that no request exceeds suspects all of them", async () => {
  const pending = new PendingRequests();
  const only = settled(pending.add("1", "m", 1));
  expect(pending.unread({ ...UNREAD, data: { limit: "maxMessageBytes", value: 100 } })).toBe(true);
  await vi.advanceTimersByTimeAsync(0);
  expect(only.state).toBe("rejected");
});

test.each([{ limit: "other", value: 1_000 }, { limit: "maxMessageBytes", value: "100" }, null])(
  "with the data %j every request is suspect",
  async (data) => {
    const pending = new PendingRequests();
    const requests = [33, 34].map((length, at) => settled(pending.add(`${at}`, "m", length)));
    pending.unread({ ...UNREAD, data });
    await vi.advanceTimersByTimeAsync(1_000);
    expect(requests.map(({ state }) => state)).toEqual(["rejected", "rejected"]);
  },
);

test("the end of the connection is the end of every request", async () => {
  const pending = new PendingRequests();
  const answers = ["1", "2"].map((id) => pending.add(id, "m", 10));
  pending.end("cut");
  for (const answer of answers) {
    await expect(answer).rejects.toThrow(ConnectionError);
    await expect(answer).rejects.toThrow("exec-server transport disconnected: cut");
  }
  expect(pending.some(() => true)).toBe(false);
});

test("the end of the connection does not hide which requests were unread", async () => {
  const pending = new PendingRequests();
  const answers = ["1", "2"].map((id) => pending.add(id, "m", 10));
  pending.unread(UNREAD);
  pending.end("cut");
  for (const answer of answers) await expect(answer).rejects.toThrow(ProtocolError);
});

test.each([
  ["the one that it names", "2", [false, true]],
  ["any, if it names none", undefined, [true, true]],
])("an unreadable answer is the cause of the end for %s", async (_, answerTo, isCause) => {
  const pending = new PendingRequests();
  const answers = ["1", "2"].map((id) => pending.add(id, `m${id}`, 10).catch((error: unknown) => error));
  pending.end(undefined, { answerTo });
  const errors = (await Promise.all(answers)) as ConnectionError[];
  expect(errors.map(({ cause }) => cause instanceof ProtocolError)).toEqual(isCause);
  expect((errors[1]!.cause as Error).message).toBe("the answer to m2 cannot be read: it is too long");
});

test("an error of a request that the server could not read is reported with the server's own", async () => {
  const pending = new PendingRequests();
  const answer = pending.add("1", "m", 10);
  pending.unread({ code: -32600, message: "no JSON" });
  const { cause } = (await answer.catch((error: unknown) => error)) as Error;
  expect(cause).toBeInstanceOf(RpcError);
});

interface Settled {
  state: "pending" | "resolved" | "rejected";
}

function settled(promise: Promise<unknown>): Settled {
  const result: Settled = { state: "pending" };
  promise.then(
    () => (result.state = "resolved"),
    () => (result.state = "rejected"),
  );
  return result;
}

test("an end that comes while requests are suspected rejects them, and leaves no timer behind", async () => {
  const pending = new PendingRequests();
  const both = ["1", "2"].map((id) => settled(pending.add(id, "m", 1)));
  pending.unread(UNREAD);
  expect(vi.getTimerCount()).toBe(1);
  pending.end("gone");
  await vi.advanceTimersByTimeAsync(0);
  expect([both.map(({ state }) => state), vi.getTimerCount()]).toEqual([["rejected", "rejected"], 0]);
});

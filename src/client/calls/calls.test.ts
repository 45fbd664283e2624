import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { createDeferred, type Deferred } from "../../base/deferred.ts";
import { ConnectionError, ExecError, ProtocolError, RpcError } from "../../base/errors.ts";
import type { Link } from "../../rpc/link.ts";
import { Calls } from "./calls.ts";

const IDEMPOTENT = "fs/readFile";
const UNKNOWN = "process/signal";
const BOUND = "fs/readBlock";
const READ = { dataBase64: "" };

beforeEach(() => void vi.useFakeTimers({ toFake: ["performance"] }));
afterEach(() => void vi.useRealTimers());

test("calls wait for a link, and are sent in their order", async () => {
  const { calls, asked } = open();
  const first = call(calls, IDEMPOTENT);
  const second = call(calls, UNKNOWN);
  expect(asked()).toBe(0);
  const link = new FakeLink();
  calls.use(link);
  expect(link.methods).toEqual([IDEMPOTENT, UNKNOWN]);
  expect(asked()).toBe(2);
  link.answer(1, {});
  link.answer(0, READ);
  expect([await first, await second]).toEqual([READ, {}]);
  expect(asked()).toBe(0);
});

test("an answer that does not fit the protocol, and an error of the server, reject their calls", async () => {
  const { calls, link, asked } = connected();
  const wrong = call(calls, IDEMPOTENT);
  const refused = call(calls, IDEMPOTENT);
  link.answer(0, { dataBase64: 7 });
  link.fail(1, new RpcError(-32004, "gone"));
  expect(await wrong).toBeInstanceOf(ProtocolError);
  expect(await refused).toMatchObject({ rpcCode: -32004 });
  expect(asked()).toBe(0);
});

test("a call that is idempotent is sent again on the next link, before those that came later", async () => {
  const { calls, link } = connected();
  const lost = [call(calls, IDEMPOTENT), call(calls, IDEMPOTENT)];
  calls.lose();
  const later = call(calls, UNKNOWN);
  link.cut(1);
  link.cut(0);
  await settle();
  const next = new FakeLink();
  calls.use(next);
  expect(next.methods).toEqual([IDEMPOTENT, IDEMPOTENT, UNKNOWN]);
  // In the order of the first time.
  expect(next.requests.map(({ params }) => params)).toEqual([{ n: 1 }, { n: 2 }, { n: 3 }]);
  for (const [at, answer] of [READ, READ, {}].entries()) next.answer(at, answer);
  expect(await Promise.all([...lost, later])).toEqual([READ, READ, {}]);
});

test("a call whose loss is noticed when there is another link is sent again at once", async () => {
  const { calls, link } = connected();
  const lost = call(calls, IDEMPOTENT);
  calls.lose();
  const next = new FakeLink();
  calls.use(next);
  link.cut(0);
  await settle();
  next.answer(0, READ);
  expect(await lost).toEqual(READ);
});

test.each([
  [
    UNKNOWN,
    "EFFECT_UNKNOWN",
    "cut; the session goes on, but whether process/signal took effect is not known",
  ],
  [BOUND, "CONNECTION_CLOSED", "cut"],
])(
  "a lost %s that must not be repeated fails with %s as soon as the session goes on",
  async (method, code, message) => {
    const { calls, link } = connected();
    const lost = watched(call(calls, method));
    calls.lose();
    link.cut(0);
    await settle();
    expect(lost.value).toBeUndefined();
    const next = new FakeLink();
    calls.use(next);
    await settle();
    expect(lost.value).toMatchObject({ code, message: message });
    expect(next.methods).toEqual([]);
  },
);

test("such a call fails at once if its loss is noticed when there is another link", async () => {
  const { calls, link } = connected();
  const lost = watched(call(calls, UNKNOWN));
  calls.lose();
  calls.use(new FakeLink());
  link.cut(0);
  await settle();
  expect(lost.value).toMatchObject({ code: "EFFECT_UNKNOWN" });
});

test("the end of the session is the end of every call, sent, lost or waiting, and of every later one", async () => {
  const { calls, link } = connected();
  const sent = call(calls, IDEMPOTENT);
  const lost = call(calls, UNKNOWN);
  calls.lose();
  link.cut(1);
  await settle();
  const waiting = call(calls, UNKNOWN);
  const end = new ExecError("SESSION_LOST", "over");
  calls.finish(end);
  link.cut(0);
  expect(await Promise.all([sent, lost, waiting, call(calls, IDEMPOTENT)])).toEqual([end, end, end, end]);
});

test("a call that ends eight connections at once is sent again, and not a ninth time", async () => {
  const { calls, link } = connected();
  const fatal = watched(call(calls, IDEMPOTENT));
  let current = link;
  for (let ends = 1; ends <= 8; ends += 1) {
    vi.advanceTimersByTime(249);
    current = await replaced(calls, current);
    expect(current.methods).toEqual([IDEMPOTENT]);
  }
  current = await replaced(calls, current);
  await settle();
  expect(current.methods).toEqual([]);
  expect(fatal.value).toMatchObject({ code: "EFFECT_UNKNOWN" });
});

test("a connection that lasted for a while after a call did not end because of it", async () => {
  const { calls, link } = connected();
  void call(calls, IDEMPOTENT);
  let current = link;
  for (let ends = 1; ends <= 20; ends += 1) {
    vi.advanceTimersByTime(ends % 8 === 0 ? 250 : 0);
    current = await replaced(calls, current);
    expect(current.methods).toEqual([IDEMPOTENT]);
  }
});

test("an answer that cannot be read is asked for again", async () => {
  const { calls, link } = connected();
  const call1 = watched(call(calls, IDEMPOTENT));
  const cause = new ProtocolError("no JSON");
  const next = await replaced(calls, link, cause);
  expect(next.methods).toEqual([IDEMPOTENT]);
  expect(call1.value).toBeUndefined();
  next.cut(0, cause);
  await settle();
  expect(call1.value).toBe(cause);
});

test("a call that was given up is not sent, and not sent again", async () => {
  const { calls } = open();
  const controller = new AbortController();
  const waiting = call(calls, IDEMPOTENT, controller.signal);
  controller.abort(new Error("enough"));
  expect(await waiting).toMatchObject({ message: "enough" });
  const link = new FakeLink();
  calls.use(link);
  expect(link.methods).toEqual([]);
  const other = new AbortController();
  const sent = call(calls, IDEMPOTENT, other.signal);
  other.abort(new Error("enough"));
  expect(await sent).toMatchObject({ message: "enough" });
  const next = await replaced(calls, link);
  expect(next.methods).toEqual([]);
  expect(await call(calls, IDEMPOTENT, AbortSignal.abort(new Error("never")))).toMatchObject({
    message: "never",
  });
  expect(next.methods).toEqual([]);
});

test("1024 calls may be unanswered, lost or waiting, with those that are reserved", async () => {
  const { calls, link } = connected();
  for (let count = 0; count < 500; count += 1) void call(calls, UNKNOWN);
  expect(calls.isFull(523)).toBe(false);
  expect(calls.isFull(524)).toBe(true);
  calls.lose();
  for (let at = 0; at < 100; at += 1) link.cut(at);
  await settle();
  expect(calls.isFull(523)).toBe(false);
  expect(calls.isFull(524)).toBe(true);
  for (let count = 0; count < 24; count += 1) void call(calls, IDEMPOTENT);
  expect(calls.isFull(499)).toBe(false);
  expect(calls.isFull(500)).toBe(true);
  const next = new FakeLink();
  calls.use(next);
  await settle();
  // Those that were lost have failed.
  expect(calls.isFull(599)).toBe(false);
  expect(calls.isFull(600)).toBe(true);
});

test("a lost call that was given up leaves its place", async () => {
  const { calls, link } = connected();
  const controller = new AbortController();
  const lost = call(calls, UNKNOWN, controller.signal);
  calls.lose();
  link.cut(0);
  await settle();
  expect(calls.isFull(1_023)).toBe(true);
  controller.abort(new Error("enough"));
  await lost;
  expect(calls.isFull(1_023)).toBe(false);
});

test("a request on a chosen link is made once, is checked, and counts while it is unanswered", async () => {
  const { calls, asked } = open();
  const link = new FakeLink();
  const answer = calls.once(link, IDEMPOTENT, { path: "file:///a" });
  expect([calls.isFull(1_023), calls.isFull(1_022), asked()]).toEqual([true, false, 1]);
  link.answer(0, READ);
  expect(await answer).toEqual(READ);
  expect([calls.isFull(1_023), asked()]).toEqual([false, 0]);
  const wrong = calls.once(link, IDEMPOTENT, {} as never);
  link.answer(1, {});
  await expect(wrong).rejects.toThrow(ProtocolError);
  const lost = calls.once(link, IDEMPOTENT, {} as never);
  link.cut(2);
  await expect(lost).rejects.toThrow("cut");
  expect([calls.isFull(1_023), asked()]).toEqual([false, 0]);
});

class FakeLink implements Link {
  readonly notify = vi.fn();
  readonly pause = vi.fn();
  readonly resume = vi.fn();
  readonly close = vi.fn();
  readonly destroy = vi.fn();
  readonly requests: { method: string; params: unknown; answer: Deferred<unknown> }[] = [];

  get methods(): string[] {
    return this.requests.map(({ method }) => method);
  }

  request(method: string, params: unknown): Promise<unknown> {
    const answer = createDeferred<unknown>();
    this.requests.push({ method, params, answer });
    return answer.promise;
  }

  answer(at: number, result: unknown): void {
    this.requests[at]!.answer.resolve(result);
  }

  fail(at: number, error: Error): void {
    this.requests[at]!.answer.reject(error);
  }

  cut(at: number, cause?: ProtocolError): void {
    this.fail(at, new ConnectionError("cut", cause === undefined ? {} : { cause }));
  }
}

interface Scene {
  calls: Calls;
  asked: () => number;
}

function open(): Scene {
  let asked = 0;
  const calls = new Calls({ asked: () => void (asked += 1), answered: () => void (asked -= 1) });
  return { calls, asked: () => asked };
}

function connected(): Scene & { link: FakeLink } {
  const scene = open();
  const link = new FakeLink();
  scene.calls.use(link);
  return { ...scene, link };
}

/** Cuts a link with all that is on it, and uses another one. */
async function replaced(calls: Calls, link: FakeLink, cause?: ProtocolError): Promise<FakeLink> {
  calls.lose();
  for (const at of link.requests.keys()) link.cut(at, cause);
  await settle();
  const next = new FakeLink();
  calls.use(next);
  return next;
}

let calling = 0;

/** The answer, or the error. */
function call(calls: Calls, method: string, signal?: AbortSignal): Promise<unknown> {
  calling += 1;
  const params = { n: calling } as never;
  return calls
    .request(method as typeof IDEMPOTENT, params, signal === undefined ? {} : { signal })
    .catch((error: unknown) => error);
}

beforeEach(() => {
  calling = 0;
});

function watched(promise: Promise<unknown>): { value: unknown } {
  const result: { value: unknown } = { value: undefined };
  void promise.then((value) => (result.value = value));
  return result;
}

async function settle(): Promise<void> {
  for (let turn = 0; turn < 10; turn += 1) await Promise.resolve();
}

import { expect, test } from "vitest";
import { FakeNats } from "../../test/fixtures/fake-bus.ts";
import { useMovedClock } from "../../test/fixtures/moved-clock.ts";
import { dialFrom, openEnd } from "../../test/fixtures/virtual-pair.ts";
import type { Transport } from "../transport/transport.ts";
import { type Admission, answerDials } from "./answer-dials.ts";
import { FrameKind, jsonFrame } from "./frames.ts";

const wait = useMovedClock();

const NOT_CONNECTED =
  "failed to connect to executor web-1: no executor of this name is connected to the fleet";

test("an executor that is not there is told soon, but not while it may only move to another NATS server", async () => {
  const bus = new FakeNats().connect();
  let failure: unknown;
  void settled(dialFrom(bus, "web-1")).then((error) => {
    failure = error;
  });
  await wait(1_400);
  expect(failure).toBeUndefined();
  await wait(300);
  expect(failure).toMatchObject({ code: "CONNECTION_CLOSED", message: NOT_CONNECTED });
});

test("an executor that is not there is reported as missing, however little time there is", async () => {
  const dialled = settled(dialFrom(new FakeNats().connect(), "web-1", { timeoutMs: 500 }));
  await wait(501);
  expect(await dialled).toMatchObject({ code: "CONNECTION_CLOSED", message: NOT_CONNECTED });
});

test("an executor that has come back and does not answer is not reported as away", async () => {
  const nats = new FakeNats();
  const dialled = settled(dialFrom(nats.connect(), "a", { timeoutMs: 5_000 }));
  await wait(1_000);
  answer(nats, () => new Promise(() => {}));
  await wait(4_001);
  expect(await dialled).toMatchObject({ code: "TIMED_OUT" });
});

test("an executor that comes back within a second is reached at once", async () => {
  const nats = new FakeNats();
  const dialled = dialFrom(nats.connect(), "a");
  await wait(1_000);
  const accepted = answer(nats);
  await wait(150);
  expect(accepted).toHaveLength(1);
  (await dialled).destroy();
});

test("a refusal arrives with its reason, and a token that is not accepted is unauthorized", async () => {
  const nats = new FakeNats();
  const tokens: (string | undefined)[] = [];
  answer(nats, async ({ token }) => {
    tokens.push(token);
    return { refusal: "invalid websocket bearer token", status: 401 };
  });
  const dialled = settled(dialFrom(nats.connect(), "a", { token: "guess" }));
  await wait(5);
  expect(await dialled).toMatchObject({
    code: "UNAUTHORIZED",
    message: "failed to connect to executor a: invalid websocket bearer token",
  });
  expect(tokens).toEqual(["guess"]);
});

test("a dial that has failed is over: nobody is asked again, whatever happens later", async () => {
  const nats = new FakeNats();
  answer(nats, async () => ({ refusal: "no", status: 503 }));
  const bus = nats.connect();
  const controller = new AbortController();
  const dialled = settled(dialFrom(bus, "a", { timeoutMs: 60_000, signal: controller.signal }));
  await wait(5);
  expect(await dialled).toMatchObject({ status: 503 });
  const before = nats.publishedFrames;
  await wait(5_000);
  bus.disconnect();
  bus.reconnect();
  controller.abort();
  await wait(5_000);
  expect(nats.publishedFrames).toBe(before);
});

test("a dial that has succeeded asks nobody again, and neither its time nor its signal ends the connection", async () => {
  const nats = new FakeNats();
  const accepted = answer(nats);
  const bus = nats.connect();
  const controller = new AbortController();
  const dialled = dialFrom(bus, "a", { timeoutMs: 2_000, signal: controller.signal });
  await wait(5);
  const client = openEnd(await dialled, bus);
  let dials = 0;
  nats.fate = (frame) => {
    if (frame[0] === FrameKind.dial) dials += 1;
    return "arrives";
  };
  await wait(3_000);
  controller.abort();
  const executor = openEnd(accepted[0]!, bus);
  client.transport.send("question");
  executor.transport.send("answer");
  await wait(5);
  expect(dials).toBe(0);
  expect([executor.messages, client.messages]).toEqual([["question"], ["answer"]]);
});

test("a reason of any length is reported in part", async () => {
  const nats = new FakeNats();
  answer(nats, async () => ({ refusal: "x".repeat(1_000_000), status: 503 }));
  const dialled = settled(dialFrom(nats.connect(), "a"));
  await wait(5);
  expect(await dialled).toMatchObject({
    message: `failed to connect to executor a: ${"x".repeat(512)}`,
  });
});

test("a dial while NATS is away says so when its time is over", async () => {
  const nats = new FakeNats();
  const bus = nats.connect();
  bus.disconnect();
  const dialled = settled(dialFrom(bus, "a", { timeoutMs: 5_000 }));
  await wait(5_001);
  expect(await dialled).toMatchObject({
    code: "TIMED_OUT",
    message:
      "failed to connect to executor a: the connection to NATS was lost and did not come back within 5s",
  });
});

test("an executor that does not answer in time is given up", async () => {
  const nats = new FakeNats();
  answer(nats, () => new Promise(() => {}));
  const dialled = settled(dialFrom(nats.connect(), "a", { timeoutMs: 5_000 }));
  await wait(5_001);
  expect(await dialled).toMatchObject({
    code: "TIMED_OUT",
    message: "failed to connect to executor a: it did not answer within 5s",
  });
});

test("a signal ends a dial with its reason, also before it began", async () => {
  const nats = new FakeNats();
  answer(nats, () => new Promise(() => {}));
  const abort = new AbortController();
  const dialled = settled(dialFrom(nats.connect(), "a", { signal: abort.signal }));
  abort.abort(new Error("enough"));
  expect(await dialled).toEqual(new Error("enough"));
  expect(await settled(dialFrom(nats.connect(), "a", { signal: abort.signal }))).toEqual(new Error("enough"));
});

test("a dial that is lost is repeated, and one whose answer is lost leads to one connection", async () => {
  const nats = new FakeNats();
  const accepted = answer(nats);
  const lost = [FrameKind.dial, FrameKind.accept] as number[];
  nats.fate = (frame) => (lost[0] === frame[0] && lost.shift() !== undefined ? "is lost" : "arrives");
  const bus = nats.connect();
  const dialled = dialFrom(bus, "a");
  await wait(2_100);
  const client = openEnd(await dialled, bus);
  expect(lost).toEqual([]);
  expect(accepted).toHaveLength(1);
  const executor = openEnd(accepted[0]!, bus);
  client.transport.send("hello");
  await wait(5);
  expect(executor.messages).toEqual(["hello"]);
});

test("of two executors with one name, one is chosen and the other one is notified", async () => {
  const nats = new FakeNats();
  const [first, second] = [answer(nats, undefined, "run-1"), answer(nats, undefined, "run-2")];
  const bus = nats.connect();
  const dialled = dialFrom(bus, "a");
  await wait(5);
  const client = openEnd(await dialled, bus);
  const ends = [...first, ...second].map((transport) => openEnd(transport, bus));
  await wait(5);
  expect(ends.map((end) => end.closed)).toEqual([
    undefined,
    ["another executor of the same name was chosen"],
  ]);
  client.transport.send("hello");
  await wait(15_000);
  expect(ends[0]!.messages).toEqual(["hello"]);
  expect(client.closed).toBeUndefined();
});

test("an executor that was not chosen, and was not notified, does not end the connection of the other", async () => {
  const nats = new FakeNats();
  answer(nats, undefined, "run-1");
  answer(nats, undefined, "run-2");
  nats.fate = (frame) => (frame[0] === FrameKind.abort ? "is lost" : "arrives");
  const bus = nats.connect();
  const dialled = dialFrom(bus, "a");
  await wait(5);
  const client = openEnd(await dialled, bus);
  nats.fate = () => "arrives";
  await wait(30_000);
  expect(client.closed).toBeUndefined();
});

test("a second executor of the name that refuses does not end the connection to the first", async () => {
  const nats = new FakeNats();
  const accepted = answer(nats);
  answer(nats, async () => ({ refusal: "the server is closing", status: 503 }), "run-2");
  const bus = nats.connect();
  const dialled = dialFrom(bus, "a");
  await wait(5);
  const client = openEnd(await dialled, bus);
  const executor = openEnd(accepted[0]!, bus);
  client.transport.send("hello");
  await wait(100);
  expect([client.closed, executor.messages]).toEqual([undefined, ["hello"]]);
});

test("a connection that the executor has forgotten ends at the next question", async () => {
  const nats = new FakeNats();
  const accepted = answer(nats);
  const bus = nats.connect();
  const dialled = dialFrom(bus, "a");
  await wait(5);
  const client = openEnd(await dialled, bus);
  nats.fate = () => "is lost";
  accepted[0]!.destroy();
  nats.fate = () => "arrives";
  await wait(2_000);
  expect(client.closed).toEqual(["the other end has forgotten this connection"]);
});

test.each([
  ["a version that is not spoken", { version: 2 }, "the executor speaks version 1 of the fleet protocol"],
  ["no version", {}, "the executor speaks version 1 of the fleet protocol"],
])("%s is refused", async (_, request, reason) => {
  const nats = new FakeNats();
  answer(nats);
  const bus = nats.connect();
  const answers: Buffer[] = [];
  bus.subscribe("_INBOX.someone.here", ({ data }) => void answers.push(data));
  bus.publish("exec.a.dial", jsonFrame(FrameKind.dial, request), "_INBOX.someone.here");
  await wait(5);
  expect(answers.map((data) => JSON.parse(data.toString("utf8", 1)))).toEqual([{ reason, status: 400 }]);
});

test.each([
  ["no subject for the answer", undefined, jsonFrame(FrameKind.dial, { version: 1 })],
  ["a subject that is no inbox", "exec.b.dial", jsonFrame(FrameKind.dial, { version: 1 })],
  ["a subject with a wildcard", "_INBOX.someone.*", jsonFrame(FrameKind.dial, { version: 1 })],
  ["a request that is too long", "_INBOX.someone.here", Buffer.alloc(100_000, FrameKind.dial)],
])("a dial with %s gets no answer", async (_, reply, data) => {
  const nats = new FakeNats();
  const accepted = answer(nats);
  const bus = nats.connect();
  const before = nats.publishedFrames;
  bus.publish("exec.a.dial", data, reply);
  await wait(5);
  expect(accepted).toEqual([]);
  expect(nats.publishedFrames - before).toBe(1);
});

test.each([
  "exec.a.run.box\r\nPUB exec.b.beat 0\r\n",
  "exec.a.run box",
  "exec.a.run.*",
  "exec.b.run.box",
  "",
])(
  "an answer that names the subject %j is ignored: it could make this program say something else to NATS",
  async (subject) => {
    const nats = new FakeNats();
    const executor = nats.connect();
    executor.subscribe("exec.a.dial", ({ reply }) =>
      executor.publish(reply!, jsonFrame(FrameKind.accept, { subject })),
    );
    const dialled = settled(dialFrom(nats.connect(), "a", { timeoutMs: 3_000 }));
    await wait(3_001);
    expect(await dialled).toMatchObject({ code: "TIMED_OUT" });
  },
);

test("dials beyond those that wait for a decision are refused", async () => {
  const nats = new FakeNats();
  answer(nats, () => new Promise(() => {}));
  const bus = nats.connect();
  for (let at = 0; at < 256; at += 1) dialFrom(bus, "a").catch(() => {});
  await wait(5);
  const dialled = settled(dialFrom(bus, "a"));
  await wait(5);
  expect(await dialled).toMatchObject({
    message: "failed to connect to executor a: the executor has too many pending connections",
  });
});

test.each(["", "a.b", "a*", ">", "-a", "a b", "x".repeat(65)])("the name %j is refused", (id) => {
  expect(() => dialFrom(new FakeNats().connect(), id)).toThrow("invalid executor name");
});

/** Answers dials for the executor `a`; by default everyone is accepted. */
function answer(
  nats: FakeNats,
  admit?: (dial: { token: string | undefined }) => Promise<Admission>,
  instance = "run-1",
): Transport[] {
  const accepted: Transport[] = [];
  const acceptAll = async (): Promise<Admission> => ({
    accept: (transport) => void accepted.push(transport),
  });
  answerDials({ bus: nats.connect(), id: "a", instance, admit: admit ?? acceptAll });
  return accepted;
}

/** What a promise rejects with. */
function settled(promise: Promise<unknown>): Promise<unknown> {
  return promise.then(
    () => "connected",
    (error: unknown) => error,
  );
}

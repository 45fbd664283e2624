import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { Base64Bytes } from "../base/base64-bytes.ts";
import { ConnectionError, ProtocolError, UsageError } from "../base/errors.ts";
import { MAX_TEXT_CHARACTERS } from "../protocol/wire-limits.ts";
import type { LongMessage, Transport, TransportEvents } from "../transport/transport.ts";
import { liftLongString } from "../transport/long-string.ts";
import { Connection, type ConnectionHooks } from "./connection.ts";

const LONG = Buffer.alloc(90_000, "long").toString("base64");

function open(hooks: Partial<ConnectionHooks> = {}, traits: Partial<Transport> = {}) {
  const sent: string[] = [];
  let events: TransportEvents | undefined;
  const transport: Transport = {
    source: "test",
    queuedBytes: 0,
    open: (opened) => (events = opened),
    send: (message, flushed) => {
      sent.push(Buffer.from(message as string).toString());
      flushed?.();
    },
    sendLazily: (message, flushed) => {
      sent.push(`later: ${Buffer.from(message as string).toString()}`);
      flushed?.();
    },
    sendParts: (parts, flushed) => {
      sent.push(Buffer.concat(parts).toString());
      flushed?.();
    },
    pause: vi.fn(),
    resume: vi.fn(),
    close: vi.fn(),
    destroy: (reason) => events!.close(reason),
  };
  // Copies getters, too.
  Object.defineProperties(transport, Object.getOwnPropertyDescriptors(traits));
  const connection = new Connection(transport, {
    request: vi.fn(),
    notification: vi.fn(),
    malformed: vi.fn(),
    unsolicited: vi.fn(),
    drain: vi.fn(),
    closed: vi.fn(),
    ...hooks,
  });
  connection.open();
  return { connection, sent, events: events! };
}

/** A message that is mostly one string, and how often its memory was returned. */
function long(text: string): { message: LongMessage; release: ReturnType<typeof vi.fn> } {
  const release = vi.fn();
  return { message: liftLongString(Buffer.from(text), release)!, release };
}

test("a long request has its bytes attached, and its memory is returned by who takes them", () => {
  const request = vi.fn<ConnectionHooks["request"]>();
  const { events } = open({ request });
  const text = `{"id":1,"method":"fs/writeFile","params":{"path":"file:///a","dataBase64":"${LONG}"}}`;
  const { message, release } = long(text);
  events.longMessage!(message);
  const [{ id, attachment }, bytes] = request.mock.calls[0]!;
  expect(id).toBe("1");
  expect(Buffer.from(attachment!.bytes).toString("base64")).toBe(LONG);
  expect(bytes).toBe(LONG.length);
  expect(release).not.toHaveBeenCalled();
  attachment!.release();
  expect(release).toHaveBeenCalledOnce();
});

const TOO_LONG = "x".repeat(MAX_TEXT_CHARACTERS * 3 + 1);

test("a request with too much text is refused, and its memory is returned", () => {
  const request = vi.fn<ConnectionHooks["request"]>();
  const { events, sent } = open({ request });
  const { message, release } = long(`{"id":7,"method":"fs/readFile","params":{"path":["${TOO_LONG}"]}}`);
  const text = vi.spyOn(message, "text");
  events.longMessage!(message);
  expect(text).not.toHaveBeenCalled();
  expect(release).toHaveBeenCalledOnce();
  // One escape is enough that the string is not lifted.
  events.message(`{"id":"b","method":"fs/readFile","params":{"path":"${TOO_LONG}\\n"}}`);
  const error = { code: -32602, message: expect.stringContaining("8388608 characters") };
  expect(sent.map((line) => JSON.parse(line) as unknown)).toEqual([
    { id: 7, error },
    { id: "b", error },
  ]);
  expect(request).not.toHaveBeenCalled();
});

test("data is not text, however long", () => {
  const request = vi.fn<ConnectionHooks["request"]>();
  const { events, sent } = open({ request });
  const { message } = long(`{"id":7,"method":"process/write","params":{"chunk":"${TOO_LONG}"}}`);
  events.longMessage!(message);
  expect(sent).toEqual([]);
  expect(request).toHaveBeenCalledOnce();
});

test("a long id is no text of the request", () => {
  const request = vi.fn<ConnectionHooks["request"]>();
  const { events, sent } = open({ request });
  events.longMessage!(long(`{"id":"${TOO_LONG}","method":"fs/readFile","params":{"path":"a"}}`).message);
  expect(sent).toEqual([]);
  expect(request.mock.calls[0]![0].id).toBe(JSON.stringify(TOO_LONG));
});

test("a long answer has its bytes in the place of their text", async () => {
  const { connection, events } = open();
  const answer = connection.request("fs/readFile", {});
  const { message, release } = long(`{"id":1,"result":{"dataBase64":"${LONG}","more":1}}`);
  events.longMessage!(message);
  const { dataBase64, more } = (await answer) as { dataBase64: Base64Bytes; more: number };
  expect(more).toBe(1);
  expect(dataBase64).toBeInstanceOf(Base64Bytes);
  expect(JSON.stringify(dataBase64)).toBe(JSON.stringify(LONG));
  expect(release).not.toHaveBeenCalled();
  dataBase64.release!();
  expect(release).toHaveBeenCalledOnce();
});

test.each([
  ["an answer to another method", '{"id":1,"result":{"dataBase64":"LONG"}}', "fs/getMetadata"],
  ["an answer with another member", '{"id":1,"result":{"other":"LONG"}}', "fs/readFile"],
  ["an answer that is no object", '{"id":1,"result":"LONG"}', "fs/readFile"],
  ["an answer that is null but for its id", '{"result":null,"id":1,"more":"LONG"}', "fs/readFile"],
])("%s is read as text, and its memory is returned", async (_, text, method) => {
  const { connection, events } = open();
  const answer = connection.request(method, {});
  const whole = text.replace("LONG", LONG);
  const { message, release } = long(whole);
  events.longMessage!(message);
  expect(await answer).toEqual((JSON.parse(whole) as { result: unknown }).result);
  expect(release).toHaveBeenCalledOnce();
});

test("a long message that is none is malformed", () => {
  const malformed = vi.fn();
  const { events } = open({ malformed });
  const { message, release } = long(`{"id":1,"method":"fs/writeFile","params":{"dataBase64":"${LONG}"}`);
  events.longMessage!(message);
  expect(malformed).toHaveBeenCalledOnce();
  expect(release).toHaveBeenCalledOnce();
});

test("a long notification is one", () => {
  const notification = vi.fn();
  const { events } = open({ notification });
  events.longMessage!(long(`{"method":"n","params":{"chunk":"${LONG}"}}`).message);
  expect(notification).toHaveBeenCalledWith("n", { chunk: LONG });
});

test("nothing is received after the end", () => {
  const request = vi.fn();
  const notification = vi.fn();
  const { events } = open({ request, notification });
  events.close("cut");
  events.message('{"method":"n"}');
  events.longMessage!(long(`{"id":1,"method":"fs/writeFile","params":{"dataBase64":"${LONG}"}}`).message);
  expect(request).not.toHaveBeenCalled();
  expect(notification).not.toHaveBeenCalled();
});

test("the size of a request is reported with it", () => {
  const request = vi.fn();
  const { events } = open({ request });
  const text = '{"id":"a","method":"m","params":null}';
  events.message(text);
  expect(request).toHaveBeenCalledWith(expect.objectContaining({ id: '"a"', method: "m" }), text.length);
});

test("answers are sent whole, later, or in parts, and their memory is returned", () => {
  const { connection, sent } = open();
  const flushed = vi.fn();
  connection.sendResult("1", '{"a":1}');
  connection.sendResultLazily("2", "null");
  connection.sendResultInParts("3", [Buffer.from("[1"), Buffer.from(",2]")], flushed);
  connection.sendEncoded('{"method":"n"}', flushed);
  connection.notify("m", { b: 2 });
  expect(sent).toEqual([
    '{"id":1,"result":{"a":1}}',
    'later: {"id":2,"result":null}',
    '{"id":3,"result":[1,2]}',
    'later: {"method":"n"}',
    '{"method":"m","params":{"b":2}}',
  ]);
  expect(flushed).toHaveBeenCalledTimes(2);
});

test("a request after the end fails with the reason of the end", async () => {
  const { connection, events, sent } = open();
  events.close("cut");
  expect(connection.ended).toBe(true);
  await expect(connection.request("m", {})).rejects.toThrow("exec-server transport disconnected: cut");
  expect(sent).toEqual([]);
});

test("a request that cannot be sent fails, and has no number", async () => {
  const { connection, sent } = open();
  await expect(connection.request("m", { path: "\ud800" })).rejects.toThrow(UsageError);
  void connection.request("m", {});
  expect(sent).toEqual(['{"id":1,"method":"m","params":{}}']);
});

test.each([
  ["0", false],
  ["1", true],
  ["2", true],
  ["3", false],
  ["01", false],
  ['"1"', false],
  ["-1", false],
])("after two requests, a request with the id %s has been sent: %s", (id, expected) => {
  const { connection } = open();
  void connection.request("a", {});
  void connection.request("b", {});
  expect(connection.hasSent(id)).toBe(expected);
});

test("the answer to a request that was given up is ignored, once", async () => {
  const unsolicited = vi.fn();
  const { connection, events } = open({ unsolicited });
  const controller = new AbortController();
  const answer = connection.request("m", {}, controller.signal);
  controller.abort(new Error("enough"));
  await expect(answer).rejects.toThrow("enough");
  events.message('{"id":1,"result":1}');
  expect(unsolicited).not.toHaveBeenCalled();
  events.message('{"id":1,"result":1}');
  expect(unsolicited).toHaveBeenCalledWith("1");
});

test("a request that is answered in time is not given up", async () => {
  const unsolicited = vi.fn();
  const { connection, events } = open({ unsolicited });
  const answer = connection.request("m", {}, new AbortController().signal);
  events.message('{"id":1,"result":7}');
  expect(await answer).toBe(7);
  events.message('{"id":1,"result":7}');
  expect(unsolicited).toHaveBeenCalledOnce();
});

test("a message that the server could not read fails the request, unless none is pending", async () => {
  const unsolicited = vi.fn();
  const { connection, events } = open({ unsolicited });
  const answer = connection.request("m", {});
  const refusal = '{"id":-1,"error":{"code":-32600,"message":"no"}}';
  events.message(refusal);
  await expect(answer).rejects.toThrow(ProtocolError);
  events.message(refusal);
  expect(unsolicited).toHaveBeenCalledWith("-1");
});

test("an answer that has the id of a refusal is unsolicited", () => {
  const unsolicited = vi.fn();
  const { connection, events } = open({ unsolicited });
  connection.request("m", {}).catch(() => {});
  events.message('{"id":-1,"result":null}');
  expect(unsolicited).toHaveBeenCalledWith("-1");
});

test.each([
  ["a message that is too long", (events: TransportEvents) => events.tooLong!(), [true, true]],
  [
    "an answer that names its request",
    (events: TransportEvents) => events.message('{"id":2,"result":'),
    [false, true],
  ],
  ["a text that names none", (events: TransportEvents) => events.message('{"method":'), [true, true]],
  ["nothing", () => {}, [false, false]],
])("after %s, the end of the connection has that cause", async (_, receive, isCause) => {
  const { connection, events } = open();
  const answers = ["a", "b"].map((method) => connection.request(method, {}).catch((error: unknown) => error));
  receive(events);
  events.close("cut");
  const errors = (await Promise.all(answers)) as ConnectionError[];
  expect(errors.every((error) => error instanceof ConnectionError)).toBe(true);
  expect(errors.map(({ cause }) => cause instanceof ProtocolError)).toEqual(isCause);
});

test("a ping goes to the transport, if it has one", () => {
  const answered = vi.fn();
  const ping = vi.fn((done: () => void) => done());
  expect(open({}, { ping }).connection.ping(answered)).toBe(true);
  expect(answered).toHaveBeenCalledOnce();
  expect(open().connection.ping(answered)).toBe(false);
});

test("drain and the end, with its code, are reported", () => {
  const hooks = { drain: vi.fn(), closed: vi.fn(), tooLong: vi.fn() };
  const { events } = open(hooks);
  events.drain();
  events.tooLong!();
  events.close("over", 4011);
  expect(hooks.drain).toHaveBeenCalledOnce();
  expect(hooks.tooLong).toHaveBeenCalledOnce();
  expect(hooks.closed).toHaveBeenCalledWith("over", 4011);
});

test("calls are passed on to the transport", () => {
  const [pause, resume, close] = [vi.fn(), vi.fn(), vi.fn()];
  const traits = { pause, resume, close, receivedBytes: 5, sentBytes: 7, queuedBytes: 9 };
  const { connection } = open({}, traits);
  connection.pause();
  expect(pause).toHaveBeenCalledOnce();
  connection.resume();
  expect(resume).toHaveBeenCalledOnce();
  connection.close({ code: 1000, reason: "bye" });
  expect(close).toHaveBeenCalledWith({ code: 1000, reason: "bye" });
  expect([connection.receivedBytes, connection.sentBytes, connection.queuedBytes]).toEqual([5, 7, 9]);
});

const TIMES = { askMs: 10, silenceMs: 100 };

beforeEach(() => void vi.useFakeTimers({ toFake: ["setInterval", "clearInterval", "performance", "Date"] }));
afterEach(() => void vi.useRealTimers());

test.each([
  ["a long request", `{"id":9,"method":"fs/writeFile","params":{"dataBase64":"${LONG}"}}`],
  ["a long notification", `{"method":"n","params":{"chunk":"${LONG}"}}`],
])("%s is a sign of life", async (_, text) => {
  const closed = vi.fn();
  const { connection, events } = open({ closed }, { mayGoSilent: true });
  connection.expectLife(TIMES);
  for (let turn = 0; turn < 10; turn += 1) {
    await vi.advanceTimersByTimeAsync(50);
    events.longMessage!(long(text).message);
  }
  expect(closed).not.toHaveBeenCalled();
  connection.destroy();
});

test("a server is asked again for a sign of life when it is read again", async () => {
  const { connection, sent } = open({}, { mayGoSilent: true });
  connection.pause();
  connection.expectLife(TIMES);
  await vi.advanceTimersByTimeAsync(100);
  expect(sent).toEqual([]);
  connection.resume();
  await vi.advanceTimersByTimeAsync(20);
  expect(sent).toHaveLength(1);
  connection.destroy();
});

test("a network that takes what is queued is a sign of life, one that takes nothing is not", async () => {
  const closed = vi.fn();
  let queuedBytes = 1_000_000;
  const traits = {
    mayGoSilent: true,
    get queuedBytes() {
      return queuedBytes;
    },
  };
  open({ closed }, traits).connection.expectLife(TIMES);
  for (let turn = 0; turn < 30; turn += 1) {
    queuedBytes -= 1_000;
    await vi.advanceTimersByTimeAsync(10);
  }
  expect(closed).not.toHaveBeenCalled();
  await vi.advanceTimersByTimeAsync(150);
  expect(closed).toHaveBeenCalledWith("the server has been silent for 100ms", undefined);
});

test("no sign of life is wanted after the end", async () => {
  const { connection, events, sent } = open({}, { mayGoSilent: true });
  events.close();
  connection.expectLife(TIMES);
  await vi.advanceTimersByTimeAsync(500);
  expect(sent).toEqual([]);
});

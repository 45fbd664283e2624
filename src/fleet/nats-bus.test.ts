import { connect as connectTo } from "node:net";
import type { ConnectionOptions } from "@nats-io/transport-node";
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from "vitest";
import { type NatsServer, startNats } from "../../test/fixtures/nats-server.ts";
import { type Act, ends, says, startScriptedNats } from "../../test/fixtures/scripted-nats.ts";
import type { BusMessage } from "./bus.ts";
import { NatsBus } from "./nats-bus.ts";

let nats: NatsServer;
beforeAll(async () => {
  nats = await startNats();
});
afterAll(() => nats[Symbol.asyncDispose]());

const MESSAGE = says("MSG x 1 2\r\nok\r\n");
const REFUSES: Act = { ping: "-ERR 'Authorization Violation'\r\n" };

test.each([
  ["login", "Authorization Violation", "it refused the login (Authorization Violation)"],
  ["expired login", "User Authentication Expired", "it refused the login (User Authentication Expired)"],
])("a refused %s is told each time, and another is tried", async (_, said, reason) => {
  const refuses: Act = { ping: `-ERR '${said}'\r\n` };
  const { events, arrived } = await open([ends(), refuses, refuses, MESSAGE]);
  await arrived;
  expect(events).toEqual(["disconnected", `refused: ${reason}`, `refused: ${reason}`, "reconnected"]);
});

test("a subject that is not permitted is reported, and the connection continues", async () => {
  const { events, arrived } = await open([
    says(`-ERR 'Permissions Violation for Subscription to "y"'\r\nMSG x 1 2\r\nok\r\n`),
  ]);
  await arrived;
  await expect.poll(() => events).toEqual(["denied: y"]);
});

const SHORT = "the NATS server allows messages of 262162 bytes at most: set its max_payload to 1MB";

test("a server that allows too short messages is refused, at once or when it is met again", async () => {
  await expect(open([{ maxPayload: 262_162 }])).rejects.toThrow(SHORT);
  const { events, arrived } = await open([
    { maxPayload: 262_163, ...ends() },
    { maxPayload: 262_162 },
    { maxPayload: 262_163, ...MESSAGE },
  ]);
  await arrived;
  expect(events).toEqual(["disconnected", `refused: ${SHORT}`, "reconnected"]);
});

test("nothing is published while NATS is away, or after the end, which is reported", async () => {
  const { bus, events } = await open([{}]);
  expect(bus.isConnected).toBe(true);
  await bus.close();
  expect(bus.isConnected).toBe(false);
  bus.publish("x", Buffer.from("late"));
  await expect.poll(() => events).toEqual(["ended: the connection to NATS is closed"]);
});

test("what was published is sent before the end", async () => {
  const { bus } = await open([{}]);
  const flushing = vi.spyOn(bus, "flush");
  await bus.close();
  expect(flushing).toHaveBeenCalledOnce();
  await bus.close();
  expect(flushing).toHaveBeenCalledOnce();
});

test("a watcher that has stopped is not called", async () => {
  const { bus, events, unwatch } = await open([{}]);
  unwatch();
  let others = 0;
  bus.watch({ reconnected: () => {}, ended: () => void (others += 1) });
  await bus.close();
  await expect.poll(() => others).toBe(1);
  expect(events).toEqual([]);
});

test("short and long messages and those that want an answer arrive in the order they were published", async () => {
  const bus = await openReal();
  const seen: unknown[] = [];
  const last = new Promise<void>((resolve) => {
    bus.subscribe("a.b", ({ data, reply }) => {
      seen.push([data.length, data[0], reply]);
      if (data[0] === 255) resolve();
    });
  });
  for (let at = 0; at < 50; at += 1) {
    bus.publish("a.b", Buffer.alloc(100, at));
    bus.publish("a.b", Buffer.alloc(200_000, at), "a.long");
    bus.publish("a.b", Buffer.alloc(0), "a.reply");
  }
  bus.publish("a.b", Buffer.alloc(1, 255));
  await last;
  const expected = Array.from({ length: 50 }, (_, at) => [
    [100, at, undefined],
    [200_000, at, "a.long"],
    [0, undefined, "a.reply"],
  ]).flat();
  expect(seen).toEqual([...expected, [1, 255, undefined]]);
});

test("a subscription gets the messages of one read synchronously, one after the other", async () => {
  const { bus } = await open([says("MSG y 2 1\r\n1\r\nMSG y 2 1\r\n2\r\n")]);
  const seen: string[] = [];
  await new Promise<void>((resolve) => {
    bus.subscribe("y", ({ data }) => {
      seen.push(data.toString());
      queueMicrotask(() => seen.push("microtask"));
      if (data.toString() === "2") resolve();
    });
  });
  expect(seen.slice(0, 2)).toEqual(["1", "2"]);
});

test("a message without a receiver is reported as undeliverable", async () => {
  const bus = await openReal();
  const answered = new Promise<BusMessage>((resolve) => bus.subscribe("answers", resolve));
  bus.publish("nobody.is.here", Buffer.from("?"), "answers");
  expect(await answered).toMatchObject({ subject: "answers", isUndeliverable: true });
});

test("headers that others choose are not read, and cost neither the connection nor time", async () => {
  const bus = await openReal();
  const seen: string[] = [];
  bus.watch({ disconnected: () => seen.push("disconnected"), reconnected: () => {}, ended: () => {} });
  const last = new Promise<void>((resolve) => {
    bus.subscribe("x", ({ data, isUndeliverable }) => {
      seen.push(`${data.toString()} ${isUndeliverable}`);
      if (data.toString() === "last") resolve();
    });
  });
  await bus.flush();
  const many = Array.from({ length: 100_000 }, (_, at) => `a${at}:\r\n`).join("");
  const stranger = connectTo(nats.port, "127.0.0.1");
  onTestFinished(() => void stranger.destroy());
  stranger.write('CONNECT {"headers":true,"verbose":false}\r\n');
  const publish = (headers: string, body: string): void =>
    void stranger.write(`HPUB x ${headers.length} ${headers.length + body.length}\r\n${headers}${body}\r\n`);
  publish("NATS/1.0\r\nno name: x\r\n\r\n", "impossible");
  publish("nonsense", "unknown");
  publish(`NATS/1.0\r\n${many}\r\n`, "many");
  publish(`NATS/1.0 503\r\n${many}\r\n`, "");
  publish("NATS/1.0 503\r\nno name: x\r\n\r\n", "");
  publish("NATS/1.0 503\r\n\r\n", "last");
  await last;
  expect(seen).toEqual(["impossible false", "unknown false", "many false", " true", " true", "last false"]);
});

test("a receiver that throws keeps the connection, and its fault is not swallowed", async () => {
  const bus = await openReal();
  const faults: unknown[] = [];
  const last = new Promise<void>((resolve) => {
    bus.subscribe("x", ({ data }) => {
      if (data.toString() === "2") return resolve();
      vi.spyOn(process, "nextTick").mockImplementationOnce((fault) => void faults.push(fault));
      throw new Error("a fault");
    });
  });
  onTestFinished(() => void vi.restoreAllMocks());
  bus.publish("x", Buffer.from("1"));
  bus.publish("x", Buffer.from("2"));
  await last;
  expect(faults).toHaveLength(1);
  expect(faults[0]).toThrow("a fault");
});

test("a subscription that has ended gets nothing of what is under way, and others continue", async () => {
  const bus = await openReal();
  const seen: string[] = [];
  const end = bus.subscribe("x", () => seen.push("ended"));
  const last = new Promise<void>((resolve) => {
    bus.subscribe("x", ({ data }) => {
      seen.push(data.toString());
      if (data.toString() === "2") resolve();
    });
  });
  bus.publish("x", Buffer.from("1"));
  // It is written, and comes back in another turn.
  await Promise.resolve();
  end();
  bus.publish("x", Buffer.from("2"));
  await last;
  expect(seen).toEqual(["1", "2"]);
});

test.each([
  ["instead of a message", [says("MSG x 1 -1\r\n"), MESSAGE], ["disconnected", "reconnected"]],
  [
    "right behind the greeting",
    [ends(), { ...says("MSG x 1 3\r\nbad\r\n"), ping: "PONG\r\nMSG x 1 -1\r\n" }, MESSAGE],
    ["disconnected", "reconnected", "disconnected", "reconnected"],
  ],
])("what cannot be parsed %s ends the connection, and another is opened", async (_, acts, reports) => {
  // The library reports it there.
  const log = vi.spyOn(console, "log").mockReturnValue();
  onTestFinished(() => log.mockRestore());
  const { events, arrived } = await open(acts, { pingInterval: 100 });
  expect(await arrived).toBe("ok");
  expect(events).toEqual(reports);
});

const STOPS_READING: Act = { subscribe: (socket) => void socket.pause() };

test("a server that stops reading is left, although what was written before cannot be sent", async () => {
  const { bus, events, arrived } = await open(
    [STOPS_READING, REFUSES, says("MSG x 1 2\r\nok\r\nMSG late 2 2\r\nok\r\n")],
    { pingInterval: 100 },
  );
  const unsubscribe = bus.subscribe("ended", () => {});
  const late = new Promise<BusMessage>((resolve) => {
    const disconnected = (): void => {
      unsubscribe();
      bus.subscribe("late", resolve);
    };
    bus.watch({ disconnected, reconnected: () => {}, ended: () => {} });
  });
  await fillBuffers(bus);
  expect(await arrived).toBe("ok");
  expect((await late).subject).toBe("late");
  expect(bus.isConnected).toBe(true);
  const refused = "refused: failed to connect to NATS: it refused the login (Authorization Violation)";
  expect(events).toEqual(["disconnected", refused, "reconnected"]);
});

test("a node that stops reading is left for another one of its cluster", async () => {
  const other = await startScriptedNats([MESSAGE]);
  onTestFinished(() => other.close());
  const { bus, arrived } = await open([STOPS_READING], { pingInterval: 100, noRandomize: true }, other.url);
  await fillBuffers(bus);
  expect(await arrived).toBe("ok");
});

test("a bus that is closed while it leaves a server that stops reading does not connect again", async () => {
  const { bus, events } = await open([STOPS_READING], { pingInterval: 100 });
  bus.watch({ disconnected: () => void bus.close(), reconnected: () => {}, ended: () => {} });
  await fillBuffers(bus);
  await expect.poll(() => events).toEqual(["disconnected", "ended: the connection to NATS is closed"]);
});

/** Publishes more than the system's buffers hold, after the subscriptions have been sent. */
async function fillBuffers(bus: NatsBus): Promise<void> {
  await Promise.resolve();
  for (let count = 0; count < 200; count += 1) bus.publish("y", Buffer.alloc(200_000));
}

/** A bus at a real NATS server. */
async function openReal(): Promise<NatsBus> {
  const bus = await NatsBus.open({ servers: nats.url });
  onTestFinished(() => bus.close());
  return bus;
}

/** A bus that subscribes to `x`; `arrived` resolves with its first message. */
async function open(acts: readonly Act[], options: ConnectionOptions = {}, ...others: string[]) {
  const server = await startScriptedNats(acts);
  onTestFinished(() => server.close());
  const bus = await NatsBus.open({ servers: [server.url, ...others], ...options });
  onTestFinished(() => bus.close());
  const events: string[] = [];
  const unwatch = bus.watch({
    disconnected: () => events.push("disconnected"),
    reconnected: () => events.push("reconnected"),
    refused: (reason) => events.push(`refused: ${reason}`),
    denied: (subject) => events.push(`denied: ${subject}`),
    ended: (reason) => events.push(`ended: ${reason}`),
  });
  const arrived = new Promise<string>((resolve) => {
    bus.subscribe("x", ({ data }) => resolve(data.toString()));
  });
  return { bus, events, unwatch, arrived };
}

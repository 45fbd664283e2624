import { connect as connectTo, type Socket } from "node:net";
import { connect, type NatsConnection } from "@nats-io/transport-node";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { type NatsServer, startNats } from "../../test/fixtures/nats-server.ts";
import { ends, says, startScriptedNats } from "../../test/fixtures/scripted-nats.ts";
import type { BusMessage } from "./bus.ts";
import { type LeanNats, leanNats } from "./lean-nats.ts";
import { NatsBus } from "./nats-bus.ts";

let nats: NatsServer;
beforeAll(async () => {
  nats = await startNats();
});
afterAll(() => nats[Symbol.asyncDispose]());

function leanOf(connection: NatsConnection): LeanNats {
  const lean = leanNats(connection);
  expect(lean, "the inside of the library is the one that is known").toBeDefined();
  return lean!;
}

test("short and long messages and those that want an answer keep their order", async () => {
  const connection = await connect({ servers: nats.url });
  const lean = leanOf(connection);
  const seen: unknown[] = [];
  // Whoever subscribes in the same turn misses nothing.
  const subscription = connection.subscribe("a.b", { callback: () => void seen.push("by the library") });
  lean.receive(subscription, ({ data, reply }) => void seen.push([data.length, data[0], reply]));
  expect(lean.publish("a.b", Buffer.alloc(200_000, 255))).toBe(true);
  for (let at = 0; at < 50; at += 1) {
    expect(lean.publish("a.b", Buffer.alloc(100, at))).toBe(true);
    expect(lean.publish("a.b", Buffer.alloc(200_000, at), "a.long")).toBe(true);
    expect(lean.publish("a.b", Buffer.alloc(0), "a.reply")).toBe(true);
  }
  lean.flush();
  await connection.flush();
  const expected = Array.from({ length: 50 }, (_, at) => [
    [100, at, undefined],
    [200_000, at, "a.long"],
    [0, undefined, "a.reply"],
  ]).flat();
  expect(seen).toEqual([[200_000, 255, undefined], ...expected]);
  await connection.close();
});

test("the short messages of a turn are written at once, without waiting for another turn", async () => {
  const connection = await connect({ servers: nats.url });
  const lean = leanOf(connection);
  const { socket } = (connection as unknown as { protocol: { transport: { socket: Socket } } }).protocol
    .transport;
  const before = socket.bytesWritten;
  lean.publish("a", Buffer.from("1"));
  lean.publish("a", Buffer.from("2"));
  expect(socket.bytesWritten).toBe(before);
  await Promise.resolve();
  expect(socket.bytesWritten - before).toBe("PUB a 1\r\n1\r\n".length * 2);
  await connection.close();
});

test("that nobody receives a message is told", async () => {
  const bus = await NatsBus.open({ servers: nats.url });
  const answered = new Promise<BusMessage>((resolve) => bus.subscribe("answers", resolve));
  bus.publish("nobody.is.here", Buffer.from("?"), "answers");
  expect(await answered).toMatchObject({ subject: "answers", isUndeliverable: true });
  await bus.close();
});

test("headers that others choose are not read, and cost neither the connection nor time", async () => {
  const bus = await NatsBus.open({ servers: nats.url });
  const told: string[] = [];
  bus.watch({ disconnected: () => told.push("disconnected"), reconnected: () => {}, ended: () => {} });
  const seen = new Promise<void>((resolve) => {
    bus.subscribe("x", ({ data, isUndeliverable }) => {
      told.push(`${data.toString()} ${isUndeliverable}`);
      if (data.toString() === "last") resolve();
    });
  });
  await bus.flush();
  const many = Array.from({ length: 100_000 }, (_, at) => `a${at}:\r\n`).join("");
  const stranger = connectTo(nats.port, "127.0.0.1");
  stranger.write('CONNECT {"headers":true,"verbose":false}\r\n');
  const publish = (headers: string, body: string): void =>
    void stranger.write(`HPUB x ${headers.length} ${headers.length + body.length}\r\n${headers}${body}\r\n`);
  publish("NATS/1.0\r\nno name: x\r\n\r\n", "impossible");
  publish("nonsense", "unknown");
  publish(`NATS/1.0\r\n${many}\r\n`, "many");
  publish("NATS/1.0 5031\r\n\r\n", "other");
  publish("NATS/1.0 503\r\n\r\n", "last");
  await seen;
  expect(told).toEqual(["impossible false", "unknown false", "many false", "other false", "last true"]);
  stranger.destroy();
  await bus.close();
});

test("a subscription that has ended gets nothing of what is under way, and others go on", async () => {
  const bus = await NatsBus.open({ servers: nats.url });
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
  await bus.close();
});

test("what cannot be understood ends the connection to the server, and another is opened", async () => {
  const server = await startScriptedNats([says("MSG x 1 -1\r\n"), says("MSG x 1 2\r\nok\r\n")]);
  const bus = await NatsBus.open({ servers: server.url });
  const told: string[] = [];
  bus.watch({
    disconnected: () => told.push("disconnected"),
    reconnected: () => told.push("reconnected"),
    ended: (reason) => told.push(reason),
  });
  const message = await new Promise<BusMessage>((resolve) => bus.subscribe("x", resolve));
  expect(message.data.toString()).toBe("ok");
  expect(told).toEqual(["disconnected", "reconnected"]);
  await bus.close();
  server.close();
});

test("what cannot be understood right behind the greeting ends a connection, too", async () => {
  const server = await startScriptedNats([
    ends(),
    { ...says("MSG x 1 3\r\nbad\r\n"), ping: "PONG\r\nMSG x 1 -1\r\n" },
    says("MSG x 1 2\r\nok\r\n"),
  ]);
  const log = vi.spyOn(console, "log").mockReturnValue();
  const bus = await NatsBus.open({ servers: server.url });
  const message = await new Promise<BusMessage>((resolve) => bus.subscribe("x", resolve));
  expect(message.data.toString()).toBe("ok");
  expect(log).not.toHaveBeenCalled();
  log.mockRestore();
  await bus.close();
  server.close();
});

test("a server that stops reading is left, although what was written before cannot be sent", async () => {
  const server = await startScriptedNats([
    { subscribe: (socket) => void socket.pause() },
    says("MSG x 1 2\r\nok\r\n"),
  ]);
  const bus = await NatsBus.open({ servers: server.url, pingInterval: 500 });
  const told: string[] = [];
  bus.watch({
    disconnected: () => told.push("disconnected"),
    reconnected: () => told.push("reconnected"),
    ended: (reason) => told.push(reason),
  });
  const answered = new Promise<BusMessage>((resolve) => bus.subscribe("x", resolve));
  await Promise.resolve();
  // More than the buffers of the system take.
  for (let count = 0; count < 200; count += 1) bus.publish("y", Buffer.alloc(200_000));
  expect((await answered).data.toString()).toBe("ok");
  expect(told).toEqual(["disconnected", "reconnected"]);
  await bus.close();
  server.close();
});

test("another inside leaves everything to the library", () => {
  expect(leanNats({} as never)).toBeUndefined();
  expect(leanNats({ protocol: { parser: {} } } as never)).toBeUndefined();
});

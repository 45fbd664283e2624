import { expect, onTestFinished, test, vi } from "vitest";
import { type Act, ends, says, startScriptedNats } from "../../test/fixtures/scripted-nats.ts";
import { NatsBus } from "./nats-bus.ts";

const MESSAGE = says("MSG x 1 2\r\nok\r\n");

test.each([
  ["login", "Authorization Violation", "it refused the login (Authorization Violation)"],
  ["expired login", "User Authentication Expired", "it refused the login (User Authentication Expired)"],
])("a refused %s is told each time, and another is tried", async (_, said, reason) => {
  const refuses: Act = { ping: `-ERR '${said}'\r\n` };
  const { told, arrived } = await open([ends(), refuses, refuses, MESSAGE]);
  await arrived;
  expect(told).toEqual(["disconnected", `refused: ${reason}`, `refused: ${reason}`, "reconnected"]);
});

test("a subject that is not permitted is told, and the connection goes on", async () => {
  const { told, arrived } = await open([
    says(`-ERR 'Permissions Violation for Subscription to "x"'\r\nMSG x 1 2\r\nok\r\n`),
  ]);
  await arrived;
  await expect.poll(() => told).toEqual(["denied: x"]);
});

const SHORT = "the NATS server allows messages of 262162 bytes only: set its max_payload to 1MB";

test("a server that allows too short messages is refused, at once or when it is met again", async () => {
  await expect(open([{ maxPayload: 262_162 }])).rejects.toThrow(SHORT);
  const { told, arrived } = await open([
    { maxPayload: 262_163, ...ends() },
    { maxPayload: 262_162 },
    { maxPayload: 262_163, ...MESSAGE },
  ]);
  await arrived;
  expect(told).toEqual(["disconnected", `refused: ${SHORT}`, "reconnected"]);
});

test("nothing is published while NATS is away, or after the end, which is told", async () => {
  const { bus, told } = await open([{}]);
  expect(bus.isConnected).toBe(true);
  await bus.close();
  expect(bus.isConnected).toBe(false);
  bus.publish("x", Buffer.from("late"));
  await expect.poll(() => told).toEqual(["ended: the connection to NATS is closed"]);
});

test("what was published is sent before the end", async () => {
  const { bus } = await open([{}]);
  const flushing = vi.spyOn(bus, "flush");
  await bus.close();
  expect(flushing).toHaveBeenCalledOnce();
  await bus.close();
  expect(flushing).toHaveBeenCalledOnce();
});

test("who has stopped watching is told nothing", async () => {
  const { bus, told, unwatch } = await open([{}]);
  unwatch();
  let others = 0;
  bus.watch({ reconnected: () => {}, ended: () => void (others += 1) });
  await bus.close();
  await expect.poll(() => others).toBe(1);
  expect(told).toEqual([]);
});

/** A bus that subscribes to `x`; `arrived` resolves with its first message. */
async function open(acts: readonly Act[]) {
  const server = await startScriptedNats(acts);
  onTestFinished(() => server.close());
  const bus = await NatsBus.open({ servers: server.url });
  onTestFinished(() => bus.close());
  const told: string[] = [];
  const unwatch = bus.watch({
    disconnected: () => told.push("disconnected"),
    reconnected: () => told.push("reconnected"),
    refused: (reason) => told.push(`refused: ${reason}`),
    denied: (subject) => told.push(`denied: ${subject}`),
    ended: (reason) => told.push(`ended: ${reason}`),
  });
  const arrived = new Promise<string>((resolve) => {
    bus.subscribe("x", ({ data }) => resolve(data.toString()));
  });
  return { bus, told, unwatch, arrived };
}

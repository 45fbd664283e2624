import { once } from "node:events";
import { readdirSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { afterEach, expect, it, vi } from "vitest";
import { createDeferred } from "../../base/deferred.ts";
import { type Frame, writeFrame } from "../wire/frames.ts";
import type { RelayedConnection, ToUserServer } from "./messages.ts";
import { type Owner, OwnerListener, type OwnerListenerEvents } from "./owner-listener.ts";
import { UserLink } from "./user-link.ts";
import { openUnnamedSocket, type OpenedSocket, type UserSocket } from "./user-socket.ts";

const CLIENT: RelayedConnection = {
  number: 7,
  principal: "name:ann",
  tokenName: "ann",
  from: "unix",
  rights: { preset: "full" },
  resumable: true,
  source: "a client",
  canPing: false,
  ports: [80],
};

const cleanups: (() => void)[] = [];
afterEach(() => {
  for (const clean of cleanups.splice(0)) clean();
});

function listenOn(address: OpenedSocket, events: Partial<OwnerListenerEvents>, owner?: number): void {
  const listener = new OwnerListener(
    address.listener,
    {
      isNamed: false,
      control: () => vi.fn(),
      lost: vi.fn(),
      command: vi.fn(),
      client: () => () => undefined,
      ...events,
    },
    owner,
  );
  cleanups.push(() => listener.close());
}

function link(
  address: UserSocket,
  events: Partial<ConstructorParameters<typeof UserLink>[1]> = {},
): UserLink {
  const opened = new UserLink(address, { message: vi.fn(), failed: vi.fn(), ...events });
  cleanups.push(() => opened.close());
  return opened;
}

/** What was taken, one after another. */
function takes<T>(): { take: (value: T) => undefined; next: () => Promise<T> } {
  const values: T[] = [];
  let waiting = createDeferred<void>();
  return {
    take: (value) => {
      values.push(value);
      waiting.resolve();
    },
    next: async () => {
      while (values.length === 0) {
        await waiting.promise;
        waiting = createDeferred<void>();
      }
      return values.shift()!;
    },
  };
}

function open(address: UserSocket): Socket {
  const socket = connect({ path: address.path });
  cleanups.push(() => void socket.destroy());
  socket.on("error", () => {});
  return socket.resume();
}

/** What it says of its end does not matter. */
function closed(socket: Socket): Promise<void> {
  return new Promise((resolve) => socket.once("close", () => resolve()));
}

it("passes messages on in both directions, and tells when one side is gone", async () => {
  const address = await openUnnamedSocket();
  const owners = takes<Owner>();
  const sent = takes<ToUserServer>();
  const lost = takes<Owner>();
  listenOn(address, {
    control: (owner) => {
      owners.take(owner);
      return sent.take;
    },
    lost: lost.take,
  });
  const received = takes<unknown>();
  const opened = link(address, { message: received.take });
  opened.send({ kind: "cordon", isCordoned: true });
  opened.send({ kind: "ping" });
  const owner = await owners.next();
  expect([await sent.next(), await sent.next()]).toEqual([
    { kind: "cordon", isCordoned: true },
    { kind: "ping" },
  ]);
  owner.send({ kind: "pong", usesNetwork: false });
  expect(await received.next()).toEqual({ kind: "pong", usesNetwork: false });
  opened.close();
  expect(await lost.next()).toBe(owner);
  await opened.ended;
});

it("brings each client with its frames, which wait until they are taken", async () => {
  const address = await openUnnamedSocket();
  const frames = takes<Frame>();
  const clients = takes<RelayedConnection>();
  const ready = createDeferred<void>();
  listenOn(address, {
    client: async (connection) => {
      clients.take(connection);
      await ready.promise;
      return frames.take;
    },
  });
  const socket = link(address).connect(CLIENT);
  writeFrame(socket, "message", { bytes: [Buffer.from("one")] });
  writeFrame(socket, "message", { bytes: [Buffer.from("two")] });
  expect(await clients.next()).toEqual(CLIENT);
  ready.resolve();
  const texts = [await frames.next(), await frames.next()].map(({ bytes }) => String(Buffer.concat(bytes)));
  expect(texts).toEqual(["one", "two"]);
  socket.destroy();
});

it("leaves nothing in the file system, and nothing to connect to after its end", async () => {
  const before = readdirSync("/run");
  const address = await openUnnamedSocket();
  expect(readdirSync("/run")).toEqual(before);
  listenOn(address, {});
  const opened = link(address);
  opened.close();
  const [error] = (await once(opened.connect(CLIENT), "error")) as [Error];
  expect(error.message).toBe("it has ended");
});

it("refuses another user's connection, whatever it says", async () => {
  const address = await openUnnamedSocket();
  const control = vi.fn();
  listenOn(address, { control }, (process.geteuid?.() ?? 0) + 1);
  const socket = open(address);
  writeFrame(socket, "open", { text: '{"role":"control","protocol":1}' });
  await closed(socket);
  expect(control).not.toHaveBeenCalled();
});

it.each([
  [
    "another frame",
    (socket: Socket) => writeFrame(socket, "message", { text: '{"role":"control","protocol":1}' }),
  ],
  ["a long frame", (socket: Socket) => writeFrame(socket, "open", { text: " ".repeat(17 * 1024 * 1024) })],
  ["text that is not JSON", (socket: Socket) => writeFrame(socket, "open", { text: "{" })],
  ["bytes that are no frame", (socket: Socket) => void socket.write(Buffer.alloc(64, 255))],
])("ends a connection that begins with %s", async (_what, write) => {
  const address = await openUnnamedSocket();
  const control = vi.fn();
  listenOn(address, { control });
  const socket = open(address);
  write(socket);
  await closed(socket);
  expect(control).not.toHaveBeenCalled();
});

it("fails once if the other side sends what its program never sends", async () => {
  const address = await openUnnamedSocket();
  listenOn(address, {
    control: (owner) => {
      owner.send({ kind: "unknown" } as never);
      owner.send({ kind: "unknown" } as never);
      return vi.fn();
    },
  });
  const failures = takes<string>();
  const failed = vi.fn(failures.take);
  const opened = link(address, { failed });
  expect(await failures.next()).toBe("its server sent something that is not a message");
  await opened.ended;
  expect(failed).toHaveBeenCalledTimes(1);
});

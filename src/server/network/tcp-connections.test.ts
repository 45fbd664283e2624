import { expect, test } from "vitest";
import { createDeferred } from "../../base/deferred.ts";
import type { Listener } from "../../capabilities/tcp/listener.ts";
import type { TcpConnection } from "../../capabilities/tcp/tcp-connection.ts";
import { ListenerSlots, TcpConnections } from "./tcp-connections.ts";

class FakeListener {
  waiting = 0;
  isAwaited = false;
  isClosed = false;
  readonly next = createDeferred<TcpConnection>();

  accept(signal: AbortSignal): Promise<TcpConnection> {
    signal.addEventListener("abort", () => this.next.reject(new Error("cancelled")));
    return this.next.promise;
  }

  close(): void {
    this.isClosed = true;
  }
}

class FakeConnection {
  isDestroyed = false;

  destroy(): void {
    this.isDestroyed = true;
  }
}

const asListener = (fake: FakeListener) => fake as unknown as Listener;
const asConnection = (fake: FakeConnection) => fake as unknown as TcpConnection;

function scene({ maxTcpConnections = 2, maxListenersPerConnection = 2, maxListeners = 2 } = {}) {
  const end = new AbortController();
  const slots = new ListenerSlots(maxListeners);
  const limits = { maxTcpConnections, maxListenersPerConnection, maxListeners };
  const client = () => new TcpConnections(limits, { slots, signal: end.signal });
  return { end, client, connections: client() };
}

const open = (fake = new FakeListener()) => Promise.resolve(asListener(fake));

test("the slots of all clients are free again after a failure, unlisten, and the end of a client", async () => {
  const { client } = scene();
  const [one, other] = [client(), client()];
  await one.listen("a", () => open());
  await one.listen("b", () => open());
  const full = { data: { limit: "maxListeners" } };
  await expect(other.listen("a", () => open())).rejects.toMatchObject(full);
  one.unlisten("a");
  one.unlisten("a");
  await expect(other.listen("a", () => Promise.reject(new Error("no such port")))).rejects.toThrow(
    "no such port",
  );
  await other.listen("a", () => open());
  await expect(other.listen("b", () => open())).rejects.toMatchObject(full);
  one.closeAll();
  await other.listen("b", () => open());
});

test("a listener that is closed while it is opened takes neither slot nor id", async () => {
  const { connections } = scene({ maxListeners: 1 });
  const late = new FakeListener();
  const opening = createDeferred<Listener>();
  const answer = connections.listen("l", () => opening.promise);
  connections.unlisten("l");
  const second = new FakeListener();
  await connections.listen("l", () => open(second));
  opening.resolve(asListener(late));
  await expect(answer).rejects.toMatchObject({ code: "NOT_FOUND" });
  expect([late.isClosed, second.isClosed]).toEqual([true, false]);
  connections.unlisten("l");
  expect(second.isClosed).toBe(true);
});

test("a listener that is opened after its client has left is closed", async () => {
  const { connections, end } = scene();
  const late = new FakeListener();
  const opening = createDeferred<Listener>();
  const answer = connections.listen("l", () => opening.promise);
  end.abort();
  connections.closeAll();
  opening.resolve(asListener(late));
  await expect(answer).rejects.toMatchObject({ code: "NOT_FOUND" });
  expect(late.isClosed).toBe(true);
});

test("a connection that is accepted after its id was closed, or its client has left, is cut off", async () => {
  const { connections, end } = scene();
  const [first, second] = [new FakeListener(), new FakeListener()];
  await connections.listen("a", () => open(first));
  await connections.listen("b", () => open(second));
  const [one, two] = [new FakeConnection(), new FakeConnection()];
  const closed = connections.accept("a", "one");
  first.next.resolve(asConnection(one));
  connections.close("one");
  await closed;
  expect(one.isDestroyed).toBe(true);
  expect(() => connections.get("one")).toThrow("no TCP connection");
  const left = connections.accept("b", "two");
  end.abort();
  second.next.resolve(asConnection(two));
  await left;
  expect(two.isDestroyed).toBe(true);
});

test("waiting connections count towards the limit of all", async () => {
  const { connections } = scene();
  const listener = new FakeListener();
  await connections.listen("l", () => open(listener));
  const local = { address: "0.0.0.0", port: 1 };
  const admits = () => connections.admits({} as never, { local } as Listener);
  const opened = () => Promise.resolve(asConnection(new FakeConnection()));
  await connections.connect("a", opened);
  expect(admits()).toBe(true);
  listener.waiting = 1;
  expect(admits()).toBe(false);
  await expect(connections.connect("b", opened)).rejects.toMatchObject({
    data: { limit: "maxTcpConnections" },
  });
  connections.close("a");
  expect(admits()).toBe(true);
});

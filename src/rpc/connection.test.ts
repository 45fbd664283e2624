import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { ConnectionError, RpcError } from "../base/errors.ts";
import { createMemoryPair } from "../transport/memory.ts";
import type { Transport } from "../transport/transport.ts";
import { Connection, type ConnectionHooks } from "./connection.ts";

function hooks(overrides: Partial<ConnectionHooks> = {}): ConnectionHooks {
  const unexpected = (what: string) => () => {
    throw new Error(`unexpected ${what}`);
  };
  return {
    request: unexpected("request"),
    notification: unexpected("notification"),
    malformed: unexpected("malformed message"),
    unsolicited: unexpected("answer"),
    drain: () => {},
    closed: () => {},
    ...overrides,
  };
}

function connect(left: Partial<ConnectionHooks>, right: Partial<ConnectionHooks>): [Connection, Connection] {
  const [leftTransport, rightTransport] = createMemoryPair();
  const connections: [Connection, Connection] = [
    new Connection(leftTransport, hooks(left)),
    new Connection(rightTransport, hooks(right)),
  ];
  for (const connection of connections) connection.open();
  return connections;
}

/** The far end, driven by hand: records what it receives, and can send anything. */
function connectRaw(
  near: Partial<ConnectionHooks>,
  traits: Partial<Transport> = {},
): {
  near: Connection;
  far: Transport;
  received: string[];
} {
  const [nearTransport, far] = createMemoryPair();
  Object.assign(nearTransport, traits);
  const received: string[] = [];
  far.open({ message: (text) => received.push(text), drain: () => {}, close: () => {} });
  const connection = new Connection(nearTransport, hooks(near));
  connection.open();
  return { near: connection, far, received };
}

describe("Connection", () => {
  it("gives each request the answer with its id, in whatever order answers come", async () => {
    const ids: string[] = [];
    const [client, server] = connect({}, { request: ({ id }) => void ids.push(id) });
    const first = client.request("a", null);
    const second = client.request("b", { x: 1 });
    await expect.poll(() => ids).toEqual(["1", "2"]);
    server.sendResult("2", '"second"');
    server.fail("1", { code: -32000, message: "first failed", data: { why: 1 } });
    await expect(second).resolves.toBe("second");
    await expect(first).rejects.toMatchObject({ rpcCode: -32000, message: "first failed", data: { why: 1 } });
    await expect(first).rejects.toBeInstanceOf(RpcError);
  });

  it("carries requests in both directions at once", async () => {
    const [left, right] = connect(
      { request: ({ id }) => left.sendResult(id, '"from left"') },
      { request: ({ id }) => right.sendResult(id, '"from right"') },
    );
    await expect(Promise.all([left.request("m", null), right.request("m", null)])).resolves.toEqual([
      "from right",
      "from left",
    ]);
  });

  it("rejects every pending request with the same error when it ends, and every later one", async () => {
    const [client, server] = connect({}, { request: () => {} });
    const pending = [client.request("a", null), client.request("b", null)];
    server.destroy();
    for (const request of pending) await expect(request).rejects.toBeInstanceOf(ConnectionError);
    await expect(client.request("c", null)).rejects.toThrow("exec-server transport disconnected");
  });

  it("ends when the peer answers that its transport is closed, and loses what is pending", async () => {
    const closed = vi.fn();
    const ids: string[] = [];
    const [client, server] = connect({ closed }, { request: ({ id }) => void ids.push(id) });
    const pending = [client.request("a", null), client.request("b", null)];
    await expect.poll(() => ids).toEqual(["1", "2"]);
    server.fail("2", { code: -32000, message: "JSON-RPC transport closed" });
    for (const request of pending)
      await expect(request).rejects.toThrow("exec-server transport disconnected: JSON-RPC transport closed");
    expect(closed).toHaveBeenCalledWith("JSON-RPC transport closed", undefined);
  });

  it("reports that answer as unsolicited if nothing was asked", async () => {
    const unsolicited = vi.fn();
    const { far } = connectRaw({ unsolicited });
    far.send('{"id":1,"error":{"code":-32000,"message":"JSON-RPC transport closed"}}');
    await expect.poll(() => unsolicited).toHaveBeenCalledWith("1");
  });

  it("reports its end once", async () => {
    const closed = vi.fn();
    const { near, far } = connectRaw({ closed });
    far.destroy();
    await expect.poll(() => closed).toHaveBeenCalledTimes(1);
    near.destroy("again");
    near.close();
    expect(closed).toHaveBeenCalledTimes(1);
  });

  it("reports text that is no message, with its source, and continues", async () => {
    const malformed = vi.fn();
    const notification = vi.fn();
    const { far } = connectRaw({ malformed, notification });
    far.send("{}");
    far.send('{"method":"n","params":[1]}');
    await expect.poll(() => notification).toHaveBeenCalledWith("n", [1]);
    expect(malformed).toHaveBeenCalledWith(
      "failed to parse JSON-RPC message from exec-server memory: missing field `error`",
    );
  });

  it("reports an answer to nothing that was asked", async () => {
    const unsolicited = vi.fn();
    const { far } = connectRaw({ unsolicited });
    far.send('{"id":9,"result":null}');
    await expect.poll(() => unsolicited).toHaveBeenCalledWith("9");
  });

  it("answers a malformed message with the id -1", async () => {
    const { near, received } = connectRaw({});
    near.failMalformed({ code: -32600, message: "no" });
    await expect.poll(() => received).toEqual(['{"error":{"code":-32600,"message":"no"},"id":-1}']);
  });

  describe("where the transport may go silent", () => {
    const times = { askMs: 10, silenceMs: 100 };

    // A late check is not trusted, so a busy machine would decide how these end.
    beforeEach(() => void vi.useFakeTimers());
    afterEach(() => void vi.useRealTimers());

    function connectSilent(near: Partial<ConnectionHooks>) {
      const connected = connectRaw(near, { mayGoSilent: true });
      const statuses = (): number =>
        connected.received.filter((text) => text.includes("environment/status")).length;
      return { ...connected, statuses };
    }

    it("asks for a sign of life, one at a time, and ends when none comes", async () => {
      const closed = vi.fn();
      const { near, statuses } = connectSilent({ closed });
      near.expectLife(times);
      await vi.advanceTimersByTimeAsync(105);
      expect(closed).not.toHaveBeenCalled();
      await vi.advanceTimersByTimeAsync(10);
      expect(closed).toHaveBeenCalledWith("the server has been silent for 100ms", undefined);
      expect(statuses()).toBe(1);
    });

    it("continues as long as anything is answered, an error too", async () => {
      const closed = vi.fn();
      const { near, far, received, statuses } = connectSilent({ closed });
      near.expectLife(times);
      for (let asked = 1; asked <= 15; asked += 1) {
        for (let turn = 0; turn < 3 && statuses() < asked; turn += 1) await vi.advanceTimersByTimeAsync(10);
        expect(statuses()).toBe(asked);
        const { id } = JSON.parse(received.at(-1)!) as { id: number };
        far.send(JSON.stringify({ id, error: { code: -32601, message: "unknown" } }));
      }
      expect(closed).not.toHaveBeenCalled();
      near.destroy();
    });

    it("waits longer while file work is unanswered", async () => {
      const closed = vi.fn();
      const { near } = connectSilent({ closed });
      near.request("fs/copy", {}).catch(() => {});
      near.expectLife(times);
      await vi.advanceTimersByTimeAsync(505);
      expect(closed).not.toHaveBeenCalled();
      await vi.advanceTimersByTimeAsync(10);
      expect(closed).toHaveBeenCalled();
    });

    it("does not ask while it does not read, and does not end", async () => {
      const closed = vi.fn();
      const { near, statuses } = connectSilent({ closed });
      near.pause();
      near.expectLife(times);
      await vi.advanceTimersByTimeAsync(1_000);
      expect(statuses()).toBe(0);
      expect(closed).not.toHaveBeenCalled();
      near.destroy();
    });

    it("asks nothing where the transport knows of its end", async () => {
      const { near, received } = connectRaw({});
      near.expectLife(times);
      await vi.advanceTimersByTimeAsync(1_000);
      expect(received).toEqual([]);
      near.destroy();
    });
  });
});

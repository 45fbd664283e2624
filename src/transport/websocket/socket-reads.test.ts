import { once } from "node:events";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import { WebSocketServer } from "ws";
import { createDeferred } from "../../base/deferred.ts";
import { MAX_MESSAGE_BYTES } from "../../protocol/wire-limits.ts";
import type { LongMessage, Transport } from "../transport.ts";
import { connectWebSocket } from "./connect-websocket.ts";
import { plainHeader } from "./frame-header.ts";
import { SocketReads } from "./socket-reads.ts";

const TOO_LONG = /^failed to read websocket JSON-RPC message from ws:.+: Max payload size exceeded$/;
const LONG = 400_000;
/** For a busy machine. */
const TIMEOUT_MS = 30_000;
const TEXT_BEGUN = 0x01;
const CONTINUED = 0x00;
const LAST = 0x80;

let server: WebSocketServer | undefined;

afterEach(() => {
  for (const client of server?.clients ?? []) client.terminate();
  server?.close();
});

/** A client, and the socket of the server that it is connected to. */
async function connected(): Promise<{ transport: Transport; socket: Socket }> {
  server = new WebSocketServer({ host: "127.0.0.1", port: 0 });
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const transport = await connectWebSocket(`ws://127.0.0.1:${port}`);
  const [peer] = server.clients;
  return { transport, socket: (peer as unknown as { _socket: Socket })._socket };
}

/** A message whose bytes differ from those of all others. */
function text(index: number, length: number): string {
  const mark = `<${index}>`;
  return JSON.stringify({ id: index, value: mark.repeat(Math.ceil(length / mark.length)).slice(0, length) });
}

function frame(payload: Buffer, first?: number): Buffer {
  const header = plainHeader(payload.length);
  header[0] = first ?? header[0]!;
  return Buffer.concat([header, payload]);
}

/** A message in three fragments, with a ping between two of them. */
function fragments(message: string): Buffer {
  const bytes = Buffer.from(message);
  const third = Math.ceil(bytes.length / 3);
  return Buffer.concat([
    frame(bytes.subarray(0, third), TEXT_BEGUN),
    frame(bytes.subarray(third, 2 * third), CONTINUED),
    Buffer.from([0x89, 2, 0x68, 0x69]),
    frame(bytes.subarray(2 * third), CONTINUED | LAST),
  ]);
}

interface Heard {
  readonly texts: string[];
  readonly longs: LongMessage[];
  readonly ended: Promise<string | undefined>;
  /** Resolves when there are so many messages. */
  until(count: number): Promise<void>;
}

function listen(transport: Transport, onMessage: (heard: number) => void = () => {}): Heard {
  const texts: string[] = [];
  const longs: LongMessage[] = [];
  const ended = createDeferred<string | undefined>();
  let wanted: { count: number; resolve: () => void } | undefined;
  const add = (message: string): void => {
    texts.push(message);
    onMessage(texts.length);
    if (texts.length === wanted?.count) wanted.resolve();
  };
  transport.open({
    message: add,
    longMessage: (long) => {
      longs.push(long);
      add(long.text());
    },
    drain: () => {},
    close: (reason) => {
      ended.resolve(reason);
    },
  });
  const until = (count: number): Promise<void> =>
    new Promise((resolve) => {
      wanted = { count, resolve };
      if (texts.length >= count) resolve();
    });
  return { texts, longs, ended: ended.promise, until };
}

const lengths = [0, 10, 5_000, 70_000, LONG, 90, 300_000, LONG + 1, 3, 150_000];
const messages = Array.from({ length: 60 }, (_, index) => text(index, lengths[index % lengths.length]!));
const wire = Buffer.concat(
  messages.map((message, index) => (index % 7 === 3 ? fragments(message) : frame(Buffer.from(message)))),
);

describe("a socket that reads into the same memory", { timeout: TIMEOUT_MS }, () => {
  it("brings every message, long or short, whole or in fragments, however it is cut", async () => {
    const { transport, socket } = await connected();
    const heard = listen(transport);
    let step = 1;
    for (let start = 0; start < wire.length; start += step) {
      step = (step * 7919 + 13) % 90_001;
      socket.write(wire.subarray(start, start + step));
    }
    await heard.until(messages.length);
    expect(heard.texts).toEqual(messages);
    transport.destroy();
  });

  it("loses and reorders nothing when it is paused in the middle", async () => {
    const { transport, socket } = await connected();
    const heard = listen(transport, (count) => {
      if (count % 4 !== 0) return;
      transport.pause();
      setImmediate(() => transport.resume());
    });
    socket.write(wire);
    await heard.until(messages.length);
    expect(heard.texts).toEqual(messages);
    transport.destroy();
  });

  it("leaves a message alone that somebody still holds, and uses the memory of others again", async () => {
    const { transport, socket } = await connected();
    const heard = listen(transport);
    const send = async (from: number, count: number): Promise<LongMessage[]> => {
      const before = heard.longs.length;
      for (let index = from; index < from + count; index += 1)
        socket.write(frame(Buffer.from(text(index, LONG))));
      await heard.until(from + count);
      return heard.longs.slice(before);
    };
    const held = await send(0, 3);
    const memory = new Set(held.map(({ value }) => value.buffer));
    expect(memory.size).toBe(3);
    for (const { value } of await send(3, 5)) expect(memory.has(value.buffer)).toBe(false);
    expect(held.map((long) => long.text())).toEqual([0, 1, 2].map((index) => text(index, LONG)));
    held[1]!.release();
    const [next] = await send(8, 1);
    expect(next!.value.buffer).toBe(held[1]!.value.buffer);
    expect(next!.text()).toBe(text(8, LONG));
    expect([held[0]!.text(), held[2]!.text()]).toEqual([text(0, LONG), text(2, LONG)]);
    transport.destroy();
  });

  it("offers nothing that comes after what the stream still holds", async () => {
    const tcp = createServer().listen(0, "127.0.0.1");
    await once(tcp, "listening");
    const reads = new SocketReads();
    const { port } = tcp.address() as AddressInfo;
    const client = reads.connect({ host: "127.0.0.1", port });
    const [peer] = (await once(tcp, "connection")) as [Socket];
    const offered: string[] = [];
    const holds = (bytes: number): Promise<void> =>
      new Promise((resolve) => {
        const look = (): void => {
          if (client.readableLength < bytes) return;
          client.off("readable", look);
          resolve();
        };
        client.on("readable", look);
        look();
      });
    peer.write("first");
    await holds(5);
    reads.offer((chunk) => {
      offered.push(chunk.toString());
      return chunk.length;
    });
    peer.write("second");
    await holds(11);
    expect(String(client.read())).toBe("firstsecond");
    expect(offered).toEqual([]);
    client.on("data", (chunk) => offered.push(`data ${String(chunk)}`));
    client.resume();
    peer.end("third");
    await once(client, "end");
    expect(offered).toEqual(["third"]);
    client.destroy();
    tcp.close();
  });

  it("ends in the middle of a frame without a message", async () => {
    for (const end of ["end", "resetAndDestroy"] as const) {
      const { transport, socket } = await connected();
      const heard = listen(transport);
      const whole = frame(Buffer.from(text(1, LONG)));
      socket.write(whole);
      await heard.until(1);
      socket.write(whole.subarray(0, 400_000), () => socket[end]());
      await heard.ended;
      expect(heard.texts).toHaveLength(1);
    }
  });

  it("ends when fragments, or a frame, become longer than any message", async () => {
    const endless = await connected();
    const heard = listen(endless.transport);
    const piece = Buffer.alloc(1024 * 1024, "x");
    endless.socket.on("error", () => {});
    endless.socket.write(frame(piece, TEXT_BEGUN));
    for (let index = 1; index < 4; index += 1) endless.socket.write(frame(piece, CONTINUED));
    const next = plainHeader(MAX_MESSAGE_BYTES - 4 * piece.length + 1);
    next[0] = CONTINUED;
    endless.socket.write(next);
    expect(await heard.ended).toMatch(TOO_LONG);
    const huge = await connected();
    const other = listen(huge.transport);
    huge.socket.on("error", () => {});
    huge.socket.write(plainHeader(MAX_MESSAGE_BYTES + 1));
    expect(await other.ended).toMatch(TOO_LONG);
    expect([...heard.texts, ...other.texts]).toEqual([]);
  });
});

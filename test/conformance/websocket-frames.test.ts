import { once } from "node:events";
import { expect } from "vitest";
import type { WebSocket } from "ws";
import { expectClosed, expectDropped } from "./malformed.ts";
import { frame, openRawWebSocket } from "./raw-http.ts";
import type { RawPeer } from "./raw-peer.ts";
import { verifies } from "./verifies.ts";

const MAX_FRAME_BYTES = 16 * 1024 * 1024;
const MAX_MESSAGE_BYTES = 64 * 1024 * 1024;
const FRAGMENT_BYTES = 8 * 1024 * 1024;

const status = '{"id":1,"method":"environment/status"}';
const ready = { id: 1, result: { status: "ready" } };

function socketOf(peer: RawPeer): WebSocket {
  if (peer.webSocket === undefined) throw new TypeError("not a websocket peer");
  return peer.webSocket;
}

/** A status request of exactly this many bytes. */
function requestOfBytes(bytes: number): Buffer {
  const request = Buffer.alloc(bytes, "a");
  request.write('{"id":1,"method":"environment/status","x":"');
  request.write('"}', bytes - 2);
  return request;
}

function sendInFragments(socket: WebSocket, message: Buffer): void {
  for (let offset = 0; offset < message.length; offset += FRAGMENT_BYTES) {
    const end = offset + FRAGMENT_BYTES;
    socket.send(message.subarray(offset, end), { binary: false, fin: end >= message.length });
  }
}

verifies("ws:text-frames", async ({ connect }) => {
  const connection = await connect();
  const kinds: boolean[] = [];
  socketOf(connection).on("message", (_, isBinary) => kinds.push(isBinary));
  await connection.handshake();
  await connection.request("environment/status");
  connection.sendText("junk");
  await connection.next((message) => message.id === -1);
  expect(kinds).toEqual([false, false, false]);
});

verifies("ws:binary-accepted", async ({ peer }) => {
  const connection = await peer();
  const kind = once(socketOf(connection), "message").then(([, isBinary]: unknown[]) => isBinary);
  connection.sendBinary(Buffer.from(status));
  expect(await connection.next()).toEqual(ready);
  expect(await kind).toBe(false);
});

verifies("ws:fragments", async ({ peer }) => {
  const connection = await peer();
  const socket = socketOf(connection);
  socket.send('{"id":1,"meth', { fin: false });
  socket.send("", { fin: false });
  socket.send('od":"environment/', { fin: false });
  socket.send('status"}', { fin: true });
  expect(await connection.next()).toEqual(ready);
});

verifies("ws:fragments-binary", async ({ peer }) => {
  const connection = await peer();
  const socket = socketOf(connection);
  // The split is inside a character: a fragment by itself need not be UTF-8.
  const message = Buffer.from('{"id":"é","method":"environment/status"}');
  const cut = message.indexOf(Buffer.from("é")) + 1;
  for (const binary of [true, false]) {
    socket.send(message.subarray(0, cut), { fin: false, binary });
    socket.send(message.subarray(cut), { fin: true, binary });
    expect(await connection.next()).toEqual({ ...ready, id: "é" });
  }
});

verifies("ws:ping-between-fragments", async ({ peer }) => {
  const connection = await peer();
  const socket = socketOf(connection);
  const pong = once(socket, "pong");
  socket.send(status.slice(0, 10), { fin: false });
  socket.ping("between");
  socket.send(status.slice(10), { fin: true });
  expect(String((await pong)[0])).toBe("between");
  expect(await connection.next()).toEqual(ready);
});

verifies("ws:frame-limit", async ({ peer }) => {
  const connection = await peer();
  socketOf(connection).send(requestOfBytes(MAX_FRAME_BYTES), { binary: false });
  expect(await connection.next(undefined, 20_000)).toEqual(ready);
});

verifies("ws:frame-over-limit", async ({ peer }) => {
  const connection = await peer();
  await expectDropped(connection, () => {
    socketOf(connection).send(requestOfBytes(MAX_FRAME_BYTES + 1), { binary: false });
  });
});

verifies("ws:message-limit", async ({ peer }) => {
  const connection = await peer();
  sendInFragments(socketOf(connection), requestOfBytes(MAX_MESSAGE_BYTES));
  expect(await connection.next(undefined, 20_000)).toEqual(ready);
});

verifies("ws:message-over-limit", async ({ peer }) => {
  const connection = await peer();
  const before = connection.rawMessages.length;
  sendInFragments(socketOf(connection), requestOfBytes(MAX_MESSAGE_BYTES + 1));
  await expectClosed(connection, 20_000);
  expect(connection.rawMessages.slice(before)).toEqual([]);
});

verifies("ws:ping-answered", async ({ connect }) => {
  const connection = await connect();
  const socket = socketOf(connection);
  for (const payload of ["hello", "", "x".repeat(125)]) {
    const pong = once(socket, "pong");
    socket.ping(payload);
    expect(String((await pong)[0])).toBe(payload);
  }
});

verifies("ws:pong-ignored", async ({ peer }) => {
  const connection = await peer();
  socketOf(connection).pong("unasked");
  expect(await connection.request("environment/status")).toEqual({ status: "ready" });
});

verifies("ws:invalid-utf8", async ({ peer }) => {
  const connection = await peer();
  await expectDropped(connection, () => {
    socketOf(connection).send(Buffer.from([0x7b, 0xff, 0x7d]), { binary: false });
  });
});

verifies("ws:broken-frames", async ({ target }) => {
  const payload = Buffer.from("{}");
  const broken = {
    unmasked: frame(0x81, payload, { masked: false }),
    "reserved bit": frame(0xc1, payload),
    "reserved opcode": frame(0x83, payload),
    "continuation of nothing": frame(0x80, payload),
    "fragmented ping": frame(0x09, payload),
    "long ping": frame(0x89, Buffer.alloc(126)),
    "text inside a fragmented text": Buffer.concat([frame(0x01, payload), frame(0x81, payload)]),
  };
  for (const [name, bytes] of Object.entries(broken)) {
    const socket = await openRawWebSocket(target.url ?? "");
    let isEnded = true;
    const timer = setTimeout(() => {
      isEnded = false;
      socket.destroy();
    }, 20_000);
    socket.write(bytes);
    await socket.ended;
    clearTimeout(timer);
    expect(isEnded, name).toBe(true);
  }
});

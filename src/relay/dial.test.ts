import { createHash } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { createDeferred } from "../base/deferred.ts";
import { Carrier } from "./carrier.ts";
import { dialRelay } from "./dial.ts";
import { writeFrame, type RelayFrame } from "./frame.ts";

const HANDSHAKE_GUID = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";

test("a frame that arrives together with the answer to the upgrade is not lost", async () => {
  const frame: RelayFrame = { kind: "reset", streamId: "s", reason: "early" };
  const url = await relayThatSays(writeFrame(frame));

  const webSocket = await dialRelay(url, { timeoutMs: 5_000, signal: AbortSignal.timeout(5_000) });
  const received = createDeferred<unknown>();
  const carrier = new Carrier(webSocket, {
    frame: (first) => received.resolve(first),
    close: () => received.resolve("closed"),
  });

  expect(await received.promise).toEqual(frame);
  carrier.destroy();
});

/** A relay whose first message is in the same packet as its answer. */
async function relayThatSays(message: Buffer): Promise<string> {
  const server = createServer().on("upgrade", ({ headers }, socket) => {
    const accept = createHash("sha1")
      .update(`${headers["sec-websocket-key"]}${HANDSHAKE_GUID}`)
      .digest("base64");
    const head = `HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ${accept}\r\n\r\n`;
    socket.on("error", () => {});
    socket.write(Buffer.concat([Buffer.from(head), Buffer.from([0x82, message.length]), message]));
    onTestFinished(() => void socket.destroy());
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => void server.close());
  return `ws://127.0.0.1:${(server.address() as AddressInfo).port}/`;
}

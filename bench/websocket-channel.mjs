import { randomBytes } from "node:crypto";
import net from "node:net";
import { answerControl, encodeText, FrameReader } from "./frames.mjs";

const READ_BUFFER_BYTES = 256 * 1024;
/** Larger buffers would take a quarter of a gigabyte for a thousand connections. */
const SMALL_READ_BUFFER_BYTES = 4 * 1024;

/**
 * A channel carries messages: `encode` returns the bytes of one, `write` sends such bytes. `onMessage` gets the bytes
 * of each message, valid only during the call; `onEnd` gets the error that ended the channel.
 */
export function openWebSocket(url, { onMessage, onEnd, small = false }) {
  const { hostname, port } = new URL(url);
  return new Promise((resolve, reject) => {
    let head = Buffer.alloc(0);
    let upgraded = false;
    const fail = (error) => {
      socket.destroy();
      reject(error);
      onEnd(error);
    };
    const reader = new FrameReader({
      onMessage,
      onControl: (opcode, payload) => {
        const answer = answerControl(opcode, payload);
        if (answer) socket.write(answer);
      },
    });
    const onBytes = (bytes) => {
      if (upgraded) return reader.push(bytes);
      head = Buffer.concat([head, bytes]);
      const end = head.indexOf("\r\n\r\n");
      if (end === -1) return;
      if (!head.toString("latin1", 0, 12).endsWith(" 101")) {
        return fail(new Error(`upgrade refused: ${head.toString("latin1", 0, end)}`));
      }
      upgraded = true;
      resolve({
        encode: encodeText,
        write: (bytes) => socket.write(bytes),
        pause: () => socket.pause(),
        resume: () => socket.resume(),
        close: () => socket.destroy(),
      });
      reader.push(head.subarray(end + 4));
    };
    const socket = net.connect({
      host: hostname.replace(/^\[|\]$/g, ""),
      port: Number(port),
      noDelay: true,
      onread: {
        buffer: Buffer.allocUnsafe(small ? SMALL_READ_BUFFER_BYTES : READ_BUFFER_BYTES),
        callback: (count, buffer) => {
          try {
            onBytes(buffer.subarray(0, count));
          } catch (error) {
            fail(error);
          }
          return true;
        },
      },
    });
    socket.on("error", fail);
    socket.on("close", () => fail(new Error("connection closed")));
    socket.write(
      `GET / HTTP/1.1\r\nHost: ${hostname}:${port}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n` +
        `Sec-WebSocket-Key: ${randomBytes(16).toString("base64")}\r\nSec-WebSocket-Version: 13\r\n\r\n`,
    );
  });
}

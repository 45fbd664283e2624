import { randomBytes } from "node:crypto";
import net from "node:net";
import { answerControl, encodeText, FrameReader } from "./frames.mjs";

const READ_BUFFER_BYTES = 256 * 1024;
const OUTPUT_METHOD = "process/output";
// Both servers put the method first; a server that does not is still understood, through JSON.parse.
const METHOD_WITHIN_BYTES = 40;
const CHUNK_MEMBER = Buffer.from('"chunk":"');
const QUOTE = 0x22;

/** Where the base64 text of a `process/output` message lies, without parsing the message. */
function chunkRange(message) {
  const member = message.indexOf(CHUNK_MEMBER);
  if (member === -1) throw new Error("process/output without a chunk");
  const start = member + CHUNK_MEMBER.length;
  return { start, end: message.indexOf(QUOTE, start) };
}

export function outputByteCount(message) {
  const { start, end } = chunkRange(message);
  const padding = message[end - 1] !== 0x3d ? 0 : message[end - 2] !== 0x3d ? 1 : 2;
  return ((end - start) / 4) * 3 - padding;
}

export function outputBytes(message) {
  const { start, end } = chunkRange(message);
  return Buffer.from(message.toString("latin1", start, end), "base64");
}

/**
 * One raw JSON-RPC connection. `onOutput` gets the undecoded message of every `process/output`, valid only during the
 * call; `onNotification` gets every other notification.
 */
export class Wire {
  onOutput = () => {};
  onNotification = () => {};
  #socket;
  #nextId = 1;
  #pending = new Map();
  #failure = null;

  static async connect(url) {
    const wire = new Wire();
    await wire.#open(new URL(url));
    return wire;
  }

  #open({ hostname, port }) {
    return new Promise((resolve, reject) => {
      let head = Buffer.alloc(0);
      let upgraded = false;
      const reader = new FrameReader({
        onMessage: (message) => this.#message(message),
        onControl: (opcode, payload) => {
          const answer = answerControl(opcode, payload);
          if (answer) this.#socket.write(answer);
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
        resolve();
        reader.push(head.subarray(end + 4));
      };
      const fail = (error) => {
        this.#socket.destroy();
        reject(error);
        this.#fail(error);
      };
      this.#socket = net.connect({
        host: hostname.replace(/^\[|\]$/g, ""),
        port: Number(port),
        noDelay: true,
        onread: {
          buffer: Buffer.allocUnsafe(READ_BUFFER_BYTES),
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
      this.#socket.on("error", fail);
      this.#socket.on("close", () => fail(new Error("connection closed")));
      this.#socket.write(
        `GET / HTTP/1.1\r\nHost: ${hostname}:${port}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n` +
          `Sec-WebSocket-Key: ${randomBytes(16).toString("base64")}\r\nSec-WebSocket-Version: 13\r\n\r\n`,
      );
    });
  }

  #message(message) {
    if (message.toString("latin1", 0, METHOD_WITHIN_BYTES).includes(OUTPUT_METHOD))
      return this.onOutput(message);
    const parsed = JSON.parse(message.toString());
    if (parsed.method === OUTPUT_METHOD) return this.onOutput(message);
    if (parsed.method !== undefined) return this.onNotification(parsed.method, parsed.params);
    const call = this.#pending.get(parsed.id);
    this.#pending.delete(parsed.id);
    if (parsed.error) call.reject(new Error(`${call.method}: ${parsed.error.code} ${parsed.error.message}`));
    else call.resolve(parsed.result);
  }

  #fail(error) {
    if (this.#failure) return;
    this.#failure = error;
    for (const call of this.#pending.values()) call.reject(error);
    this.#pending.clear();
  }

  request(method, params = null) {
    if (this.#failure) return Promise.reject(this.#failure);
    const id = this.#nextId++;
    return new Promise((resolve, reject) => {
      this.#pending.set(id, { method, resolve, reject });
      this.#socket.write(encodeText(JSON.stringify({ id, method, params })));
    });
  }

  notify(method, params = {}) {
    this.#socket.write(encodeText(JSON.stringify({ method, params })));
  }

  close() {
    this.#fail(new Error("closed by the bench"));
    this.#socket.destroy();
  }
}

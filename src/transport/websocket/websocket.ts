import { isUtf8 } from "node:buffer";
import type { Socket } from "node:net";
import { WebSocket } from "ws";
import { formatDuration } from "../../base/duration.ts";
import { type LifeTimes, LifeWatch } from "../../base/life-watch.ts";
import { MAX_SENT_FRAME_BYTES, PING_INTERVAL_MS } from "../../protocol/wire-limits.ts";
import { decodeText, NO_TEXT } from "../decode-text.ts";
import { FlushTimer } from "../flush-timer.ts";
import { closeFrame } from "./close-frame.ts";
import { plainHeader } from "./frame-header.ts";
import { FrameBatch, MAX_BATCHED_CHARACTERS } from "./frame-batch.ts";
import { giveBackFrameBuffer } from "./frame-buffers.ts";
import { liftLongString } from "../long-string.ts";
import { describeEnd, describeFault } from "./lost-websocket.ts";
import { SendQueue } from "../send-queue.ts";
import { applyMask, MASK_BYTES, maskedHeader } from "./mask.ts";
import { takeSmallMessages } from "./small-frames.ts";
import { addressOf } from "./socket-address.ts";
import type { Farewell, Transport, TransportEvents } from "../transport.ts";

/** Time a peer has for its part of a close, whichever side started it, before the connection is cut. */
const CLOSE_TIMEOUT_MS = 1_000;
/** An option that the library's types lack. */
export const CLOSING = { closeTimeout: CLOSE_TIMEOUT_MS };

/** Messages over an open WebSocket, at either end. */
export class WebSocketTransport implements Transport {
  readonly #describePeer: () => string;
  readonly #webSocket: WebSocket;
  readonly #socket: Socket;
  readonly #isServer: boolean;
  readonly #masks: boolean;
  readonly #flush: FlushTimer;
  /** Messages that wait for the end of the current callback or turn. */
  readonly #batch = new FrameBatch();
  #batchBytes = 0;
  #corked = false;
  readonly #queue = new SendQueue(() => {
    if (!this.#ended) this.#events?.drain();
  });
  #events: TransportEvents | undefined;
  #pings = 0;
  #isClosing = false;
  #ended = false;
  #endReason: string | undefined;

  /**
   * `socket` is the one below `webSocket`: corking it sends the messages of one turn of the event loop with one system
   * call. `describePeer` is called only for faults, because the peer's address takes a system call.
   */
  constructor(
    webSocket: WebSocket,
    socket: Socket,
    {
      side,
      describePeer,
      masks = false,
    }: {
      side: "client" | "server";
      describePeer: () => string;
      /** Long messages of bytes are masked here, which the library does byte by byte. */
      masks?: boolean;
    },
  ) {
    this.#describePeer = describePeer;
    this.#webSocket = webSocket;
    this.#socket = socket;
    this.#isServer = side === "server";
    this.#masks = masks;
    this.#flush = new FlushTimer({
      // The batch itself is a single write anyway.
      cork: () => {},
      uncork: () => this.#uncork(),
    });
    // Nothing must be lost before `open`.
    webSocket.pause();
  }

  get source(): string {
    return `websocket JSON-RPC message from ${this.#describePeer()}`;
  }

  get queuedBytes(): number {
    return this.#queue.bytes;
  }

  get receivedBytes(): number {
    return this.#socket.bytesRead;
  }

  get sentBytes(): number {
    return this.#socket.bytesWritten;
  }

  get from(): string {
    return addressOf(this.#socket);
  }

  /** Earlier messages precede the ping, so only a peer that reads can answer. */
  ping(answered: () => void): void {
    if (this.#webSocket.readyState !== WebSocket.OPEN) return;
    this.#pings += 1;
    const payload = `${this.#pings}`;
    const onPong = (data: Buffer): void => {
      if (data.toString("latin1") !== payload) return;
      this.#webSocket.off("pong", onPong);
      answered();
    };
    this.#webSocket.on("pong", onPong);
    this.#uncork();
    this.#webSocket.ping(payload);
  }

  open(events: TransportEvents): void {
    this.#events = events;
    const webSocket = this.#webSocket;
    webSocket.on("message", (data, isBinary) => {
      if (this.#ended) return;
      // By default, ws passes one Buffer per message, and has validated text frames itself.
      const bytes = data as Buffer;
      const release = (): void => giveBackFrameBuffer(bytes);
      const isText = !isBinary || isUtf8(bytes);
      const long = events.longMessage && isText ? liftLongString(bytes, release) : undefined;
      if (long !== undefined) {
        events.longMessage?.(long);
        return;
      }
      const text = isText ? decodeText(bytes) : NO_TEXT;
      release();
      this.#deliver(text);
    });
    // A `close` event always follows and reports the end.
    const fault = (error: Error): void => {
      this.#endReason ??= this.#isServer ? error.message : describeFault(this.#describePeer(), error);
    };
    webSocket.on("error", fault);
    // The library does not report these. A client that just disappears is not worth logging.
    if (!this.#isServer) this.#socket.on("error", fault);
    webSocket.on("close", (code, reason) => {
      if (!this.#isServer && !this.#isClosing)
        this.#endReason ??= describeEnd(this.#describePeer(), code, reason.toString());
      this.#end(code);
    });
    if (webSocket.readyState === WebSocket.CLOSED) this.#end();
    else webSocket.resume();
  }

  /**
   * Delivers small messages from the start of a chunk, bypassing the WebSocket library; returns where the rest starts.
   * See `takeSmallMessages`.
   */
  deliverSmall(chunk: Buffer, maxMessageBytes: number): number {
    return this.#flush.during(() => takeSmallMessages(chunk, maxMessageBytes, this.#deliver));
  }

  readonly #deliver = (text: string): void => {
    if (!this.#ended) this.#events?.message(text);
  };

  /** Keeps proxies from closing the connection. Pongs are not required: a busy peer is not dead. */
  keepAlive(): void {
    const timer = setInterval(() => this.#webSocket.ping(), PING_INTERVAL_MS).unref();
    this.#webSocket.once("close", () => clearInterval(timer));
  }

  /** See `TransportEvents.tooLong`. The WebSocket library ends the connection itself. */
  refuseLongMessage(): void {
    if (!this.#ended) this.#events?.tooLong?.();
  }

  /**
   * Ends the connection if the peer gives no sign of life for a while, although pinged: a failed network reports
   * nothing.
   */
  expectLife(times: LifeTimes): void {
    const socket = this.#socket;
    const watch = new LifeWatch(
      {
        // Bytes, not messages: one message may take long.
        signs: () => ({
          received: socket.bytesRead,
          sent: socket.bytesWritten - socket.writableLength,
          queued: socket.writableLength,
        }),
        isReading: () => !this.#webSocket.isPaused,
        ask: () => this.#webSocket.ping(),
        lost: () => this.destroy(`the server has been silent for ${formatDuration(times.silenceMs)}`),
      },
      times,
    );
    this.#webSocket.once("close", () => watch.stop());
  }

  send(message: string | Uint8Array, flushed?: () => void): void {
    this.#flush.soon();
    this.#send(message, flushed);
  }

  sendLazily(message: string | Uint8Array, flushed?: () => void): void {
    this.#flush.thisTurn();
    this.#send(message, flushed);
  }

  #send(message: string | Uint8Array, flushed: (() => void) | undefined): void {
    if (this.#isShut(flushed)) return;
    const bytes = message.length;
    this.#queue.add(bytes);
    // Clients must mask what they send, which is left to the library.
    if (
      this.#isServer &&
      typeof message === "string" &&
      bytes <= MAX_BATCHED_CHARACTERS &&
      flushed === undefined
    ) {
      this.#batch.add(message);
      this.#batchBytes += bytes;
      if (this.#batch.isFull) this.#sendBatch();
      return;
    }
    this.#cork();
    const done = this.#flushes(bytes, flushed);
    if (this.#masks && typeof message !== "string" && bytes <= MAX_SENT_FRAME_BYTES)
      this.#sendMasked(message, done);
    else if (bytes * 3 > MAX_SENT_FRAME_BYTES) this.#sendLarge(message, done);
    else this.#webSocket.send(message, { binary: false }, done);
  }

  #isShut(flushed: (() => void) | undefined): boolean {
    if (!this.#ended && this.#webSocket.readyState === WebSocket.OPEN) return false;
    flushed?.();
    return true;
  }

  #flushes(bytes: number, flushed: (() => void) | undefined): () => void {
    return () => {
      flushed?.();
      this.#queue.remove(bytes);
    };
  }

  /** The library writes what follows in several pieces. */
  #cork(): void {
    if (!this.#corked) this.#socket.cork();
    this.#corked = true;
    this.#sendBatch();
  }

  #uncork(): void {
    this.#sendBatch();
    if (!this.#corked) return;
    this.#corked = false;
    this.#socket.uncork();
  }

  #sendBatch(): void {
    if (this.#batch.isEmpty) return;
    const bytes = this.#batchBytes;
    this.#batchBytes = 0;
    this.#socket.write(this.#batch.take(), () => this.#queue.remove(bytes));
  }

  sendParts(parts: readonly Uint8Array[], flushed?: () => void): void {
    if (this.#isShut(flushed)) return;
    this.#flush.soon();
    this.#cork();
    const bytes = parts.reduce((sum, part) => sum + part.length, 0);
    this.#queue.add(bytes);
    const done = this.#flushes(bytes, flushed);
    if (this.#isServer && bytes <= MAX_SENT_FRAME_BYTES) {
      this.#sendWhole(parts, bytes, done);
      return;
    }
    for (const [index, part] of parts.entries()) {
      const fin = index === parts.length - 1;
      this.#webSocket.send(part, { binary: false, fin }, fin ? done : undefined);
    }
  }

  /** One frame is received with less work than fragments. */
  #sendWhole(parts: readonly Uint8Array[], bytes: number, done: () => void): void {
    this.#socket.write(plainHeader(bytes));
    for (const [index, part] of parts.entries())
      this.#socket.write(part, index === parts.length - 1 ? done : undefined);
  }

  pause(): void {
    this.#webSocket.pause();
  }

  resume(): void {
    this.#webSocket.resume();
  }

  close(farewell: Farewell = { code: 1000, reason: "" }): void {
    const { code, reason } = closeFrame(farewell);
    this.#isClosing = true;
    this.#sendBatch();
    this.#webSocket.close(code, reason);
  }

  /**
   * The library reports the end late, and may hold messages that it has already read: none of them may be delivered.
   */
  destroy(reason?: string): void {
    if (this.#ended) return;
    this.#endReason = reason;
    // Earlier answers are still flushed, as far as the socket accepts them.
    this.#uncork();
    this.#webSocket.terminate();
    this.#end();
  }

  /** Overwrites the bytes, which are no longer needed. */
  #sendMasked(message: Uint8Array, done: () => void): void {
    const header = maskedHeader(message.length);
    applyMask(message, header.readInt32LE(header.length - MASK_BYTES));
    this.#socket.write(header);
    this.#socket.write(message, done);
  }

  #sendLarge(message: string | Uint8Array, done: () => void): void {
    const bytes = typeof message === "string" ? Buffer.from(message) : message;
    for (let start = 0; start < bytes.length || start === 0; start += MAX_SENT_FRAME_BYTES) {
      const end = start + MAX_SENT_FRAME_BYTES;
      const fin = end >= bytes.length;
      this.#webSocket.send(bytes.subarray(start, end), { binary: false, fin }, fin ? done : undefined);
    }
  }

  #end(code?: number): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#events?.close(this.#endReason, code);
  }
}

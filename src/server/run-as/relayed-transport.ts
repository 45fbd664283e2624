import type { Socket } from "node:net";
import { decodeText } from "../../transport/decode-text.ts";
import { FlushTimer } from "../../transport/flush-timer.ts";
import { liftLongString } from "../../transport/long-string.ts";
import { SendQueue } from "../../transport/send-queue.ts";
import type { Farewell, Transport, TransportEvents } from "../../transport/transport.ts";
import { contentOf, type Frame, type FrameContent, writeFrame } from "../wire/frames.ts";
import type { RelayedConnection, RelayedEnd } from "./messages.ts";

const GONE = "the server that accepted the connection has ended";

/** A client whose messages another program passes on; see `RelayedClient`. */
export class RelayedTransport implements Transport {
  readonly source: string;
  readonly from: string;
  readonly ping?: (answered: () => void) => void;
  readonly #socket: Socket;
  /** Messages of one callback are sent together. */
  readonly #flush: FlushTimer;
  readonly #queue = new SendQueue(() => this.#events?.drain());
  readonly #pings = new Map<number, () => void>();
  #events: TransportEvents | undefined;
  #lastPing = 0;
  #receivedBytes = 0;
  #sentBytes = 0;
  #isPaused = false;
  #resumed: (() => void) | undefined;
  #end: RelayedEnd | undefined;

  constructor(socket: Socket, { source, from, canPing }: RelayedConnection) {
    this.#socket = socket;
    this.#flush = new FlushTimer(socket);
    this.source = source;
    this.from = from;
    if (canPing) this.ping = (answered) => this.#ping(answered);
  }

  get queuedBytes(): number {
    return this.#queue.bytes;
  }

  /** Those of messages; at the end all that the client has sent. */
  get receivedBytes(): number {
    return this.#end?.receivedBytes ?? this.#receivedBytes;
  }

  get sentBytes(): number {
    return this.#end?.sentBytes ?? this.#sentBytes;
  }

  open(events: TransportEvents): void {
    this.#events = events;
    if (this.#socket.destroyed) setImmediate(() => this.#finish({ reason: GONE }));
    else this.#socket.on("close", () => this.#finish({ reason: GONE }));
  }

  send(message: string | Uint8Array, flushed?: () => void): void {
    this.#flush.soon();
    this.#send(contentOf(message), message.length, flushed);
  }

  sendLazily(message: string | Uint8Array, flushed?: () => void): void {
    this.#flush.thisTurn();
    this.#send(contentOf(message), message.length, flushed);
  }

  sendParts(parts: readonly Uint8Array[], flushed?: () => void): void {
    this.#flush.soon();
    this.#send(
      { bytes: parts },
      parts.reduce((sum, part) => sum + part.length, 0),
      flushed,
    );
  }

  #send(content: FrameContent, bytes: number, flushed: (() => void) | undefined): void {
    if (this.#end !== undefined || !this.#socket.writable) {
      flushed?.();
      return;
    }
    this.#sentBytes += bytes;
    this.#queue.add(bytes);
    writeFrame(this.#socket, "message", content, () => {
      flushed?.();
      this.#queue.remove(bytes);
    });
  }

  pause(): void {
    this.#isPaused = true;
  }

  resume(): void {
    this.#isPaused = false;
    this.#resumed?.();
  }

  /** The end is reported when the client knows of it. */
  close(farewell?: Farewell): void {
    if (this.#end === undefined && this.#socket.writable)
      writeFrame(this.#socket, "close", farewell === undefined ? {} : { text: JSON.stringify(farewell) });
  }

  destroy(reason?: string): void {
    if (this.#end === undefined && this.#socket.writable)
      writeFrame(this.#socket, "destroy", { text: reason ?? "" });
    this.#finish({ reason });
  }

  #ping(answered: () => void): void {
    this.#lastPing += 1;
    this.#pings.set(this.#lastPing, answered);
    if (this.#socket.writable) writeFrame(this.#socket, "ping", { id: this.#lastPing });
  }

  /** Takes what follows the frame that has opened the connection. */
  take({ kind, id, text, bytes }: Frame): Promise<void> | undefined {
    if (kind === "pong") {
      this.#pings.get(id)?.();
      this.#pings.delete(id);
    } else if (kind === "close") this.#finish(JSON.parse(text) as RelayedEnd);
    else if (kind === "message" && this.#end === undefined) this.#deliver(text, bytes);
    return this.#isPaused && this.#end === undefined ? this.#room() : undefined;
  }

  #deliver(text: string, parts: readonly Buffer[]): void {
    if (parts.length === 0) {
      this.#receivedBytes += text.length;
      this.#events?.message(text);
      return;
    }
    const content = parts.length === 1 ? parts[0]! : Buffer.concat(parts);
    this.#receivedBytes += content.length;
    const long = this.#events?.longMessage && liftLongString(content);
    if (long === undefined) this.#events?.message(decodeText(content));
    else this.#events?.longMessage?.(long);
  }

  async #room(): Promise<void> {
    await new Promise<void>((resolve) => {
      this.#resumed = resolve;
    });
    this.#resumed = undefined;
  }

  #finish(end: RelayedEnd): void {
    if (this.#end !== undefined) return;
    this.#end = end;
    this.#pings.clear();
    this.#resumed?.();
    this.#events?.close(end.reason, end.code);
    this.#socket.end();
  }
}

import type { Socket } from "node:net";
import {
  HIGH_WATER_BYTES,
  type Farewell,
  type LongMessage,
  type Transport,
} from "../../transport/transport.ts";
import { type Frame, FrameReader, writeFrame } from "../wire/frames.ts";
import type { RelayedEnd } from "./messages.ts";

export interface RelayOptions {
  /** The reason given to a client whose message is too long. */
  tooLong(): string;
  /** The server of the user is gone. */
  lost(): void;
  /** The client has gone, or was sent away. Called once. */
  closed(reason: string | undefined): void;
}

/**
 * Passes the messages of a client on to the server of its user, and back. It looks into none of them. Each side waits
 * for the other.
 */
export class Relay {
  readonly #transport: Transport;
  readonly #socket: Socket;
  readonly #options: RelayOptions;
  /** Resolves when the client has read enough. */
  #drained: (() => void) | undefined;
  #closed = false;

  /** `socket` leads to the server of the user. */
  constructor(transport: Transport, socket: Socket, options: RelayOptions) {
    this.#transport = transport;
    this.#socket = socket;
    this.#options = options;
  }

  open(): void {
    const socket = this.#socket;
    const reader = new FrameReader({ frame: (frame) => this.#take(frame) });
    const read = (chunk: Buffer): void => {
      const waiting = reader.read(chunk);
      if (waiting === undefined) return;
      socket.pause();
      waiting.then(
        () => socket.resume(),
        (error: unknown) => socket.destroy(error as Error),
      );
    };
    socket.on("data", (chunk: Buffer) => {
      try {
        read(chunk);
      } catch (error) {
        socket.destroy(error as Error);
      }
    });
    socket.on("drain", () => this.#transport.resume());
    // Its end is what matters, and follows.
    socket.on("error", () => {});
    socket.on("close", () => {
      if (!this.#closed) this.#options.lost();
    });
    this.#transport.open({
      message: (text) => this.#pass([Buffer.from(text)]),
      longMessage: (message) => this.#passLong(message),
      tooLong: () => this.#transport.send(this.#options.tooLong()),
      drain: () => this.#drained?.(),
      close: (reason) => this.#end(reason),
    });
  }

  /** Passes nothing more on, and gives the client the reason. */
  dismiss(farewell: Farewell): void {
    if (this.#closed) return;
    this.#end(farewell.reason);
    this.#transport.close(farewell);
  }

  #pass(bytes: readonly Uint8Array[]): void {
    if (this.#closed || !this.#socket.writable) return;
    writeFrame(this.#socket, "message", { bytes });
    if (this.#socket.writableNeedDrain) this.#transport.pause();
  }

  #passLong(message: LongMessage): void {
    const { head, value, tail } = message;
    this.#pass([Buffer.from(`${head}"`), value, Buffer.from(`"${tail}`)]);
    // An empty write, to learn when everything before it is flushed.
    this.#socket.write("", () => message.release());
  }

  #take({ kind, id, text, bytes }: Frame): Promise<void> | undefined {
    if (this.#closed) return undefined;
    switch (kind) {
      case "message":
        if (bytes.length === 1) this.#transport.send(bytes[0]!);
        else this.#transport.sendParts(bytes);
        return this.#transport.queuedBytes < HIGH_WATER_BYTES ? undefined : this.#room();
      case "ping":
        this.#transport.ping?.(() => {
          if (!this.#closed) writeFrame(this.#socket, "pong", { id });
        });
        return undefined;
      case "close":
        this.#transport.close(text === "" ? undefined : (JSON.parse(text) as Farewell));
        return undefined;
      case "destroy":
        this.#transport.destroy(text === "" ? undefined : text);
        return undefined;
      default:
        return undefined;
    }
  }

  async #room(): Promise<void> {
    await new Promise<void>((resolve) => {
      this.#drained = resolve;
    });
    this.#drained = undefined;
  }

  #end(reason: string | undefined): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#drained?.();
    const { receivedBytes, sentBytes } = this.#transport;
    const end: RelayedEnd = { reason, receivedBytes, sentBytes };
    if (this.#socket.writable) writeFrame(this.#socket, "close", { text: JSON.stringify(end) });
    this.#socket.end();
    this.#options.closed(reason);
  }
}

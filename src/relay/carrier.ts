import { WebSocket } from "ws";
import { readFrame, type RelayFrame } from "./frame.ts";

/** Bytes that wait in the socket before streams have to wait for their turn. */
const MAX_BUFFERED_BYTES = 256 * 1024;

/** Something that has frames to send. */
export interface FrameSource {
  /** The next frame, with what to call when it was handed to the system; undefined if there is none. */
  nextFrame(): { frame: Buffer; sent: () => void } | undefined;
}

export interface CarrierEvents {
  frame(frame: RelayFrame, bytes: number): void;
  /** Called once. */
  close(code: number, reason: string): void;
}

/** Frames of many streams over one socket to a relay. Streams that have much to send take turns. */
export class Carrier {
  readonly #webSocket: WebSocket;
  readonly #waiting = new Set<FrameSource>();

  constructor(webSocket: WebSocket, events: CarrierEvents) {
    this.#webSocket = webSocket;
    webSocket.on("message", (data, isBinary) => {
      // Both ends of the protocol ignore what is not a frame.
      const frame = isBinary ? readFrame(data as Buffer) : undefined;
      if (frame !== undefined) events.frame(frame, (data as Buffer).length);
    });
    // `close` follows.
    webSocket.on("error", () => {});
    webSocket.once("close", (code, reason) => events.close(code, reason.toString()));
    webSocket.resume();
  }

  get isOpen(): boolean {
    return this.#webSocket.readyState === WebSocket.OPEN;
  }

  get bufferedBytes(): number {
    return this.#webSocket.bufferedAmount;
  }

  /** Sends a frame before all that wait for their turn. */
  send(frame: Buffer, sent?: () => void): void {
    if (this.isOpen) this.#webSocket.send(frame, () => sent?.());
    else sent?.();
  }

  /** A stream has something to send. */
  schedule(source: FrameSource): void {
    this.#waiting.add(source);
    this.#pump();
  }

  unschedule(source: FrameSource): void {
    this.#waiting.delete(source);
  }

  pause(): void {
    this.#webSocket.pause();
  }

  resume(): void {
    this.#webSocket.resume();
  }

  /** Sends what the socket holds, and ends. */
  close(): void {
    this.#webSocket.close();
  }

  destroy(): void {
    this.#webSocket.terminate();
  }

  #pump(): void {
    for (const source of this.#waiting) {
      if (this.bufferedBytes >= MAX_BUFFERED_BYTES) return;
      // To the end of the line, which this loop reaches again.
      this.#waiting.delete(source);
      const next = source.nextFrame();
      if (next === undefined) continue;
      this.#waiting.add(source);
      this.send(next.frame, () => {
        next.sent();
        this.#pump();
      });
    }
  }
}

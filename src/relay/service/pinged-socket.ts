import type { WebSocket } from "ws";
import type { FrameSocket } from "./client.ts";
import { LIMITS } from "./limits.ts";

export interface SocketEvents {
  frame(bytes: Buffer): void;
  closed(): void;
  /** Something has been sent. */
  drained?(): void;
}

/** A WebSocket of a relay: it is pinged, and closed when it is silent. */
export class PingedSocket implements FrameSocket {
  readonly #webSocket: WebSocket;
  readonly #events: SocketEvents;
  readonly #timer: NodeJS.Timeout;
  #heardAt = performance.now();
  #isClosing = false;

  constructor(webSocket: WebSocket, events: SocketEvents) {
    this.#webSocket = webSocket;
    this.#events = events;
    this.#timer = setInterval(() => this.#checkLife(), LIMITS.pingMs);
    const heard = (): void => void (this.#heardAt = performance.now());
    webSocket.on("pong", heard);
    webSocket.on("ping", heard);
    webSocket.on("message", (data, isBinary) => {
      heard();
      if (isBinary && !this.#isClosing) events.frame(data as Buffer);
    });
    // `close` follows.
    webSocket.on("error", () => {});
    webSocket.once("close", () => {
      clearInterval(this.#timer);
      events.closed();
    });
  }

  get queuedBytes(): number {
    return this.#webSocket.bufferedAmount;
  }

  send(frame: Buffer): void {
    // The library would count what it drops as waiting.
    if (this.#isClosing) return;
    this.#webSocket.send(frame, () => {
      // The network takes more only if the peer does. Behind so much, an answer to a ping may come late.
      if (this.queuedBytes > 0) this.#heardAt = performance.now();
      this.#events.drained?.();
    });
  }

  pause(): void {
    this.#webSocket.pause();
  }

  resume(): void {
    if (!this.#webSocket.isPaused) return;
    // It could not be heard.
    this.#heardAt = performance.now();
    this.#webSocket.resume();
  }

  close(code: number, reason: string): void {
    this.#isClosing = true;
    // To read the answer.
    this.resume();
    this.#webSocket.close(code, reason);
  }

  #checkLife(): void {
    if (performance.now() - this.#heardAt > LIMITS.silenceMs && !this.#webSocket.isPaused)
      this.#webSocket.terminate();
    else this.#webSocket.ping();
  }
}

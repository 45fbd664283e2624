import { after, formatDuration } from "../../base/duration.ts";
import { ConnectionError } from "../../base/errors.ts";
import { shownUrl } from "../../base/shown-url.ts";
import { describeEnd } from "./lost-websocket.ts";
import { type Farewell, LOW_WATER_BYTES, type Transport, type TransportEvents } from "../transport.ts";

const POLL_MS = 20;

/**
 * Messages over a browser's WebSocket. It cannot stop reading, so `pause` does nothing; unread messages are limited
 * above the transport.
 */
class BrowserWebSocketTransport implements Transport {
  readonly source: string;
  /** Pages can neither send nor see pings. */
  readonly mayGoSilent = true;
  readonly #webSocket: WebSocket;
  readonly #early: string[] = [];
  #events: TransportEvents | undefined;
  #isClosing = false;
  #ended = false;
  #endReported = false;
  #reason: string | undefined;
  #polling = false;

  constructor(webSocket: WebSocket) {
    this.source = `websocket JSON-RPC message from ${shownUrl(webSocket.url)}`;
    this.#webSocket = webSocket;
    webSocket.addEventListener("message", ({ data }) => {
      const text = typeof data === "string" ? data : new TextDecoder().decode(data as ArrayBuffer);
      if (this.#events === undefined) this.#early.push(text);
      else if (!this.#endReported) this.#events.message(text);
    });
    webSocket.addEventListener("close", ({ code, reason }) => {
      if (!this.#isClosing) this.#reason ??= describeEnd(shownUrl(webSocket.url), code, reason);
      this.#reportEnd();
    });
  }

  get queuedBytes(): number {
    return this.#webSocket.bufferedAmount;
  }

  open(events: TransportEvents): void {
    this.#events = events;
    for (const text of this.#early.splice(0)) if (!this.#endReported) events.message(text);
    if (this.#ended) this.#reportEnd();
  }

  send(message: string | Uint8Array, flushed?: () => void): void {
    if (this.#webSocket.readyState === WebSocket.OPEN)
      this.#webSocket.send(typeof message === "string" ? message : new TextDecoder().decode(message));
    flushed?.();
    this.#watchQueue();
  }

  sendLazily(message: string | Uint8Array, flushed?: () => void): void {
    this.send(message, flushed);
  }

  sendParts(parts: readonly Uint8Array[], flushed?: () => void): void {
    const decoder = new TextDecoder();
    this.send(parts.map((part) => decoder.decode(part, { stream: true })).join(""), flushed);
  }

  pause(): void {}

  resume(): void {}

  close({ code, reason }: Farewell = { code: 1000, reason: "" }): void {
    this.#isClosing = true;
    this.#webSocket.close(code, reason);
  }

  destroy(reason?: string): void {
    if (!this.#ended) this.#reason = reason;
    this.#webSocket.close();
    this.#reportEnd();
  }

  /** Browsers have no event for it. */
  #watchQueue(): void {
    if (this.#polling || this.queuedBytes <= LOW_WATER_BYTES) return;
    this.#polling = true;
    setTimeout(() => {
      this.#polling = false;
      if (this.#ended) return;
      if (this.queuedBytes <= LOW_WATER_BYTES) this.#events?.drain();
      else this.#watchQueue();
    }, POLL_MS);
  }

  #reportEnd(): void {
    this.#ended = true;
    if (this.#endReported || this.#events === undefined) return;
    this.#endReported = true;
    this.#events.close(this.#reason);
  }
}

/** Opens a browser's WebSocket. Browsers do not say why one failed. */
export function connectBrowserWebSocket(
  url: string,
  { timeoutMs, signal, protocols }: { timeoutMs: number; signal: AbortSignal; protocols: readonly string[] },
): Promise<Transport> {
  return new Promise((resolve, reject) => {
    const webSocket = new WebSocket(url, [...protocols]);
    webSocket.binaryType = "arraybuffer";
    // Removes all listeners of the attempt.
    const attempt = new AbortController();
    const listening = { once: true, signal: attempt.signal };
    const fail = (error: unknown): void => {
      settle();
      webSocket.close();
      reject(error);
    };
    const cancelTimer = after(timeoutMs, () => {
      const text = `timed out connecting to exec-server websocket \`${shownUrl(url)}\` after ${formatDuration(timeoutMs)}`;
      fail(new ConnectionError(text, { code: "TIMED_OUT" }));
    });
    const settle = (): void => {
      cancelTimer();
      attempt.abort();
    };
    const abort = (): void => fail(signal.reason);
    signal.addEventListener("abort", abort, listening);
    webSocket.addEventListener(
      "open",
      () => {
        settle();
        resolve(new BrowserWebSocketTransport(webSocket));
      },
      listening,
    );
    webSocket.addEventListener(
      "error",
      () => fail(new ConnectionError(`failed to connect to exec-server websocket \`${shownUrl(url)}\``)),
      listening,
    );
    if (signal.aborted) abort();
  });
}

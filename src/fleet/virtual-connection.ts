import { isUtf8 } from "node:buffer";
import { formatDuration } from "../base/duration.ts";
import { DEFAULT_LIFE, LifeWatch } from "../base/life-watch.ts";
import { MAX_MESSAGE_BYTES } from "../protocol/wire-limits.ts";
import { decodeText, NO_TEXT } from "../transport/decode-text.ts";
import { liftLongString } from "../transport/long-string.ts";
import type { Farewell, Transport, TransportEvents } from "../transport/transport.ts";
import type { Bus, BusMessage } from "./bus.ts";
import { abortFrame, FrameKind, HEADER_BYTES, readProgress, readReason, readState } from "./frames.ts";
import { Incoming, WINDOW_BYTES } from "./incoming.ts";
import { Outgoing } from "./outgoing.ts";
import { PROBE_MS, StateExchange } from "./state-exchange.ts";

/** How long a peer may be absent from the bus while it reconnects. */
const ABSENCE_MS = 3_000;
/** Time a peer has to read the rest when the connection is closed. */
const CLOSE_TIMEOUT_MS = 1_000;
const NORMAL_CLOSE = 1000;
const TOO_LONG_CLOSE = 1009;

export interface VirtualConnectionOptions {
  readonly bus: Bus;
  /** Subjects at which this end and its peer receive. */
  readonly own: string;
  readonly peer: string;
  /** Whether this end has dialled. The other end stays silent until it is sure that the dialler has chosen it. */
  readonly isDialler: boolean;
  /** Name of the peer in reasons: `executor web-1`. */
  readonly peerName: string;
  /** Address of the peer, for observers. */
  readonly from?: string;
  readonly maxMessageBytes?: number | undefined;
  /** Whether the peer's name was last used by another program. */
  readonly isReplaced?: () => boolean;
  /** Called when nothing more is to be received. */
  readonly ended: () => void;
}

/** Messages over two subjects of a bus, as over a connection. */
export class VirtualConnection implements Transport {
  readonly #options: VirtualConnectionOptions;
  readonly #maxMessageBytes: number;
  readonly #incoming: Incoming;
  readonly #outgoing: Outgoing;
  readonly #exchange: StateExchange;
  readonly #life: LifeWatch;
  readonly #unwatch: () => void;
  #events: TransportEvents | undefined;
  #hasHeard = false;
  receivedBytes = 0;
  sentBytes = 0;
  #absentSince: number | undefined;
  /** Time of the last question whether the peer is there. */
  #askedAt = Number.NEGATIVE_INFINITY;
  #pings: (() => void)[] = [];
  #closeTimer: NodeJS.Timeout | undefined;
  #isClosing = false;
  #ended = false;
  #endReason: string | undefined;
  #endCode: number | undefined;

  constructor(options: VirtualConnectionOptions) {
    this.#options = options;
    this.#maxMessageBytes = options.maxMessageBytes ?? MAX_MESSAGE_BYTES;
    this.#incoming = new Incoming(
      {
        message: (bytes) => this.#deliver(bytes),
        tooLong: () => this.#refuseLong(),
        end: (code, reason) => this.#receiveEnd(code, reason),
      },
      this.#maxMessageBytes,
    );
    this.#outgoing = new Outgoing(
      {
        progress: () => this.#exchange.reportProgress(),
        isOpen: () => !this.#ended && options.bus.isConnected,
        publish: (frame) => this.#publish(frame),
        drained: () => {
          if (!this.#ended) this.#events?.drain();
        },
      },
      WINDOW_BYTES,
    );
    this.#exchange = new StateExchange({
      incoming: this.#incoming,
      outgoing: this.#outgoing,
      isOpen: () => options.bus.isConnected,
      isPeerAbsent: () => this.#absentSince !== undefined,
      // A reply subject makes the bus report missing receivers.
      publish: (frame, wantsAnswer) => this.#publish(frame, wantsAnswer ? options.own : undefined),
    });
    this.#life = new LifeWatch(
      {
        signs: () => ({ received: this.receivedBytes, sent: 0, queued: 0 }),
        isReading: () => true,
        ask: () => this.#exchange.send({ ask: true }),
        lost: () => {
          const silence = formatDuration(DEFAULT_LIFE.silenceMs);
          this.destroy(
            options.bus.isConnected
              ? `${options.peerName} has been silent for ${silence}`
              : `the connection to the NATS server has been lost for ${silence}`,
          );
        },
      },
      DEFAULT_LIFE,
    );
    this.#unwatch = options.bus.watch({
      reconnected: () => {
        this.#outgoing.sendAgain();
        this.#exchange.send({ resend: true, ask: true });
      },
      ended: (reason) => this.#end(reason),
    });
  }

  get source(): string {
    return `JSON-RPC message from ${this.#options.isDialler ? this.#options.peerName : "exec-server fleet"}`;
  }

  get from(): string {
    return this.#options.from ?? this.#options.peerName;
  }

  get queuedBytes(): number {
    return this.#outgoing.queuedBytes;
  }

  open(events: TransportEvents): void {
    this.#events = events;
    if (this.#ended) events.close(this.#endReason, this.#endCode);
    else this.resume();
  }

  send(message: string | Uint8Array, flushed?: () => void): void {
    if (this.#isShut(flushed)) return;
    this.#outgoing.send(message, flushed);
    this.#exchange.expectAcknowledgement();
  }

  /** The bus collects the frames of a turn anyway. */
  sendLazily(message: string | Uint8Array, flushed?: () => void): void {
    this.send(message, flushed);
  }

  sendParts(parts: readonly Uint8Array[], flushed?: () => void): void {
    if (this.#isShut(flushed)) return;
    this.#outgoing.sendParts(parts, flushed);
    this.#exchange.expectAcknowledgement();
  }

  #isShut(flushed: (() => void) | undefined): boolean {
    if (!this.#ended && !this.#isClosing) return false;
    flushed?.();
    return true;
  }

  pause(): void {
    this.#incoming.pause();
  }

  resume(): void {
    if (this.#ended) return;
    this.#incoming.resume();
    this.#exchange.sendSoon();
  }

  ping(answered: () => void): void {
    if (this.#ended) return;
    this.#pings.push(answered);
    this.#exchange.send({ ask: true });
  }

  close({ code, reason }: Farewell = { code: NORMAL_CLOSE, reason: "" }): void {
    if (this.#ended || this.#isClosing) return;
    this.#isClosing = true;
    this.#outgoing.finish(code, reason);
    this.#closeTimer = setTimeout(() => this.destroy(), CLOSE_TIMEOUT_MS);
    this.#exchange.expectAcknowledgement();
  }

  destroy(reason?: string): void {
    if (this.#ended) return;
    if (this.#options.isDialler || this.#hasHeard) this.#publish(abortFrame(reason ?? ""));
    this.#end(reason);
  }

  /** Finds out whether the peer is still there: the bus says at once if it is not. */
  ask(): void {
    const now = performance.now();
    if (now - this.#askedAt < PROBE_MS) return;
    this.#askedAt = now;
    this.#exchange.send({ ask: true });
  }

  /** Takes a message for the subject of this end. */
  receive({ data, isUndeliverable }: BusMessage): void {
    if (this.#ended) return;
    if (isUndeliverable) {
      this.#noteAbsence();
      return;
    }
    this.#hasHeard = true;
    this.receivedBytes += data.length;
    this.#absentSince = undefined;
    switch (data[0]) {
      case FrameKind.piece:
      case FrameKind.last:
      case FrameKind.end:
        this.#receiveNumbered(data);
        return;
      case FrameKind.state:
        this.#receiveState(data);
        return;
      case FrameKind.abort:
        this.#end(data.length > 1 ? readReason(data.subarray(1)) : undefined);
        return;
      case FrameKind.accept:
        // The answer to a dial that was repeated.
        return;
      default:
        this.#violated();
    }
  }

  #receiveNumbered(frame: Buffer): void {
    if (frame.length < HEADER_BYTES) {
      this.#violated();
      return;
    }
    this.#acknowledge(readProgress(frame));
    if (this.#ended) return;
    switch (this.#incoming.take(frame)) {
      case "taken":
        this.#exchange.sendSoon();
        return;
      case "repeated":
        // The peer may not know that this has arrived. One answer is enough for many frames.
        this.#exchange.sendLater();
        return;
      case "gap":
        this.#exchange.askToResend();
        return;
      case "violation":
        this.#violated();
    }
  }

  #receiveState(frame: Buffer): void {
    const state = readState(frame);
    if (state === undefined) {
      this.#violated();
      return;
    }
    this.#acknowledge(state);
    if (this.#ended) return;
    if (state.resend) this.#exchange.resend();
    if (state.sent > this.#incoming.progress.received) this.#exchange.askToResend();
    else if (state.ask) this.#exchange.send();
    else for (const answered of this.#pings.splice(0)) answered();
  }

  /** A reader allows a window beyond what it has read, so more credit than this would only fill the sender's memory. */
  #acknowledge(progress: { received: number; limit: number }): void {
    const { received, limit } = progress;
    if (received > this.#outgoing.end || limit > received + WINDOW_BYTES) {
      this.#violated();
      return;
    }
    this.#outgoing.acknowledge(progress);
    if (this.#isClosing && this.#outgoing.isEmpty) this.#end();
  }

  #deliver(bytes: Buffer): void {
    if (!isUtf8(bytes)) {
      this.#events?.message(NO_TEXT);
      return;
    }
    const long = this.#events?.longMessage && liftLongString(bytes);
    if (long === undefined) this.#events?.message(decodeText(bytes));
    else this.#events?.longMessage?.(long);
  }

  #refuseLong(): void {
    const reason = `a message is longer than ${this.#maxMessageBytes} bytes`;
    if (this.#maxMessageBytes < MAX_MESSAGE_BYTES) {
      this.#events?.tooLong?.();
      this.#endReason = reason;
      this.close({ code: TOO_LONG_CLOSE, reason });
    } else this.destroy(reason);
  }

  #receiveEnd(code: number, reason: string): void {
    this.#exchange.send();
    this.#end(code === NORMAL_CLOSE || reason === "" ? undefined : reason, code);
  }

  #violated(): void {
    this.destroy("a frame violates the fleet protocol");
  }

  /**
   * The bus reports at once that a subject has no receivers, but the peer may just be reconnecting, unless another
   * program has its name by now.
   */
  #noteAbsence(): void {
    const now = performance.now();
    this.#absentSince ??= now;
    if (this.#options.isReplaced?.() === true) this.destroy(`${this.#options.peerName} has been restarted`);
    else if (now - this.#absentSince >= ABSENCE_MS)
      this.destroy(`${this.#options.peerName} has left the fleet`);
    else this.#exchange.expectAcknowledgement();
  }

  #publish(frame: Buffer, reply?: string): void {
    this.sentBytes += frame.length;
    this.#options.bus.publish(this.#options.peer, frame, reply);
  }

  /** `code` is the close code that the peer sent. */
  #end(reason?: string, code?: number): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#endReason ??= reason;
    clearTimeout(this.#closeTimer);
    this.#exchange.stop();
    this.#life.stop();
    this.#unwatch();
    this.#incoming.stop();
    this.#outgoing.clear();
    this.#options.ended();
    this.#endCode = code;
    this.#events?.close(this.#endReason, code);
  }
}

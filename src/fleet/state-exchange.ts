import { type Progress, stateFrame } from "./frames.ts";
import { type Incoming, WINDOW_BYTES } from "./incoming.ts";
import type { Outgoing } from "./outgoing.ts";

/** Progress of this many bytes is sent at once; less waits for a frame that can carry it. */
const REPORT_BYTES = WINDOW_BYTES / 8;
const REPORT_MS = 25;
/** If nothing is acknowledged for this long, the peer is asked what it is missing. */
export const PROBE_MS = 500;
/** A peer that wants everything again and again gets it once in this time: each time may be a whole window. */
const RESEND_MS = 250;

export interface StateExchangeOptions {
  readonly incoming: Incoming;
  readonly outgoing: Outgoing;
  /** False while frames would be lost. */
  readonly isOpen: () => boolean;
  /** Whether the bus reports that messages have no receivers. */
  readonly isPeerAbsent: () => boolean;
  readonly publish: (frame: Buffer, wantsAnswer: boolean) => void;
}

/** When an end of a virtual connection sends its peer how far it is, asks what the peer misses, and sends it again. */
export class StateExchange {
  readonly #options: StateExchangeOptions;
  /** Progress that the peer has last been sent. */
  #reported: Progress = { received: 0, limit: WINDOW_BYTES };
  #reportTimer: NodeJS.Timeout | undefined;
  #probeTimer: NodeJS.Timeout | undefined;
  /** Acknowledged position at the last probe. */
  #probedAt = -1;
  /** The gap about which the peer was asked last, and when. */
  #gap = { position: -1, askedAt: 0 };
  #resentAt = Number.NEGATIVE_INFINITY;
  #resendTimer: NodeJS.Timeout | undefined;
  #isStopped = false;

  constructor(options: StateExchangeOptions) {
    this.#options = options;
  }

  /** The progress, for a frame that carries it to the peer. */
  reportProgress(): Progress {
    this.#reported = this.#options.incoming.progress;
    return this.#reported;
  }

  /** Sends the peer the state of both directions. */
  send({ resend = false, ask = false }: { resend?: boolean; ask?: boolean } = {}): void {
    const { outgoing, isOpen, publish } = this.#options;
    if (this.#isStopped || !isOpen()) return;
    publish(stateFrame({ ...this.reportProgress(), sent: outgoing.end, resend, ask }), ask);
  }

  /** Sends the progress that the peer does not know yet: at once if it is much. */
  sendSoon(): void {
    if (this.#isStopped) return;
    const { received, limit } = this.#options.incoming.progress;
    const [moreReceived, moreLimit] = [received - this.#reported.received, limit - this.#reported.limit];
    if (moreReceived === 0 && moreLimit === 0) return;
    if (moreReceived >= REPORT_BYTES || moreLimit >= REPORT_BYTES) this.send();
    else this.sendLater();
  }

  sendLater(): void {
    // Whatever is sent until then carries the progress, unless it is lost.
    this.#reportTimer ??= setTimeout(() => {
      this.#reportTimer = undefined;
      this.send();
    }, REPORT_MS).unref();
  }

  /** Many frames may follow a gap: asking once is enough. */
  askToResend(): void {
    const now = performance.now();
    const position = this.#options.incoming.progress.received;
    if (position === this.#gap.position && now - this.#gap.askedAt < PROBE_MS / 2) return;
    this.#gap = { position, askedAt: now };
    this.send({ resend: true });
  }

  /** The peer misses frames. */
  resend(): void {
    const leftMs = this.#resentAt + RESEND_MS - performance.now();
    if (leftMs > 0) {
      this.#resendTimer ??= setTimeout(() => {
        this.#resendTimer = undefined;
        this.resend();
      }, leftMs).unref();
      return;
    }
    this.#resentAt = performance.now();
    this.#options.outgoing.sendAgain();
  }

  /** Frames at the end may be lost without a later one that would show it. */
  expectAcknowledgement(): void {
    if (this.#isStopped || this.#probeTimer !== undefined) return;
    this.#probeTimer = setTimeout(() => {
      this.#probeTimer = undefined;
      this.#probe();
    }, PROBE_MS).unref();
  }

  stop(): void {
    this.#isStopped = true;
    clearTimeout(this.#reportTimer);
    clearTimeout(this.#probeTimer);
    clearTimeout(this.#resendTimer);
  }

  #probe(): void {
    const { outgoing, isPeerAbsent } = this.#options;
    const isAbsent = isPeerAbsent();
    if (outgoing.isEmpty && !isAbsent) return;
    if (outgoing.acknowledged === this.#probedAt || isAbsent) this.send({ ask: true });
    this.#probedAt = outgoing.acknowledged;
    this.expectAcknowledgement();
  }
}

import { type Progress, stateFrame } from "./frames.ts";
import { type Incoming, WINDOW_BYTES } from "./incoming.ts";
import type { Outgoing } from "./outgoing.ts";

/** Progress of this many bytes is sent at once; less waits for a frame that can carry it. */
const TOLD_BYTES = WINDOW_BYTES / 8;
const TOLD_MS = 25;
/** If nothing is acknowledged for so long, the peer is asked what it misses. */
export const PROBE_MS = 500;
/** A peer that wants everything again and again gets it once in this time: each time may be a whole window. */
const RESEND_MS = 250;

export interface StateExchangeOptions {
  readonly incoming: Incoming;
  readonly outgoing: Outgoing;
  /** False while frames would be lost. */
  readonly isOpen: () => boolean;
  /** Whether the bus says that nobody receives what is sent. */
  readonly isPeerAbsent: () => boolean;
  readonly publish: (frame: Buffer, wantsAnswer: boolean) => void;
}

/** When an end of a virtual connection sends its peer how far it is, asks what the peer misses, and sends it again. */
export class StateExchange {
  readonly #options: StateExchangeOptions;
  /** What the peer knows about the progress of its frames. */
  #toldReceived = 0;
  #toldLimit = WINDOW_BYTES;
  #tellTimer: NodeJS.Timeout | undefined;
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

  /** For a frame that carries it to the peer. */
  progressToTell(): Progress {
    const progress = this.#options.incoming.progress;
    this.#toldReceived = progress.received;
    this.#toldLimit = progress.limit;
    return progress;
  }

  /** Sends the peer the state of both directions. */
  send({ resend = false, ask = false }: { resend?: boolean; ask?: boolean } = {}): void {
    const { outgoing, isOpen, publish } = this.#options;
    if (this.#isStopped || !isOpen()) return;
    publish(stateFrame({ ...this.progressToTell(), sent: outgoing.end, resend, ask }), ask);
  }

  /** Sends the progress that the peer does not know yet: at once if it is much. */
  sendSoon(): void {
    if (this.#isStopped) return;
    const { received, limit } = this.#options.incoming.progress;
    if (received === this.#toldReceived && limit === this.#toldLimit) return;
    if (received - this.#toldReceived >= TOLD_BYTES || limit - this.#toldLimit >= TOLD_BYTES) this.send();
    else this.sendLater();
  }

  sendLater(): void {
    // Whatever is sent until then carries the progress, unless it is lost.
    this.#tellTimer ??= setTimeout(() => {
      this.#tellTimer = undefined;
      this.send();
    }, TOLD_MS).unref();
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
    clearTimeout(this.#tellTimer);
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

/** Counters that show a peer is alive. Only their changes matter. */
export interface LifeSigns {
  /** Amount received from the peer. */
  readonly received: number;
  /**
   * Amount the network has accepted for the peer. It counts only while more is queued: then the network accepts what
   * the peer has room for.
   */
  readonly sent: number;
  /** Amount waiting to be sent. */
  readonly queued: number;
}

export interface Watched {
  signs(): LifeSigns;
  /** False while this side does not read: silence then proves nothing. */
  isReading(): boolean;
  /** Factor by which the peer may be slower than usual because of known work. Default: 1. */
  patience?(): number;
  /** Asks the peer for a sign of life. */
  ask(): void;
  lost(): void;
}

/** How often to ask an idle peer for a sign of life, and how long to wait for it. */
export interface LifeTimes {
  readonly askMs: number;
  readonly silenceMs: number;
}

/** Detects silence within 9 s, and tolerates a peer that is busy for 5 s at a time. */
export const DEFAULT_LIFE: LifeTimes = { askMs: 1_500, silenceMs: 5_000 };

/**
 * Detects that a peer is gone although the network reports nothing. A check that runs far too late proves nothing,
 * because this program or its machine was suspended and data may be waiting to be read: the peer then gets another
 * probe and half the time.
 */
export class LifeWatch {
  readonly #watched: Watched;
  readonly #times: LifeTimes;
  readonly #timer: ReturnType<typeof setInterval>;
  #signs: LifeSigns;
  /** When the pending question was asked; undefined if none is pending. */
  #askedAt: number | undefined;
  #checkedAt = performance.now();
  #checkedAtClock = Date.now();

  constructor(watched: Watched, times: LifeTimes) {
    this.#watched = watched;
    this.#times = times;
    this.#signs = watched.signs();
    this.#timer = setInterval(() => this.#check(), times.askMs);
    // Node's timer has `unref`; a browser's is a number. Watching must not keep the program alive.
    (this.#timer as { unref?(): void }).unref?.();
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  #check(): void {
    const { askMs } = this.#times;
    const silenceMs = this.#times.silenceMs * (this.#watched.patience?.() ?? 1);
    const now = performance.now();
    // One of these clocks stops while the machine sleeps. If a clock is set back, no time counts as passed.
    const clock = Date.now();
    const passedMs = Math.max(now - this.#checkedAt, clock - this.#checkedAtClock);
    this.#checkedAt = now;
    this.#checkedAtClock = clock;
    const signs = this.#watched.signs();
    const { received, sent } = this.#signs;
    const hasSign = signs.received !== received || (signs.queued > 0 && signs.sent !== sent);
    this.#signs = signs;
    if (hasSign || !this.#watched.isReading()) {
      this.#askedAt = undefined;
      return;
    }
    if (passedMs > 2 * askMs) this.#askedAt = now - silenceMs / 2;
    this.#askedAt ??= now;
    if (now - this.#askedAt < silenceMs) {
      this.#watched.ask();
      return;
    }
    this.stop();
    this.#watched.lost();
  }
}

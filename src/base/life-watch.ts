/** What shows that a peer lives. Each number means something only by its change. */
export interface LifeSigns {
  /** What has come from the peer. */
  readonly received: number;
  /** What the network has taken for the peer. It counts while more waits: then the network takes what the peer has room for. */
  readonly sent: number;
  /** What waits to be sent. */
  readonly queued: number;
}

/** A peer that is watched. */
export interface Watched {
  signs(): LifeSigns;
  /** False while this side does not read: then silence proves nothing. */
  isReading(): boolean;
  /** How many times longer than usual the peer may take, because of what it is known to do. 1 when absent. */
  patience?(): number;
  /** Asks the peer for a sign. */
  ask(): void;
  lost(): void;
}

/** How often a sign is asked for when none comes by itself, and how long after that a peer is given up. */
export interface LifeTimes {
  readonly askMs: number;
  readonly silenceMs: number;
}

/** With looks every 1.5 s, a silence is noticed within 9 s, and a peer that does something else for 5 s at a time is kept. */
export const DEFAULT_LIFE: LifeTimes = { askMs: 1_500, silenceMs: 5_000 };

/**
 * Notices that a peer is gone although nobody says so. A look that comes far too late proves nothing, because this program or its machine has slept, and signs may wait to be
 * read: the peer is asked once more and given half of the time.
 */
export class LifeWatch {
  readonly #watched: Watched;
  readonly #times: LifeTimes;
  readonly #timer: ReturnType<typeof setInterval>;
  #signs: LifeSigns;
  /** Since when a sign that was asked for has not come. */
  #askedAt: number | undefined;
  #lookedAt = performance.now();
  #lookedAtClock = Date.now();

  constructor(watched: Watched, times: LifeTimes) {
    this.#watched = watched;
    this.#times = times;
    this.#signs = watched.signs();
    this.#timer = setInterval(() => this.#look(), times.askMs);
    // Node's has it, a page's is a number. A peer is watched only as long as there is something else to do.
    (this.#timer as { unref?(): void }).unref?.();
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  #look(): void {
    const { askMs } = this.#times;
    const silenceMs = this.#times.silenceMs * (this.#watched.patience?.() ?? 1);
    const now = performance.now();
    // Clocks of which one stands still while a machine sleeps. One that is set back counts as no time.
    const clock = Date.now();
    const passedMs = Math.max(now - this.#lookedAt, clock - this.#lookedAtClock);
    this.#lookedAt = now;
    this.#lookedAtClock = clock;
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

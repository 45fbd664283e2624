import type { Logger } from "../base/logger.ts";

/** Lines in a period of this length; strangers must not fill a disk. */
const MAX_LINES = 10;
const PERIOD_MS = 60_000;

/** Logs refused logins: who came and why it was refused, never what it showed. Beyond some lines a minute they are only counted. */
export class LoginLog {
  readonly #logger: Logger;
  readonly #now: () => number;
  #periodStart = Number.NEGATIVE_INFINITY;
  #lines = 0;
  #unlogged = 0;

  constructor(logger: Logger, now: () => number = () => performance.now()) {
    this.#logger = logger;
    this.#now = now;
  }

  refused(reason: string, from: string | undefined): void {
    const now = this.#now();
    if (now - this.#periodStart >= PERIOD_MS) {
      this.#periodStart = now;
      this.#lines = 0;
    }
    if (this.#lines === MAX_LINES) {
      this.#unlogged += 1;
      return;
    }
    this.#lines += 1;
    const unlogged = this.#unlogged;
    this.#unlogged = 0;
    this.#logger.warn("a login was refused", {
      reason,
      ...(from === undefined ? {} : { from }),
      ...(unlogged === 0 ? {} : { unloggedBefore: unlogged }),
    });
  }
}

import type { Logger } from "../../base/logger.ts";

/** Maximum number of lines per period; strangers must not fill a disk. */
const MAX_LINES = 10;
const PERIOD_MS = 60_000;

/**
 * Logs refused peers, with address and reason, never the credentials. Beyond a few lines per minute they are only
 * counted.
 */
export class RefusalLog {
  readonly #logger: Logger;
  readonly #now: () => number;
  #periodStart = Number.NEGATIVE_INFINITY;
  #lines = 0;
  #unlogged = 0;

  constructor(logger: Logger, now = () => performance.now()) {
    this.#logger = logger;
    this.#now = now;
  }

  refused(reason: string, from: string | undefined, message = "a login was refused"): void {
    this.warn(message, { reason, ...(from === undefined ? {} : { from }) });
  }

  /** Logs another kind of refusal. */
  warn(message: string, fields: Readonly<Record<string, unknown>>): void {
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
    this.#logger.warn(message, { ...fields, ...(unlogged === 0 ? {} : { unloggedBefore: unlogged }) });
  }
}

import type { RefusedConnection } from "../settings/observer.ts";

/** Strangers must not fill a disk: beyond this many in a period, refused connections are only counted. */
const MAX_LINES = 60;
const PERIOD_MS = 60_000;

/** Lines about connections that were turned away. */
export class RefusalLines {
  readonly #write: (event: string, facts: object) => void;
  #lines = 0;
  #unrecorded = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(write: (event: string, facts: object) => void) {
    this.#write = write;
  }

  add({ cause, reason, from }: RefusedConnection): void {
    this.#timer ??= setTimeout(() => this.#renew(), PERIOD_MS).unref();
    if (this.#lines === MAX_LINES) {
      this.#unrecorded += 1;
      return;
    }
    this.#lines += 1;
    this.#write("refused", { cause, reason, from });
  }

  close(): void {
    clearTimeout(this.#timer);
    this.#renew();
  }

  #renew(): void {
    this.#timer = undefined;
    this.#lines = 0;
    if (this.#unrecorded > 0) this.#write("refused", { more: this.#unrecorded });
    this.#unrecorded = 0;
  }
}

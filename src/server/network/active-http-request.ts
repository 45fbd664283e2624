import { after } from "../../base/duration.ts";
import { createDeferred, type Deferred } from "../../base/deferred.ts";
import type { Abortion } from "../../capabilities/http/http-request.ts";

/** One `http/request`. It aborts on timeout, or when the client is gone or has cancelled it. */
export class ActiveHttpRequest implements Abortion {
  readonly id: string;
  readonly #cancelTimer: (() => void) | undefined;
  readonly #expiresAt: number;
  /** The timer ended it. */
  #timedOut = false;
  readonly #ended: (request: ActiveHttpRequest) => void;
  aborted = false;
  cancelled = false;
  onAbort: (() => void) | undefined;
  #paused: Deferred<void> | undefined;

  constructor(id: string, timeoutMs: number | undefined, ended: (request: ActiveHttpRequest) => void) {
    this.id = id;
    this.#ended = ended;
    this.#expiresAt = performance.now() + (timeoutMs ?? Number.POSITIVE_INFINITY);
    if (timeoutMs === 0) this.aborted = this.#timedOut = true;
    else if (timeoutMs !== undefined) this.#cancelTimer = after(timeoutMs, () => this.#timeOut());
  }

  get expired(): boolean {
    return this.#timedOut || performance.now() >= this.#expiresAt;
  }

  abort(): void {
    if (this.aborted) return;
    this.aborted = true;
    this.onAbort?.();
    this.#release();
  }

  #timeOut(): void {
    this.#timedOut = !this.aborted;
    this.abort();
  }

  cancel(): void {
    this.cancelled = true;
    this.abort();
  }

  /** Pauses or resumes the body. */
  flow(paused: boolean): void {
    if (!paused) this.#release();
    else if (this.#paused === undefined && !this.aborted) this.#paused = createDeferred();
  }

  /** Resolves when the body may continue or is no longer wanted; undefined if it is not paused. */
  get released(): Promise<void> | undefined {
    return this.#paused?.promise;
  }

  #release(): void {
    this.#paused?.resolve();
    this.#paused = undefined;
  }

  end(): void {
    this.#cancelTimer?.();
    this.#ended(this);
  }
}

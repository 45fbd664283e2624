import type { ServerLimits } from "../settings/limits.ts";

type IntakeLimits = Pick<ServerLimits, "maxUnansweredRequests" | "maxBufferedBytesPerConnection">;

/** Stops reading from a client with too many outstanding requests, until half of them are done. */
export class RequestIntake {
  readonly #maxUnanswered: number;
  /** Half of the budget: the other half is for the answers. */
  readonly #maxWaitingBytes: number;
  readonly #reader: { pause(): void; resume(): void };
  #unanswered = 0;
  /** Bytes of requests that have not started. Running requests account for their own memory. */
  #waitingBytes = 0;
  #paused = false;

  constructor(limits: IntakeLimits, reader: { pause(): void; resume(): void }) {
    this.#maxUnanswered = limits.maxUnansweredRequests;
    this.#maxWaitingBytes = limits.maxBufferedBytesPerConnection / 2;
    this.#reader = reader;
  }

  /** True while the server does not read from the client. */
  get isPaused(): boolean {
    return this.#paused;
  }

  came(bytes: number): void {
    this.#unanswered += 1;
    this.#waitingBytes += bytes;
    const isOverloaded =
      this.#unanswered >= this.#maxUnanswered || this.#waitingBytes >= this.#maxWaitingBytes;
    if (this.#paused || !isOverloaded) return;
    this.#paused = true;
    this.#reader.pause();
  }

  /** A request of that size has started; its answer may still be pending. */
  done(bytes: number): void {
    this.#waitingBytes -= bytes;
    this.#readOn();
  }

  answered(): void {
    this.#unanswered -= 1;
    this.#readOn();
  }

  #readOn(): void {
    if (!this.#paused) return;
    if (this.#unanswered > this.#maxUnanswered / 2 || this.#waitingBytes > this.#maxWaitingBytes / 2) return;
    this.#paused = false;
    this.#reader.resume();
  }
}

import type { ServerLimits } from "./limits.ts";

type IntakeLimits = Pick<ServerLimits, "maxUnansweredRequests" | "maxBufferedBytesPerConnection">;

/** Stops reading from a client that has asked for more than is kept at once, until half of it is done. */
export class RequestIntake {
  readonly #maxUnanswered: number;
  /** Half of the budget: the other half is for what is made of them. */
  readonly #maxWaitingBytes: number;
  readonly #reader: { pause(): void; resume(): void };
  #unanswered = 0;
  /** Of requests that have not had their turn. What others hold while they wait is counted by whoever holds it. */
  #waitingBytes = 0;
  #paused = false;

  constructor(limits: IntakeLimits, reader: { pause(): void; resume(): void }) {
    this.#maxUnanswered = limits.maxUnansweredRequests;
    this.#maxWaitingBytes = limits.maxBufferedBytesPerConnection / 2;
    this.#reader = reader;
  }

  /** True while nothing can be heard from the client. */
  get isPaused(): boolean {
    return this.#paused;
  }

  came(bytes: number): void {
    this.#unanswered += 1;
    this.#waitingBytes += bytes;
    const isMuch = this.#unanswered >= this.#maxUnanswered || this.#waitingBytes >= this.#maxWaitingBytes;
    if (this.#paused || !isMuch) return;
    this.#paused = true;
    this.#reader.pause();
  }

  /** A request of so many bytes has had its turn; its answer may still be waited for. */
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

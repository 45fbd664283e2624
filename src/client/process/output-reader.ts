import { ExecError } from "../../base/errors.ts";
import { errorOf, type Gap, type OutputChunk } from "../routes/process-events.ts";
import type { Subscription } from "../routes/subscription.ts";

/** The output among the events of a process. */
export class OutputReader implements AsyncIterableIterator<OutputChunk> {
  readonly #events: Subscription;
  readonly #onGap: ((gap: Gap) => void) | undefined;

  constructor(events: Subscription, { onGap }: { onGap?: (gap: Gap) => void }) {
    this.#events = events;
    this.#onGap = onGap;
  }

  async next(): Promise<IteratorResult<OutputChunk>> {
    for (;;) {
      const { done, value: event } = await this.#events.next();
      if (done) return { done: true, value: undefined };
      switch (event.kind) {
        case "output":
          return { done: false, value: { stream: event.stream, bytes: event.bytes, seq: event.seq } };
        case "failed":
          throw errorOf(event);
        case "gap":
          await this.#missed(event);
          break;
        case "exited":
        case "closed":
          break;
      }
    }
  }

  async return(): Promise<IteratorResult<OutputChunk>> {
    await this.#events.return();
    return { done: true, value: undefined };
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  async #missed({ fromSeq, toSeq }: Gap): Promise<void> {
    if (this.#onGap !== undefined) {
      this.#onGap({ fromSeq, toSeq });
      return;
    }
    await this.#events.return();
    throw new ExecError(
      "OUTPUT_LOST",
      `output is missing: the server no longer had events ${fromSeq} to ${toSeq} when they were asked for again`,
    );
  }
}

import { ExecError, UsageError } from "../../base/errors.ts";
import { errorOf, type Gap, type OutputChunk } from "../routes/process-events.ts";
import type { Subscription } from "../routes/subscription.ts";

/** How to read output. */
export interface OutputOptions {
  /** Ends reading with the signal's reason. The process continues. */
  readonly signal?: AbortSignal;
  /**
   * Called where output is missing that the server no longer had. Without it, missing output is an error with the code
   * OUTPUT_LOST.
   */
  readonly onGap?: (gap: Gap) => void;
  /** Called with the number of events that this reader was too slow for; see `events`. */
  readonly onLag?: (events: number) => void;
  /** What to read: `both` streams, or one of them. A terminal has one, which counts as `stdout`. Default: `both`. */
  readonly stream?: OutputChoice;
}

/** One stream of output, or both. */
export type OutputChoice = "stdout" | "stderr" | "both";

const STREAMS: Readonly<Record<OutputChoice, readonly OutputChunk["stream"][] | undefined>> = {
  stdout: ["stdout", "pty"],
  stderr: ["stderr"],
  both: undefined,
};

/** The streams of a choice; undefined for all. */
export function streamsOf(stream: OutputChoice): readonly OutputChunk["stream"][] | undefined {
  if (Object.hasOwn(STREAMS, stream)) return STREAMS[stream];
  throw new UsageError(`stream must be stdout, stderr or both, not ${stream}`);
}

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
      `output is missing: the server no longer had events ${fromSeq} to ${toSeq} when they were requested again`,
    );
  }
}

import { signal } from "@preact/signals";

/** Current state of a request. */
export interface RequestState<Answer> {
  readonly kind: "idle" | "running" | "answered" | "failed" | "stopped";
  readonly startedMs: number;
  readonly tookMs: number;
  /** The answer, perhaps only a part of it. */
  readonly answer?: Answer;
  readonly error?: unknown;
}

export const IDLE = { kind: "idle", startedMs: 0, tookMs: 0 } as const;

/** The latest request of a form. The next one stops it. */
export class LatestRequest<Answer> {
  readonly state = signal<RequestState<Answer>>(IDLE);
  #stop: AbortController | undefined;

  /** `send` may report the part of the answer that it has. */
  async run(send: (signal: AbortSignal, report: (part: Answer) => void) => Promise<Answer>): Promise<void> {
    this.#stop?.abort();
    const stop = new AbortController();
    this.#stop = stop;
    const startedMs = performance.now();
    let latest: { readonly answer?: Answer } = {};
    const update = (kind: RequestState<Answer>["kind"], error?: unknown): void => {
      if (this.#stop === stop)
        this.state.value = { kind, startedMs, tookMs: performance.now() - startedMs, ...latest, error };
    };
    update("running");
    try {
      const answer = await send(stop.signal, (part) => {
        latest = { answer: part };
        update("running");
      });
      latest = { answer };
      update("answered");
    } catch (error) {
      update(stop.signal.aborted ? "stopped" : "failed", error);
    }
  }

  /** Stops waiting. The server may still do it. */
  stop(): void {
    this.#stop?.abort();
  }
}

import type { Gatekeeper } from "./gatekeeper.ts";

/** What both proxies of a process share. */
export interface ProxyContext {
  readonly gatekeeper: Gatekeeper;
  readonly limited: boolean;
  readonly slots: ExchangeSlots;
  /** Aborted when the proxy ends. */
  readonly signal: AbortSignal;
}

/** Counts what goes on at once: one connection can bring any number of requests before the first is answered. */
export class ExchangeSlots {
  readonly #limit: number;
  #taken = 0;

  constructor(limit: number) {
    this.#limit = limit;
  }

  async with(work: () => void | Promise<void>): Promise<"full" | "done"> {
    if (this.#taken >= this.#limit) return "full";
    this.#taken += 1;
    try {
      await work();
    } finally {
      this.#taken -= 1;
    }
    return "done";
  }
}

import type { Gatekeeper } from "./gatekeeper.ts";
import type { Inspector } from "./inspection/inspector.ts";
import type { MaskedSecrets } from "./secrets/masked-secrets.ts";

/** Shared by both proxies of a process. */
export interface ProxyContext {
  readonly gatekeeper: Gatekeeper;
  readonly limited: boolean;
  readonly slots: ExchangeSlots;
  /** Of the process; undefined if nothing is hidden from it. */
  readonly secrets: MaskedSecrets | undefined;
  /** Undefined if every tunnel is opaque. */
  readonly inspector: Inspector | undefined;
  /** Aborted when the proxy ends. */
  readonly signal: AbortSignal;
}

/** Counts something that all processes of a server share. */
export class SharedLimit {
  readonly #limit: number;
  #taken = 0;

  constructor(limit: number) {
    this.#limit = limit;
  }

  take(): boolean {
    if (this.#taken >= this.#limit) return false;
    this.#taken += 1;
    return true;
  }

  free(): void {
    this.#taken -= 1;
  }
}

/** Counts concurrent exchanges: one connection can bring any number of requests before the first is answered. */
export class ExchangeSlots {
  readonly #own: SharedLimit;
  readonly #sockets: SharedLimit;

  /** `sockets` is what all processes share: an exchange has one to the outside. */
  constructor(limit: number, sockets: SharedLimit) {
    this.#own = new SharedLimit(limit);
    this.#sockets = sockets;
  }

  async with(work: () => void | Promise<void>): Promise<"full" | "done"> {
    if (!this.#own.take()) return "full";
    try {
      if (!this.#sockets.take()) return "full";
      try {
        await work();
      } finally {
        this.#sockets.free();
      }
    } finally {
      this.#own.free();
    }
    return "done";
  }
}

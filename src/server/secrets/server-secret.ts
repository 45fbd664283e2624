import { messageOf } from "../../base/errors.ts";
import type { Logger } from "../../base/logger.ts";
import { isReplaceable } from "../../capabilities/network-proxy/secrets/stand-in.ts";
import type { SecretValue } from "../../capabilities/network-proxy/secrets/secret-value.ts";

/** How long what was read counts as new. A command may have to ask somebody else. */
const FRESH_MS = { env: Number.POSITIVE_INFINITY, file: 500, command: 60_000 } as const;
/** The same after a failure. */
const RETRY_MS = 1_000;
/** A writer that writes in place has this long. */
const SETTLE_MS = 100;
/** Earlier values that may still be in answers. */
const MAX_EARLIER = 3;

export interface ServerSecretOptions {
  readonly name: string;
  readonly from: keyof typeof FRESH_MS;
  /** Rejects with a reason that does not contain it. */
  readonly read: () => Promise<string>;
  readonly logger: Logger;
  readonly now?: () => number;
}

/** The value of a secret, read again when it is used. What cannot be read is not used any longer. */
export class ServerSecret implements SecretValue {
  readonly #options: ServerSecretOptions;
  readonly #now: () => number;
  #values: readonly string[] = [];
  #fault: string | undefined;
  #dueAt = Number.NEGATIVE_INFINITY;
  #reading: Promise<void> | undefined;

  constructor(options: ServerSecretOptions) {
    this.#options = options;
    this.#now = options.now ?? (() => performance.now());
  }

  get values(): readonly string[] {
    return this.#values;
  }

  get current(): string | undefined {
    return this.#fault === undefined ? this.#values[0] : undefined;
  }

  /** Why there is none. */
  get fault(): string | undefined {
    return this.#fault;
  }

  refresh(): Promise<void> | undefined {
    if (this.#reading !== undefined) return this.#reading;
    if (this.#now() < this.#dueAt) return undefined;
    this.#reading = this.#read().finally(() => {
      this.#reading = undefined;
    });
    return this.#reading;
  }

  async #read(): Promise<void> {
    const { name, from, logger } = this.#options;
    try {
      this.#take(await this.#usable());
      this.#fault = undefined;
      this.#dueAt = this.#now() + FRESH_MS[from];
    } catch (error) {
      const reason = messageOf(error);
      // Logged once, not each time that it is read.
      if (this.#fault !== reason) logger.error("a secret cannot be read", { name, reason });
      this.#fault = reason;
      this.#dueAt = this.#now() + RETRY_MS;
    }
  }

  async #usable(): Promise<string> {
    const { from, read } = this.#options;
    const isHalfWritten = from === "file" && !isReplaceable((await read().catch(() => "")).trim());
    if (isHalfWritten) await new Promise((resolve) => void setTimeout(resolve, SETTLE_MS));
    const value = (await read()).trim();
    if (isReplaceable(value)) return value;
    throw new Error("it must have 16 to 4096 printable ASCII characters, 12 letters and digits among them");
  }

  #take(value: string): void {
    if (value === this.#values[0]) return;
    this.#values = [value, ...this.#values.filter((earlier) => earlier !== value)].slice(0, 1 + MAX_EARLIER);
  }
}

/** Wrong tokens from one address that cost it nothing. */
const FREE_FAILURES = 10;
const FIRST_PAUSE_MS = 50;
const MAX_PAUSE_MS = 1_000;
/** An address is forgotten this long after its last wrong token. */
const MEMORY_MS = 60_000;
/** Attempts of one address that wait for their turn; further ones are turned away unchecked. */
const MAX_WAITING = 8;
const MAX_ADDRESSES = 4_096;

interface Address {
  failures: number;
  lastFailureMs: number;
  waiting: number;
  /** Settles when the last waiting attempt has had its turn. */
  queue: Promise<void>;
}

/**
 * Slows down guessing: after some wrong tokens, those from the same address have their turns one at a time, with a
 * growing pause before each. Other addresses notice nothing.
 */
export class AttemptBrake {
  /** The most recent failure comes last. */
  readonly #addresses = new Map<string, Address>();
  readonly #now: () => number;
  readonly #pause: (ms: number) => Promise<void>;

  constructor(now = () => performance.now(), pause = sleep) {
    this.#now = now;
    this.#pause = pause;
  }

  /**
   * Resolves when a token from this address may be checked, or refused; with false if too many are waiting already.
   */
  async turn(from: string | undefined): Promise<boolean> {
    const address = this.#addresses.get(addressKey(from));
    if (address === undefined || address.failures < FREE_FAILURES) return true;
    if (this.#now() - address.lastFailureMs > MEMORY_MS) return true;
    if (address.waiting >= MAX_WAITING) return false;
    address.waiting += 1;
    const pauseMs = Math.min(
      MAX_PAUSE_MS,
      FIRST_PAUSE_MS * 2 ** Math.min(address.failures - FREE_FAILURES, 16),
    );
    address.queue = address.queue.then(() => this.#pause(pauseMs));
    await address.queue;
    address.waiting -= 1;
    return true;
  }

  /** A token from this address was wrong. */
  failed(from: string | undefined): void {
    const key = addressKey(from);
    const now = this.#now();
    const known = this.#addresses.get(key);
    this.#addresses.delete(key);
    const address =
      known !== undefined && now - known.lastFailureMs <= MEMORY_MS
        ? known
        : {
            failures: 0,
            lastFailureMs: now,
            waiting: known?.waiting ?? 0,
            queue: known?.queue ?? Promise.resolve(),
          };
    address.failures += 1;
    address.lastFailureMs = now;
    this.#addresses.set(key, address);
    for (const oldest of this.#addresses.keys()) {
      if (this.#addresses.size <= MAX_ADDRESSES) break;
      this.#addresses.delete(oldest);
    }
  }
}

function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => void setTimeout(resolve, ms).unref());
}

/** An address without its port. Of IPv6, the network of 64 bits: one machine has a whole one. */
function addressKey(from = ""): string {
  const [, ipv6] = /^\[([0-9a-f:.]+)(?:%[^\]]*)?\]/i.exec(from) ?? [];
  if (ipv6 === undefined) return from.split(":", 1)[0] ?? "";
  if (/^::ffff:[0-9.]+$/i.test(ipv6)) return ipv6.slice("::ffff:".length);
  const [head = "", tail] = ipv6.split("::");
  const first = head === "" ? [] : head.split(":");
  const last = tail === undefined || tail === "" ? [] : tail.split(":");
  const zeros = Array<string>(Math.max(0, 8 - first.length - last.length)).fill("0");
  return [...first, ...zeros, ...last].slice(0, 4).join(":");
}

import { lookup, type LookupAddress } from "node:dns";
import { Fifo } from "../../base/fifo.ts";
import { canonicalIp } from "./ip-address.ts";

/** Resolves one name to all its addresses. */
export type Lookup = (name: string) => Promise<readonly LookupAddress[]>;

/** Concurrent lookups of all processes together. Each takes one of the four threads that files and starts need, too. */
const MAX_LOOKUPS = 2;
/** Time for a name, waiting included. */
const LOOKUP_TIMEOUT_MS = 20_000;

const systemLookup: Lookup = (name) =>
  new Promise((resolve, reject) => {
    lookup(name, { all: true, verbatim: true }, (error, addresses) => {
      if (error === null) resolve(addresses);
      else reject(error);
    });
  });

/** Resolves names as this machine does, a few at a time. One serves all proxies of a server. */
export class NameResolver {
  readonly #lookup: Lookup;
  readonly #waiting = new Fifo<() => void>();
  #running = 0;

  constructor(lookup: Lookup = systemLookup) {
    this.#lookup = lookup;
  }

  /** Canonical addresses; none if the name has none, or cannot be resolved in time. An address resolves to itself. */
  async resolve(host: string): Promise<readonly LookupAddress[]> {
    const ip = canonicalIp(host);
    if (ip !== undefined) return [{ address: ip, family: familyOf(ip) }];
    let timer: NodeJS.Timeout | undefined;
    const timeout = new Promise<readonly LookupAddress[]>((resolve) => {
      timer = setTimeout(() => resolve([]), LOOKUP_TIMEOUT_MS);
    });
    try {
      return await Promise.race([this.#inTurn(host), timeout]);
    } finally {
      clearTimeout(timer);
    }
  }

  async #inTurn(host: string): Promise<readonly LookupAddress[]> {
    if (this.#running >= MAX_LOOKUPS) await new Promise<void>((resolve) => this.#waiting.push(resolve));
    else this.#running += 1;
    try {
      const found = await this.#lookup(host);
      return found.flatMap(({ address }) => {
        const ip = canonicalIp(address);
        return ip === undefined ? [] : [{ address: ip, family: familyOf(ip) }];
      });
    } catch {
      return [];
    } finally {
      const next = this.#waiting.shift();
      if (next === undefined) this.#running -= 1;
      else next();
    }
  }
}

function familyOf(ip: string): 4 | 6 {
  return ip.includes(":") ? 6 : 4;
}

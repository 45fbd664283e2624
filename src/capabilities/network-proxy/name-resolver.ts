import type { LookupAddress } from "node:dns";
import { lookup } from "node:dns/promises";
import { within } from "../../base/deadlines.ts";
import { WorkLimit } from "../work-limit.ts";
import { canonicalIp } from "./ip-address.ts";

/** Resolves one name to all its addresses. */
export type Lookup = (name: string) => Promise<readonly LookupAddress[]>;

/** Concurrent lookups of all processes together. Each takes one of the four threads that files and starts need, too. */
const MAX_LOOKUPS = 2;
/** Time for a name, waiting included. */
const LOOKUP_TIMEOUT_MS = 20_000;

/** Resolves names as this machine does, a few at a time. One serves all proxies of a server. */
export class NameResolver {
  readonly #lookup: Lookup;
  readonly #limit = new WorkLimit(MAX_LOOKUPS);

  constructor(systemLookup: Lookup = (name) => lookup(name, { all: true, verbatim: true })) {
    this.#lookup = systemLookup;
  }

  /** Canonical addresses; none if the name has none, or cannot be resolved in time. An address resolves to itself. */
  async resolve(host: string): Promise<readonly LookupAddress[]> {
    const own = canonicalAddress(host);
    if (own.length > 0) return own;
    const addresses = this.#limit.run(() => this.#lookup(host));
    return within(addresses, LOOKUP_TIMEOUT_MS, () => new Error("the lookup takes too long")).then(
      (resolved) => resolved.flatMap(({ address }) => canonicalAddress(address)),
      () => [],
    );
  }
}

/** Empty if the text is not an address. */
function canonicalAddress(text: string): LookupAddress[] {
  const ip = canonicalIp(text);
  return ip === undefined ? [] : [{ address: ip, family: ip.includes(":") ? 6 : 4 }];
}

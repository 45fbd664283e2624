import { createHash, randomBytes } from "node:crypto";

/** How long a link waits for its browser. */
export const LINK_LIFETIME_MS = 60 * 60_000;
/**
 * Maximum number of pending links of one holder; a further one replaces its oldest, so holders cannot invalidate each
 * other's links.
 */
export const MAX_LINKS_OF_ONE = 16;
/** Links of all. */
const MAX_LINKS = 1_024;
/** Number of spent links that are remembered. */
const MAX_REMEMBERED = 256;
const TOKEN_BYTES = 32;

/** The token of a link that has just been made. */
export interface NewLink {
  readonly token: string;
  readonly expiresAtMs: number;
}

/** State of a spent link. */
export type SpentLink<Holder> =
  | { readonly state: "valid"; readonly holder: Holder }
  | { readonly state: "spent" | "expired" | "unknown" };

interface PendingLink<Holder> {
  readonly expiresAtMs: number;
  readonly holder: Holder;
}

/**
 * Tokens that work once. Only their hashes are kept and looked up, so that response times reveal nothing about a token.
 */
export class LinkTokens<Holder> {
  /** By hash, oldest first. */
  readonly #pending = new Map<string, PendingLink<Holder>>();
  readonly #over = new Map<string, "spent" | "expired">();
  readonly #now: () => number;

  constructor(now: () => number = Date.now) {
    this.#now = now;
  }

  /** `holder` is returned when the token is spent. */
  create(holder: Holder): NewLink {
    const token = randomBytes(TOKEN_BYTES).toString("base64url");
    const expiresAtMs = this.#now() + LINK_LIFETIME_MS;
    this.#pending.set(hashOf(token), { expiresAtMs, holder });
    const all = [...this.#pending];
    const own = all.filter(([, link]) => link.holder === holder);
    if (own.length > MAX_LINKS_OF_ONE) this.#end(own[0]![0], "expired");
    else if (all.length > MAX_LINKS) this.#end(all[0]![0], "expired");
    return { token, expiresAtMs };
  }

  spend(token: string): SpentLink<Holder> {
    const hash = hashOf(token);
    const link = this.#pending.get(hash);
    if (link === undefined) return { state: this.#over.get(hash) ?? "unknown" };
    const state = link.expiresAtMs > this.#now() ? "spent" : "expired";
    this.#end(hash, state);
    return state === "spent" ? { state: "valid", holder: link.holder } : { state };
  }

  #end(hash: string, state: "spent" | "expired"): void {
    this.#pending.delete(hash);
    this.#over.set(hash, state);
    if (this.#over.size > MAX_REMEMBERED) this.#over.delete(this.#over.keys().next().value!);
  }
}

function hashOf(token: string): string {
  return createHash("sha256").update(token).digest("base64url");
}

import { CapabilityError } from "../../base/errors.ts";
import { type HostPattern, parseHostPattern } from "./host-pattern.ts";
import { canonicalIp, embeddedIpv4, isLocalIp } from "./ip-address.ts";

export interface NetworkRulesConfig {
  /** `limited` admits only HTTP requests that change nothing. */
  readonly mode: "limited" | "full";
  /** Addresses that are not on the public internet may be reached. */
  readonly allowLocal: boolean;
  readonly allow: readonly string[];
  readonly deny: readonly string[];
  /** Hosts that need the client's consent, even if `allow` has them. */
  readonly review: readonly string[];
}

export type RuleReason = "denied" | "not_allowed" | "not_allowed_local";

/** What the rules say about a host, before its name is resolved. */
export type RuleVerdict =
  | { readonly allowed: true; readonly localAllowed: boolean }
  | { readonly allowed: false; readonly reason: RuleReason; readonly localAllowed: boolean };

const SAFE_METHODS: ReadonlySet<string> = new Set(["GET", "HEAD", "OPTIONS"]);

/** Which hosts a process may reach. */
export class NetworkRules {
  readonly #allow: readonly HostPattern[];
  readonly #deny: readonly HostPattern[];
  readonly #review: readonly HostPattern[];
  readonly #allowLocal: boolean;
  readonly limited: boolean;

  /** Throws a CapabilityError for an invalid pattern. */
  constructor({ mode, allowLocal, allow, deny, review }: NetworkRulesConfig) {
    this.limited = mode === "limited";
    this.#allowLocal = allowLocal;
    this.#allow = allow.map(parseHostPattern);
    this.#deny = deny.map((text) => {
      const pattern = parseHostPattern(text);
      if (!pattern.universal) return pattern;
      throw new CapabilityError(
        "INVALID_INPUT",
        `invalid value for network.denied_domains: ${text} (allowed exact hosts or scoped wildcards like *.example.com or **.example.com)`,
      );
    });
    this.#review = review.map(parseHostPattern);
  }

  judge(host: string): RuleVerdict {
    const named = this.#allow.some((pattern) => pattern.exact && pattern.matches(host));
    // A machine's own name for itself, or an address: whoever lists exactly that means it.
    const localAllowed = this.#allowLocal || (named && isLocalHost(host));
    if (this.#denies(host)) return { allowed: false, reason: "denied", localAllowed };
    if (!localAllowed && isLocalHost(host))
      return { allowed: false, reason: "not_allowed_local", localAllowed };
    const allowed =
      this.#allow.some((pattern) => pattern.matches(host)) &&
      !this.#review.some((pattern) => pattern.matches(host));
    return allowed ? { allowed, localAllowed } : { allowed, reason: "not_allowed", localAllowed };
  }

  /** What the rules say about one of the addresses to which the name of an allowed host resolved. */
  judgeAddress(ip: string, { localAllowed }: { localAllowed: boolean }): RuleReason | undefined {
    if (this.#denies(ip)) return "denied";
    return !localAllowed && isLocalIp(ip) ? "not_allowed_local" : undefined;
  }

  permitsMethod(method: string): boolean {
    return !this.limited || SAFE_METHODS.has(method);
  }

  /** An IPv4 address is denied in the clothes of IPv6, too. */
  #denies(host: string): boolean {
    const embedded = host.includes(":") ? embeddedIpv4(host) : undefined;
    return this.#deny.some(
      (pattern) => pattern.matches(host) || (embedded !== undefined && pattern.matches(embedded)),
    );
  }
}

function isLocalHost(host: string): boolean {
  if (host === "localhost") return true;
  const ip = canonicalIp(host);
  return ip !== undefined && isLocalIp(ip);
}

import { CapabilityError } from "../../base/errors.ts";
import { HostPatterns, parseHostPattern } from "./host-pattern.ts";
import { canonicalIp, embeddedIpv4, isLocalIp } from "./ip-address.ts";

export interface NetworkRulesConfig {
  /** `limited` admits only HTTP requests that change nothing. */
  readonly mode: "limited" | "full";
  /** Addresses that are not on the public internet may be reached. */
  readonly allowLocal: boolean;
  readonly allow: readonly string[];
  /** Hosts that may have addresses which are not on the public internet. */
  readonly localHosts?: readonly string[];
  readonly deny: readonly string[];
  /** Hosts that need the client's consent, even if `allow` has them. */
  readonly review: readonly string[];
}

export type RuleReason = "denied" | "not_allowed" | "not_allowed_local";

/** The rules' verdict on a host, before its name is resolved. */
export type RuleVerdict =
  | { readonly allowed: true; readonly localAllowed: boolean }
  | { readonly allowed: false; readonly reason: RuleReason; readonly localAllowed: boolean };

/** For all kinds together: reading a pattern takes about a microsecond. */
const MAX_PATTERNS = 16_384;
/**
 * Maximum length of all patterns with wildcards together. Each connection may have to compare every character of them with
 * every character of a host, which must not keep other clients waiting.
 */
const MAX_WILDCARD_CHARACTERS = 32 * 1024;

const SAFE_METHODS: ReadonlySet<string> = new Set(["GET", "HEAD", "OPTIONS"]);

/** Which hosts a process may reach. */
export class NetworkRules {
  readonly #allow: HostPatterns;
  readonly #deny: HostPatterns;
  readonly #review: HostPatterns;
  readonly #allowLocal: boolean;
  readonly #local: HostPatterns;
  readonly limited: boolean;

  /** Throws a CapabilityError for an invalid pattern. */
  constructor({ mode, allowLocal, allow, localHosts = [], deny, review }: NetworkRulesConfig) {
    this.limited = mode === "limited";
    this.#allowLocal = allowLocal;
    if (allow.length + localHosts.length + deny.length + review.length > MAX_PATTERNS)
      throw new CapabilityError("INVALID_INPUT", `more than ${MAX_PATTERNS} domain patterns`);
    let wildcards = 0;
    const parse = (text: string, isDenied: boolean) => {
      const pattern = parseHostPattern(text);
      if (isDenied && pattern.universal)
        throw new CapabilityError(
          "INVALID_INPUT",
          `invalid value for network.denied_domains: ${text} (allowed exact hosts or scoped wildcards like *.example.com or **.example.com)`,
        );
      if (pattern.only === undefined) wildcards += text.length;
      if (wildcards > MAX_WILDCARD_CHARACTERS)
        throw new CapabilityError(
          "INVALID_INPUT",
          `domain patterns with wildcards exceed ${MAX_WILDCARD_CHARACTERS} characters in total; name hosts exactly where you can`,
        );
      return pattern;
    };
    this.#allow = new HostPatterns(allow.map((text) => parse(text, false)));
    this.#local = new HostPatterns(localHosts.map((text) => parse(text, false)));
    this.#deny = new HostPatterns(deny.map((text) => parse(text, true)));
    this.#review = new HostPatterns(review.map((text) => parse(text, false)));
  }

  judge(host: string): RuleVerdict {
    // A machine's own name for itself, or an address: an exact entry for it is intentional.
    const localAllowed =
      this.#allowLocal || this.#local.matches(host) || (this.#allow.names(host) && isLocalHost(host));
    if (this.#denies(host)) return { allowed: false, reason: "denied", localAllowed };
    if (!localAllowed && isLocalHost(host))
      return { allowed: false, reason: "not_allowed_local", localAllowed };
    const allowed = this.#allow.matches(host) && !this.#review.matches(host);
    return allowed ? { allowed, localAllowed } : { allowed, reason: "not_allowed", localAllowed };
  }

  /** The rules' verdict on one of the addresses that an allowed host's name resolved to. */
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
    return this.#deny.matches(host) || (embedded !== undefined && this.#deny.matches(embedded));
  }
}

function isLocalHost(host: string): boolean {
  if (host === "localhost") return true;
  const ip = canonicalIp(host);
  return ip !== undefined && isLocalIp(ip);
}

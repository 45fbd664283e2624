import { isIPv6 } from "node:net";
import { CapabilityError } from "../../base/errors.ts";
import { fitsWildcards } from "../wildcards.ts";
import { MAX_HOST_LENGTH } from "./destination.ts";
import { canonicalIp } from "./ip-address.ts";

/** A pattern of host names or an address: `a.test`, `*.a.test` (below it), `**.a.test` (it and below), `10.0.*`. */
export interface HostPattern {
  /** The only host that it matches; undefined if there may be others. */
  readonly only: string | undefined;
  /** True if it matches every host. */
  readonly universal: boolean;
  /** `host` is as `parseHost` returns it. */
  matches(host: string): boolean;
}

/** Throws a CapabilityError for a pattern that cannot be meant. */
export function parseHostPattern(text: string): HostPattern {
  const shown = text.trim();
  if (/[\s\\/{}]/.test(shown)) throw invalid(`unsupported domain pattern syntax: ${shown}`);
  const plain = withoutFinalDots(withoutPort(withoutBrackets(shown)).toLowerCase());
  const deep = plain.startsWith("**.");
  const rest = deep ? plain.slice(3) : plain;
  if (rest === "" || /^\*{1,2}\.+$/.test(shown)) throw invalid("domain pattern is empty");
  if (rest.includes("**")) throw invalid(`unsupported repeated wildcard: ${shown}`);
  const host = canonicalIp(rest) ?? rest;
  const universal = host === "*";
  const only = deep || /[*?]/.test(host) ? undefined : host;
  return {
    only,
    universal,
    matches: (name) => {
      if (only !== undefined) return name === only;
      if (universal) return true;
      if (deep) return matchesGlob(name, host) || matchesGlob(name, `*.${host}`);
      return matchesGlob(name, host);
    },
  };
}

function withoutBrackets(text: string): string {
  const bracketed = /^\[([^[\]]*)\](?::\d*)?$/.exec(text);
  if (bracketed !== null && (bracketed[1] === "*" || isIPv6(bracketed[1]!))) return bracketed[1]!;
  if (/[[\]]/.test(text)) throw invalid(`brackets are only supported for IPv6 literals or [*]: ${text}`);
  return text;
}

/** Ports are not part of a rule, and are ignored. More than one colon is an IPv6 address. */
function withoutPort(text: string): string {
  const colon = text.indexOf(":");
  return colon >= 0 && colon === text.lastIndexOf(":") ? text.slice(0, colon) : text;
}

function withoutFinalDots(text: string): string {
  let end = text.length;
  while (text[end - 1] === ".") end -= 1;
  return text.slice(0, end);
}

/** `*` stands for any characters, dots included, and `?` for one. A leading `*.` needs a name before the dot. */
function matchesGlob(name: string, glob: string): boolean {
  if (glob.startsWith("*.") && name.startsWith(".")) return false;
  return fitsWildcards(glob, name, WILDCARDS);
}

const WILDCARDS = {
  isAny: (part: string) => part === "*",
  fitsOne: (part: string, character: string) => part === "?" || part === character,
};

/** A set of host patterns: names are looked up, and only patterns with wildcards are tried one by one. */
export class HostPatterns {
  readonly #hosts: ReadonlySet<string>;
  readonly #wildcards: readonly HostPattern[];

  constructor(patterns: readonly HostPattern[]) {
    // Requested hosts cannot be longer.
    const hosts = patterns.flatMap(({ only }) => only ?? []).filter((host) => host.length <= MAX_HOST_LENGTH);
    this.#hosts = new Set(hosts);
    this.#wildcards = patterns.filter(({ only }) => only === undefined);
  }

  /** `host` is as `parseHost` returns it. */
  names(host: string): boolean {
    return this.#hosts.has(host);
  }

  matches(host: string): boolean {
    return this.#hosts.has(host) || this.#wildcards.some((pattern) => pattern.matches(host));
  }
}

function invalid(message: string): CapabilityError {
  return new CapabilityError("INVALID_INPUT", message);
}

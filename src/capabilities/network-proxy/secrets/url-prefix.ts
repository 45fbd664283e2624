import { CapabilityError } from "../../../base/errors.ts";
import { parseAuthority } from "../destination.ts";
import { canonicalIp, isLoopbackIp } from "../ip-address.ts";

/** A request, as far as it decides which secrets may go with it. */
export interface RequestTarget {
  readonly scheme: "http" | "https";
  /** As `parseHost` returns it. */
  readonly host: string;
  readonly port: number;
  /** Path and query, as they are sent. */
  readonly path: string;
}

const PORTS = { http: 80, https: 443 } as const;

/**
 * Spellings of a path that a server may understand as another one: empty segments, such of dots, whatever follows them
 * but a name, control characters, and those that are not encoded.
 */
const AMBIGUOUS_PATH = /\/\.+(?![\w-])|\/\.{2}|\/\/|[\\\0-\x20\x7f-\x9f]/;
const ENCODED_SEPARATOR = /%(?:2[ef]|5c)/i;
/** Servers behind another proxy may decode twice. */
const DECODINGS = 2;

/**
 * The URLs that start with a text such as `https://api.example.com/v1`. `*.` stands for everything below a name. In
 * clear, only programs on the same machine can be meant.
 */
export class UrlPrefix {
  readonly scheme: "http" | "https";
  readonly host: string;
  readonly port: number;
  readonly #isWildcard: boolean;
  readonly #path: string;

  /** Throws a CapabilityError for a text that cannot be meant. */
  constructor(text: string) {
    const given = text.trim();
    if (/[?#]/.test(given)) throw invalid("a credential destination has no query and no fragment");
    const schemeEnd = given.indexOf("://");
    const scheme = schemeEnd < 0 ? undefined : given.slice(0, schemeEnd).toLowerCase();
    const rest = schemeEnd < 0 ? given : given.slice(schemeEnd + 3);
    const isWildcard = rest.startsWith("*.");
    const pathStart = rest.indexOf("/");
    const authority = rest.slice(isWildcard ? 2 : 0, pathStart < 0 ? undefined : pathStart);
    if (authority.includes("@")) throw invalid("a credential destination has no user information");
    // Which port is the usual one depends on the host.
    const host = parseAuthority(authority, PORTS.https)?.host;
    if (host === undefined)
      throw invalid("a credential destination needs an exact host name, or `*.` and one");
    const isLoopback = !isWildcard && isLoopbackHost(host);
    const named = scheme ?? (isLoopback ? "http" : "https");
    if (named !== "https" && !(named === "http" && isLoopback))
      throw invalid("a credential destination must use HTTPS unless it is on this machine");
    this.scheme = named;
    this.host = host;
    this.port = parseAuthority(authority, PORTS[named])!.port;
    this.#isWildcard = isWildcard;
    this.#path = pathStart < 0 ? "/" : rest.slice(pathStart);
  }

  /** Whether a host and port are its own, whatever the path. */
  covers({ scheme, host, port }: Omit<RequestTarget, "path">): boolean {
    if (scheme !== this.scheme || port !== this.port) return false;
    return this.#isWildcard ? host.endsWith(`.${this.host}`) : host === this.host;
  }

  /** Whether all URLs of another one are its own. */
  includes(other: UrlPrefix): boolean {
    if (other.#isWildcard && !this.#isWildcard) return false;
    const { scheme, port } = other;
    const host = other.#isWildcard ? `x.${other.host}` : other.host;
    return this.covers({ scheme, host, port }) && this.#startsWithPath(other.#path);
  }

  /** Its hosts, as a pattern of a proxy's rules. */
  get hostPattern(): string {
    return this.#isWildcard ? `*.${this.host}` : this.host;
  }

  matches(target: RequestTarget): boolean {
    if (!this.covers(target)) return false;
    return this.#startsWithPath(target.path.split("?", 1)[0] ?? "");
  }

  #startsWithPath(path: string): boolean {
    if (this.#path === "/") return true;
    if (isAmbiguous(path) || !path.startsWith(this.#path)) return false;
    return this.#path.endsWith("/") || path.length === this.#path.length || path[this.#path.length] === "/";
  }
}

function isAmbiguous(path: string): boolean {
  let decoded = path;
  for (let round = 0; round <= DECODINGS; round += 1) {
    if (AMBIGUOUS_PATH.test(decoded) || ENCODED_SEPARATOR.test(decoded)) return true;
    try {
      decoded = decodeURIComponent(decoded);
    } catch {
      return true;
    }
  }
  return false;
}

function isLoopbackHost(host: string): boolean {
  const ip = canonicalIp(host);
  return host === "localhost" || (ip !== undefined && isLoopbackIp(ip));
}

function invalid(message: string): CapabilityError {
  return new CapabilityError("INVALID_INPUT", message);
}

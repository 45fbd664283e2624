import { CapabilityError } from "../../../base/errors.ts";
import { UrlPrefix } from "./url-prefix.ts";

/** How a client sends a secret. */
type AuthMethod = "bearer" | "token" | "basic" | "header";

/** A provider as a client describes it. */
export interface ProviderConfig {
  /** Variables that hold the secret. */
  readonly env: readonly string[];
  /** Regular expressions of its form. */
  readonly patterns: readonly string[];
  readonly urlPrefixes: readonly string[];
  /** A variable that holds another one. */
  readonly urlPrefixFromEnv: string | undefined;
  /** None means `bearer`. */
  readonly auth: readonly AuthMethod[];
  readonly header: string | undefined;
  /** What precedes the secret in that header. */
  readonly prefix: string | undefined;
}

type Environment = ReadonlyMap<string, string>;

/** Who takes a secret: the variables that hold it, the URLs it is for, and where it stands in a request. */
export interface SecretProvider {
  readonly env: readonly string[];
  readonly auth: readonly AuthMethod[];
  /** In lower case, with `header`. */
  readonly header: string | undefined;
  readonly headerPrefix: string;
  /** The public beginnings of its secrets, the longest first. */
  readonly prefixes: readonly string[];
  /** None if the environment names no valid one: the secret is hidden nevertheless. */
  destinations(environment: Environment): readonly UrlPrefix[];
}

const MAX_PATTERN_LENGTH = 2_048;
const GITHUB_PREFIXES = ["github_pat_", "ghp_", "gho_", "ghu_", "ghs_", "ghr_"];
const OPENAI_PREFIXES = ["sk-svcacct-", "sk-admin-", "sk-proj-", "sk-"];
/** Public beginnings of well-known secrets, the longest first: programs check them. */
export const KNOWN_PREFIXES: readonly string[] = [
  GITHUB_PREFIXES,
  OPENAI_PREFIXES,
  ["sk-ant-", "sk-or-", "sk_live_", "sk_test_", "rk_live_", "glpat-", "xoxb-", "xoxp-", "xapp-"],
  ["npm_", "pypi-", "hf_", "dop_v1_", "AIza", "gsk_"],
]
  .flat()
  .toSorted((one, other) => other.length - one.length);
const GITHUB_HOSTS = ["github.com", "api.github.com", "uploads.github.com", "*.ghe.com"];

const github = {
  auth: ["bearer", "token", "basic"],
  header: undefined,
  headerPrefix: "",
  prefixes: GITHUB_PREFIXES,
} as const;

/** Providers that every server knows. */
const BUILT_IN: readonly SecretProvider[] = [
  {
    ...github,
    env: ["GH_TOKEN", "GITHUB_TOKEN"],
    destinations: () => GITHUB_HOSTS.map((host) => new UrlPrefix(host)),
  },
  {
    ...github,
    env: ["GH_ENTERPRISE_TOKEN", "GITHUB_ENTERPRISE_TOKEN"],
    destinations: (environment) => fromVariable(environment, "GH_HOST"),
  },
  {
    env: ["OPENAI_API_KEY"],
    auth: ["bearer"],
    header: undefined,
    headerPrefix: "",
    prefixes: OPENAI_PREFIXES,
    destinations: (environment) => {
      const own = fromVariable(environment, "OPENAI_BASE_URL");
      return own.length > 0 ? own : [new UrlPrefix("api.openai.com")];
    },
  },
];

/**
 * The built-in providers and a client's own. Throws a CapabilityError for one that could not be obeyed: its secret would
 * not be hidden.
 */
export function secretProviders(configured: ReadonlyMap<string, ProviderConfig>): SecretProvider[] {
  const taken = new Set(BUILT_IN.flatMap(({ env }) => env));
  const own = [...configured].map(([name, config]) => {
    const provider = configuredProvider(name, config);
    for (const variable of config.env) {
      if (taken.has(variable)) throw fault(name, `overlaps another source of ${variable}`);
      taken.add(variable);
    }
    return provider;
  });
  return [...BUILT_IN, ...own];
}

function configuredProvider(name: string, config: ProviderConfig): SecretProvider {
  const { env, patterns, urlPrefixes, urlPrefixFromEnv, auth, header, prefix } = config;
  if (name === "") throw new CapabilityError("INVALID_INPUT", "credential provider name must not be empty");
  if (env.length === 0) throw fault(name, "has no environment keys");
  if (patterns.length === 0) throw fault(name, "has no credential patterns");
  if (urlPrefixes.length === 0 && urlPrefixFromEnv === undefined)
    throw fault(name, "has no destination URL prefixes");
  if (!env.every(isVariableName)) throw fault(name, "has an invalid environment key");
  if (urlPrefixFromEnv !== undefined && (!isVariableName(urlPrefixFromEnv) || env.includes(urlPrefixFromEnv)))
    throw fault(name, "has an invalid host environment key");
  if (patterns.some((pattern) => pattern.length > MAX_PATTERN_LENGTH))
    throw fault(name, `has a credential pattern of more than ${MAX_PATTERN_LENGTH} characters`);
  if (auth.includes("header") !== (header !== undefined))
    throw fault(name, "requires a header name exactly when using header authentication");
  if (header !== undefined && !/^[!#$%&'*+.^_`|~0-9a-z-]+$/i.test(header))
    throw fault(name, "has an invalid header name");
  if (prefix !== undefined && header === undefined)
    throw fault(name, "requires header authentication to use a header prefix");
  const fixed = urlPrefixes.map((text) => destinationOf(name, text));
  return {
    env,
    auth: auth.length === 0 ? ["bearer"] : auth,
    header: header?.toLowerCase(),
    headerPrefix: prefix ?? "",
    prefixes: patterns.map(literalPrefix).sort((one, other) => other.length - one.length),
    destinations: (environment) => [
      ...fixed,
      ...(urlPrefixFromEnv === undefined ? [] : fromVariable(environment, urlPrefixFromEnv)),
    ],
  };
}

function destinationOf(name: string, text: string): UrlPrefix {
  try {
    return new UrlPrefix(text);
  } catch (error) {
    if (error instanceof CapabilityError)
      throw new CapabilityError(
        "INVALID_INPUT",
        `invalid destination for credential provider \`${name}\`: ${error.message}`,
      );
    throw error;
  }
}

function fromVariable(environment: Environment, name: string): UrlPrefix[] {
  const value = environment.get(name);
  if (value === undefined || value.includes("*")) return [];
  try {
    return [new UrlPrefix(value)];
  } catch {
    return [];
  }
}

/** The characters with which every match of a regular expression begins; the last one may be repeated or optional. */
function literalPrefix(pattern: string): string {
  if (pattern.includes("|")) return "";
  const [literal = ""] = /^\^?([\w-]*)/.exec(pattern)?.slice(1) ?? [];
  const next = pattern.replace(/^\^/, "")[literal.length];
  return next !== undefined && "*+?{".includes(next) ? literal.slice(0, -1) : literal;
}

function isVariableName(name: string): boolean {
  return /^[A-Za-z_][A-Za-z0-9_]*$/.test(name);
}

function fault(name: string, what: string): CapabilityError {
  return new CapabilityError("INVALID_INPUT", `credential provider \`${name}\` ${what}`);
}

import { MatchingWork, NamePatterns } from "./name-patterns.ts";

export interface EnvPolicy {
  readonly inherit: "all" | "core" | "none";
  readonly ignoreDefaultExcludes: boolean;
  readonly exclude: readonly string[];
  readonly set: Readonly<Record<string, string>>;
  readonly includeOnly: readonly string[];
}

export type Environment = Readonly<Record<string, string | undefined>>;

const CORE_NAMES = new Set([
  "PATH",
  "SHELL",
  "TMPDIR",
  "TEMP",
  "TMP",
  "HOME",
  "LANG",
  "LC_ALL",
  "LC_CTYPE",
  "LOGNAME",
  "USER",
]);
const SECRET_PATTERNS = ["*KEY*", "*SECRET*", "*TOKEN*"];

/** Secrets of the server's own channels, which no child gets, even if a request names them. */
const WITHHELD_NAMES = new Set([
  "CODEX_EXEC_SERVER_EXIT_ON_STDIN_CLOSE",
  "CODEX_EXEC_SERVER_NOISE_AUTH_TOKEN",
  "NODE_REPL_AUTH_TOKEN",
  "OPENAI_FEDERATION_RULE_ID",
  "OPENAI_IDENTITY_TOKEN_FILE",
]);

/**
 * The environment of a child. Without a policy nothing is inherited. `requested` always takes precedence. Throws a
 * CapabilityError for wildcards that take too long.
 */
export function childEnvironment(
  server: Environment,
  policy: EnvPolicy | undefined,
  requested: Readonly<Record<string, string>>,
): Map<string, string> {
  const env = policy === undefined ? new Map<string, string>() : applyPolicy(server, policy);
  setAll(env, requested);
  for (const name of WITHHELD_NAMES) env.delete(name);
  return env;
}

function applyPolicy(server: Environment, policy: EnvPolicy): Map<string, string> {
  const work = new MatchingWork();
  const secrets = policy.ignoreDefaultExcludes ? [] : SECRET_PATTERNS;
  const excluded = new NamePatterns([...secrets, ...policy.exclude], work);
  const env = new Map<string, string>();
  for (const [name, value] of Object.entries(server)) {
    const inherited =
      policy.inherit === "all" || (policy.inherit === "core" && CORE_NAMES.has(name.toUpperCase()));
    if (inherited && value !== undefined && !excluded.fits(name)) env.set(name, value);
  }
  setAll(env, policy.set);
  if (policy.includeOnly.length > 0) {
    const included = new NamePatterns(policy.includeOnly, work);
    for (const name of env.keys()) if (!included.fits(name)) env.delete(name);
  }
  return env;
}

/** `Object.entries` takes three times as long for an object with many members. */
function setAll(env: Map<string, string>, variables: Readonly<Record<string, string>>): void {
  for (const name of Object.keys(variables)) env.set(name, variables[name]!);
}

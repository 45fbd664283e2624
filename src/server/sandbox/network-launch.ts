import { invalidParams } from "../wire/refusals.ts";
import { isAbsolute } from "node:path";
import { CapabilityError } from "../../base/errors.ts";
import { NetworkRules } from "../../capabilities/network-proxy/network-rules.ts";
import type { Hidden } from "../../capabilities/network-proxy/secrets/masked-secrets.ts";
import {
  type ProviderConfig,
  type SecretProvider,
  secretProviders,
} from "../../capabilities/network-proxy/secrets/secret-provider.ts";
import type { HeldSecret } from "../../capabilities/network-proxy/secrets/secret-value.ts";
import type { CredentialProvider, NetworkProxyConfig } from "../../protocol/network.ts";
import type { ProcessStart } from "../../protocol/process.ts";

/** Maximum length in bytes of a process id about which a client is asked. */
const MAX_ASKED_ID_BYTES = 256;

/** Each of them is looked for in every answer. */
const MAX_SECRETS = 32;

/** The proxy that a start requests. */
export interface NetworkLaunch {
  readonly rules: NetworkRules;
  readonly allowLocal: boolean;
  readonly socks: boolean;
  /** How long the client has to decide about hosts that the rules do not allow. */
  readonly askTimeoutMs: number | undefined;
  /** What is hidden from the process; undefined if nothing is. */
  readonly hidden: Hidden | undefined;
}

/** Secrets that a start names. */
export interface NamedSecrets {
  readonly held: readonly HeldSecret[];
  /** Hosts that are allowed for their sake. */
  readonly hosts: readonly string[];
  /** Those of them that may have private addresses. */
  readonly localHosts: readonly string[];
}

/** The proxy of a process that has none of its own, and uses secrets. `isOpen` if it may reach everything else, too. */
export function secretsLaunch(
  { held, hosts, localHosts }: NamedSecrets,
  { isOpen }: { isOpen: boolean },
): NetworkLaunch {
  const allow = isOpen ? ["*"] : hosts;
  return {
    rules: new NetworkRules({ mode: "full", allowLocal: isOpen, allow, localHosts, deny: [], review: [] }),
    // Secrets may be for hosts that programs would otherwise reach without the proxy.
    allowLocal: false,
    socks: true,
    askTimeoutMs: undefined,
    hidden: { held, providers: [] },
  };
}

/** Throws the error of a Codex server for what cannot be launched. */
export function networkLaunch(
  { processId, networkProxy }: ProcessStart,
  named?: NamedSecrets,
): NetworkLaunch | undefined {
  if (networkProxy === undefined || networkProxy === null) return undefined;
  const { proxy, policyDecisionTimeoutMs: timeoutMs } = networkProxy;
  const askTimeoutMs = timeoutMs ?? undefined;
  if (askTimeoutMs === 0) throw invalidParams("network policy decision callback timeout must be nonzero");
  const idBytes = Buffer.byteLength(processId);
  if (askTimeoutMs !== undefined && (idBytes === 0 || idBytes > MAX_ASKED_ID_BYTES))
    throw invalidParams(
      `callback-enabled process ID must be non-empty and at most ${MAX_ASKED_ID_BYTES} bytes`,
    );
  refuseUnsupported(proxy);
  return {
    rules: rulesOf(proxy, named),
    allowLocal: proxy.allowLocalBinding,
    socks: proxy.enableSocks5,
    askTimeoutMs,
    hidden:
      proxy.credentialMasking !== true && named === undefined
        ? undefined
        : { held: named?.held ?? [], providers: proxy.credentialMasking === true ? providersOf(proxy) : [] },
  };
}

function refuseUnsupported({ enabled, unixSockets }: NetworkProxyConfig): void {
  if (!enabled) throw invalidConfig("executor-local network proxy launch requires an enabled proxy");
  // On Linux, proxies do not reach Unix sockets, so they are only checked.
  const allowed = Object.entries(unixSockets ?? {}).filter(([, access]) => access === "allow");
  allowed.forEach(([path], index) => {
    if (isAbsolute(path) && !path.includes("\0")) return;
    throw invalidConfig(
      `invalid network.allow_unix_sockets[${index}]: expected a NUL-free absolute path for Linux, got ${JSON.stringify(path)}`,
    );
  });
}

function rulesOf(
  { mode, allowLocalBinding, domains, reviewDomains }: NetworkProxyConfig,
  { hosts, localHosts }: Omit<NamedSecrets, "held"> = { hosts: [], localHosts: [] },
): NetworkRules {
  const patterns = (wanted: string): string[] =>
    Object.entries(domains ?? {}).flatMap(([pattern, access]) => (access === wanted ? [pattern] : []));
  return asConfig(
    () =>
      new NetworkRules({
        mode,
        allowLocal: allowLocalBinding,
        allow: [...patterns("allow"), ...hosts],
        localHosts,
        deny: patterns("deny"),
        review: reviewDomains ?? [],
      }),
  );
}

function providersOf({ credentialProviders = {} }: NetworkProxyConfig): SecretProvider[] {
  const configs = new Map(Object.entries(credentialProviders).map(([name, each]) => [name, configOf(each)]));
  const variables = [...configs.values()].reduce((sum, { env }) => sum + env.length, 0);
  if (Math.max(configs.size, variables) > MAX_SECRETS)
    throw invalidConfig(`more than ${MAX_SECRETS} credential providers or environment keys`);
  return asConfig(() => secretProviders(configs));
}

function configOf(given: CredentialProvider): ProviderConfig {
  const { env = [], patterns = [], url_prefixes: urlPrefixes = [], auth = [] } = given;
  return {
    env,
    patterns,
    urlPrefixes,
    urlPrefixFromEnv: given.url_prefix_from_env ?? undefined,
    auth,
    header: given.header ?? undefined,
    prefix: given.prefix ?? undefined,
  };
}

function asConfig<T>(make: () => T): T {
  try {
    return make();
  } catch (error) {
    if (error instanceof CapabilityError) throw invalidConfig(error.message);
    throw error;
  }
}

function invalidConfig(message: string): Error {
  return invalidParams(`invalid network proxy config: ${message}`);
}

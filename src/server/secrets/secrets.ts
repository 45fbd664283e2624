import { CapabilityError, UsageError } from "../../base/errors.ts";
import type { Logger } from "../../base/logger.ts";
import {
  KNOWN_PREFIXES,
  type SecretProvider,
} from "../../capabilities/network-proxy/secrets/secret-provider.ts";
import { constantSecret, type HeldSecret } from "../../capabilities/network-proxy/secrets/secret-value.ts";
import { isReplaceable } from "../../capabilities/network-proxy/secrets/stand-in.ts";
import { UrlPrefix } from "../../capabilities/network-proxy/secrets/url-prefix.ts";
import type { Environment } from "../../capabilities/process/env-policy.ts";
import type { NamedSecret } from "../../protocol/process.ts";
import type { Rights } from "../access/rights.ts";
import type { SecretOptions } from "../settings/secret-options.ts";
import { invalidParams } from "../wire/refusals.ts";
import { secretFault } from "./check-secret.ts";
import { readSource } from "./read-source.ts";
import { ServerSecret } from "./server-secret.ts";

/** The secrets that a start names. */
export interface StartSecrets {
  readonly held: readonly HeldSecret[];
  /** Hosts of the server's secrets, as patterns of a proxy's rules. */
  readonly hosts: readonly string[];
  /** Those of them that may have private addresses. */
  readonly localHosts: readonly string[];
  /** Hosts of secrets that the client has brought itself. */
  readonly ownHosts: readonly string[];
  /** Rejects if one of them cannot be read. */
  ready(): Promise<void>;
}

interface Known {
  readonly options: SecretOptions;
  readonly value: ServerSecret;
}

/** The secrets of a server, and who may use them. */
export class Secrets {
  readonly #known: readonly Known[];

  /** `environment` is the server's own, with its secrets. */
  constructor(
    all: readonly SecretOptions[],
    { environment, logger }: { environment: Environment; logger: Logger },
  ) {
    this.#known = all.map((options) => {
      const { name, from } = options;
      const fault = secretFault(options);
      if (fault !== undefined) throw new UsageError(`secrets: ${fault.key} of '${name}' ${fault.why}`);
      const read = (): Promise<string> => readSource(options, environment);
      return { options, value: new ServerSecret({ name, from, read, logger }) };
    });
  }

  /**
   * What a client means by these names: secrets of the server that it may use, or else variables of the process. Throws
   * for an unknown one, and for hosts that are not the secret's.
   */
  forStart(wanted: readonly NamedSecret[], rights: Rights, env: ReadonlyMap<string, string>): StartSecrets {
    const named = wanted.map((each) => this.#named(each, rights, env));
    const variables = named.flatMap(({ provider }) => provider.env);
    const twice = variables.find((name, index) => variables.indexOf(name) !== index);
    if (twice !== undefined) throw invalidParams(`more than one of the secrets would be in ${twice}`);
    const hostsOf = (each: typeof named): string[] =>
      each.flatMap(({ destinations }) => destinations.map(({ hostPattern }) => hostPattern));
    const granted = named.filter(({ options }) => options !== undefined);
    return {
      held: named,
      hosts: hostsOf(granted),
      localHosts: hostsOf(granted.filter(({ options }) => options?.local)),
      ownHosts: hostsOf(named.filter(({ options }) => options === undefined)),
      ready: async () => {
        await Promise.all(named.flatMap(({ value }) => value.refresh() ?? []));
        const missing = named.find(({ value }) => value.current === undefined);
        if (missing === undefined) return;
        // The reason may name files of the server; it is in its log.
        throw new CapabilityError(
          "OS_ERROR",
          `the secret ${missing.name} cannot be read by the server; its log says why`,
        );
      },
    };
  }

  #named({ name, hosts }: NamedSecret, rights: Rights, env: ReadonlyMap<string, string>) {
    const known = this.#known.find(({ options }) => options.name === name && mayUse(rights, name));
    const wanted = (hosts ?? []).map((text) => ({ text, prefix: prefixOf(name, text) }));
    if (known !== undefined) {
      const { options, value } = known;
      const destinations = narrowed(options, wanted);
      return { name, options, value, destinations, provider: providerOf(options, destinations) };
    }
    const value = constantSecret(this.#ownValue(name, rights, env));
    if (wanted.length === 0)
      throw invalidParams(`the secret ${name} needs hosts: this client brings it itself`);
    const destinations = wanted.map(({ prefix }) => prefix);
    return { name, options: undefined, value, destinations, provider: providerOf({ name }, destinations) };
  }

  /** A secret that a client brings itself, in a variable of the process. */
  #ownValue(name: string, rights: Rights, env: ReadonlyMap<string, string>): string {
    const value = env.get(name)?.trim() ?? "";
    if (isReplaceable(value)) return value;
    if (value !== "")
      throw new CapabilityError(
        "INVALID_INPUT",
        `the secret ${name} cannot be hidden: it must have 16 to 4096 printable ASCII characters, 12 letters and digits among them`,
      );
    const names = this.#known.map(({ options }) => options.name).filter((each) => mayUse(rights, each));
    const known = names.length === 0 ? "this client may use none" : `this client may use ${names.join(", ")}`;
    throw new CapabilityError("NOT_FOUND", `unknown secret '${name}'; ${known}`);
  }
}

/** A client with every right may use every secret, unless its token names those that it may use. */
function mayUse({ preset, options: { secrets } }: Rights, name: string): boolean {
  return secrets === undefined ? preset === "full" : secrets.includes(name);
}

function providerOf(
  { name, as = name, header, prefix = "" }: Pick<SecretOptions, "name" | "as" | "header" | "prefix">,
  destinations: readonly UrlPrefix[],
): SecretProvider {
  return {
    env: [as],
    auth: header === undefined ? ["bearer", "token", "basic"] : [],
    header: header?.toLowerCase(),
    headerPrefix: prefix,
    prefixes: KNOWN_PREFIXES,
    destinations: () => destinations,
  };
}

/** A client can only narrow where a secret may be sent. */
function narrowed(
  { name, hosts }: SecretOptions,
  wanted: readonly { readonly text: string; readonly prefix: UrlPrefix }[],
): readonly UrlPrefix[] {
  const own = hosts.map((host) => new UrlPrefix(host));
  if (wanted.length === 0) return own;
  return wanted.map(({ text, prefix }) => {
    if (own.some((each) => each.includes(prefix))) return prefix;
    throw new CapabilityError(
      "PERMISSION_DENIED",
      `the secret ${name} is not for '${text}', but for ${hosts.join(", ")}`,
    );
  });
}

function prefixOf(name: string, text: string): UrlPrefix {
  try {
    return new UrlPrefix(text);
  } catch (error) {
    if (!(error instanceof CapabilityError)) throw error;
    throw invalidParams(`'${text}' is not a host for the secret ${name}: ${error.message}`);
  }
}

import type { LookupAddress } from "node:dns";
import { isLoopbackIp } from "../ip-address.ts";
import { encodings, replaceAllText, type Replacement, type Restoring } from "./replacement.ts";
import type { SecretProvider } from "./secret-provider.ts";
import { constantSecret, type HeldSecret, type SecretValue } from "./secret-value.ts";
import { isReplaceable, resized, standInFor } from "./stand-in.ts";
import type { RequestTarget, UrlPrefix } from "./url-prefix.ts";

interface MaskedSecret {
  readonly value: SecretValue;
  readonly standIn: string;
  readonly provider: SecretProvider;
  readonly destinations: readonly UrlPrefix[];
}

/** Headers of a request on its way out; that a stand-in in it must not go there; or that its secret cannot be read. */
export type OutgoingHeaders = { readonly headers: string[] } | "misdirected" | "unavailable";

/** An environment without secrets. */
export interface MaskedEnvironment {
  readonly env: Map<string, string>;
  readonly secrets: MaskedSecrets;
}

/** What a process may not have. */
export interface Hidden {
  /** Secrets of the server. They have to be readable. */
  readonly held: readonly HeldSecret[];
  /** Finders of secrets in the environment. */
  readonly providers: readonly SecretProvider[];
}

/** A value which is shorter is removed only where it is the whole one. */
const MIN_SEARCHED_LENGTH = 6;

type Environment = ReadonlyMap<string, string>;

/** Attempts to make a stand-in that occurs nowhere else. */
const MAX_ATTEMPTS = 16;

/**
 * Replaces the secrets of an environment, wherever they occur in it. A value that cannot be replaced is left out: nobody
 * could find it again, so it must not get in. The server's own secrets come first: what a client's provider finds, and
 * sends to hosts of its own, has only stand-ins for them.
 */
export function maskSecrets(given: Environment, { held, providers }: Hidden): MaskedEnvironment {
  const own = held.map((secret) => maskHeld(secret, given));
  const env = hidden(given, own);
  for (const { provider, standIn } of own) for (const name of provider.env) env.set(name, standIn);
  const inherited = maskFound(env, providers, own);
  const masked = hidden(env, inherited);
  const all = [...own, ...inherited];
  masked.set("CODEX_NETWORK_PROXY_CREDENTIAL_BROKER_ACTIVE", "1");
  masked.set("CODEX_NETWORK_PROXY_BROKERED_CREDENTIALS", JSON.stringify(markers(given, masked, all)));
  return { env: masked, secrets: new MaskedSecrets(all) };
}

function maskHeld({ value, provider }: HeldSecret, env: Environment): MaskedSecret {
  const standIn = freshStandIn(value.values[0]!, provider, env);
  return { value, standIn, provider, destinations: provider.destinations(env) };
}

/** What the providers find. Removes variables that contain a value which cannot be replaced. */
function maskFound(
  env: Map<string, string>,
  providers: readonly SecretProvider[],
  own: readonly MaskedSecret[],
): MaskedSecret[] {
  const found = new Map<string, MaskedSecret>();
  for (const provider of providers) {
    for (const name of provider.env) {
      const secret = env.get(name)?.trim();
      if (secret === undefined || secret === "") continue;
      if (own.some(({ standIn }) => secret.includes(standIn))) continue;
      if (!isReplaceable(secret)) remove(env, name, secret);
      else if (!found.has(secret))
        found.set(secret, {
          value: constantSecret(secret),
          standIn: freshStandIn(secret, provider, env),
          provider,
          destinations: provider.destinations(env),
        });
    }
  }
  return [...found.values()];
}

/** A very short value would be found everywhere by chance. */
function remove(env: Map<string, string>, name: string, secret: string): void {
  env.delete(name);
  for (const [other, text] of env)
    if (text === secret || (secret.length >= MIN_SEARCHED_LENGTH && text.includes(secret))) env.delete(other);
}

/** The same environment with stand-ins. */
function hidden(env: Environment, secrets: readonly MaskedSecret[]): Map<string, string> {
  const replacements = inAllForms(secrets);
  return new Map(Array.from(env, ([name, text]) => [name, replaceAllText(text, replacements)]));
}

/** As Codex lists them: the variables with a stand-in. */
function markers(given: Environment, env: Environment, secrets: readonly MaskedSecret[]): [string, string][] {
  const names = new Set(secrets.flatMap(({ provider }) => provider.env));
  const changed = Array.from(env).filter(([name, text]) => text !== given.get(name));
  return [
    ...changed.map(([name, text]): [string, string] => [`@alias:${name}`, text]),
    ...changed.filter(([name]) => names.has(name)),
  ];
}

/** A secret that contains another one comes first. */
function replacementsFor(secrets: readonly MaskedSecret[]): Replacement[] {
  return secrets
    .flatMap(({ value, standIn }) =>
      value.values.map((from) => ({ from, to: resized(standIn, from.length) })),
    )
    .sort((one, other) => other.from.length - one.from.length);
}

function inAllForms(secrets: readonly MaskedSecret[]): Replacement[] {
  return replacementsFor(secrets).flatMap(({ from, to }) => encodings(from, to));
}

function freshStandIn(secret: string, { prefixes }: SecretProvider, env: Environment): string {
  const prefix = prefixes.find((text) => secret.startsWith(text)) ?? "";
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt += 1) {
    const standIn = standInFor(secret, prefix);
    if (standIn !== secret && [...env.values()].every((value) => !value.includes(standIn))) return standIn;
  }
  throw new Error("no stand-in can be made");
}

/** The secrets of one process, which has stand-ins for them. */
export class MaskedSecrets {
  readonly #secrets: readonly MaskedSecret[];
  #values: readonly (readonly string[])[] = [];
  #restoring: readonly Replacement[] = [];

  constructor(secrets: readonly MaskedSecret[]) {
    this.#secrets = secrets;
  }

  /** Undefined if there are no secrets. */
  get restoring(): Restoring | undefined {
    return this.#secrets.length === 0 ? undefined : this.#current;
  }

  /**
   * What turns an answer back at this moment: the secrets as they are and as they were, and in the encodings in which
   * servers repeat headers.
   */
  readonly #current = (): readonly Replacement[] => {
    const values = this.#secrets.map(({ value }) => value.values);
    if (values.length !== this.#values.length || values.some((each, at) => each !== this.#values[at])) {
      this.#values = values;
      this.#restoring = inAllForms(this.#secrets);
    }
    return this.#restoring;
  };

  /** Hosts of the secrets, without those below a name. */
  get hosts(): string[] {
    return this.#secrets.flatMap(({ destinations }) => destinations.map(({ host }) => host));
  }

  /** Whether a secret is for this host, so that the proxy has to see what is sent there. */
  isForHost(target: Omit<RequestTarget, "path">): boolean {
    return this.#secrets.some(({ destinations }) => destinations.some((prefix) => prefix.covers(target)));
  }

  /**
   * Whether a secret is for this host in clear. A tunnel to it could not be looked into, and would show what the host
   * says about other requests. Only hosts on this machine are reached in clear, so any name of it counts.
   */
  isInClear(port: number, addresses: readonly LookupAddress[]): boolean {
    return (
      addresses.some(({ address }) => isLoopbackIp(address)) &&
      this.#secrets.some(({ destinations }) =>
        destinations.some((prefix) => prefix.scheme === "http" && prefix.port === port),
      )
    );
  }

  /** Reads the secrets for this host again, where that is due. Undefined if none is. Never rejects. */
  refresh(target: Omit<RequestTarget, "path">): Promise<unknown> | undefined {
    const due = this.#secrets.flatMap(({ destinations, value }) =>
      destinations.some((prefix) => prefix.covers(target)) ? (value.refresh() ?? []) : [],
    );
    return due.length === 0 ? undefined : Promise.all(due);
  }

  /** Puts secrets in the place of stand-ins, where and for whom the provider says so. `raw` has names and values in turn. */
  outgoing(target: RequestTarget, raw: readonly string[]): OutgoingHeaders {
    const headers = [...raw];
    for (const masked of this.#secrets) {
      const { destinations, value } = masked;
      if (destinations.some((prefix) => prefix.matches(target))) {
        if (value.current !== undefined) swapIn(headers, masked, value.current);
        else if (carries(masked, target, headers)) return "unavailable";
      } else if (!destinations.some((prefix) => prefix.covers(target)) && carries(masked, target, headers))
        return "misdirected";
    }
    return { headers };
  }
}

/** A stand-in can do no harm, but whoever sends it elsewhere believes that it is the secret. */
function carries({ standIn }: MaskedSecret, { path }: RequestTarget, headers: readonly string[]): boolean {
  if (path.includes(standIn) || decoded(path).includes(standIn)) return true;
  return headers.some(
    (text, index) => index % 2 === 1 && (text.includes(standIn) || basicOf(text)?.includes(standIn)),
  );
}

function decoded(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch {
    return path;
  }
}

function swapIn(headers: string[], { standIn, provider }: MaskedSecret, secret: string): void {
  for (let index = 0; index + 1 < headers.length; index += 2) {
    const name = headers[index]!.toLowerCase();
    const value = headers[index + 1]!;
    const swapped =
      (name === "authorization" ? authorization(value, { secret, standIn, provider }) : undefined) ??
      (name === provider.header && value === provider.headerPrefix + standIn
        ? provider.headerPrefix + secret
        : undefined);
    if (swapped !== undefined) headers[index + 1] = swapped;
  }
}

function authorization(
  value: string,
  { secret, standIn, provider }: Pick<MaskedSecret, "standIn" | "provider"> & { readonly secret: string },
): string | undefined {
  const [, scheme = "", content = ""] = /^(\S+) +(\S+)$/.exec(value) ?? [];
  const method = scheme.toLowerCase();
  if (!provider.auth.some((allowed) => allowed === method)) return undefined;
  if (method !== "basic") return content === standIn ? `${scheme} ${secret}` : undefined;
  // The user, the password, or both of them.
  const pair = basicOf(value) ?? "";
  const colon = pair.indexOf(":");
  const parts = colon < 0 ? [pair] : [pair.slice(0, colon), pair.slice(colon + 1)];
  const swapped =
    pair === standIn ? secret : parts.map((part) => (part === standIn ? secret : part)).join(":");
  return swapped === pair ? undefined : `${scheme} ${Buffer.from(swapped).toString("base64")}`;
}

function basicOf(value: string): string | undefined {
  const encoded = /^basic +([a-z0-9+/]+=*)$/i.exec(value)?.[1];
  return encoded === undefined ? undefined : Buffer.from(encoded, "base64").toString();
}

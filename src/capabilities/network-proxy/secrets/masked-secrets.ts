import { encodings, replaceAllText, type Replacement } from "./replacement.ts";
import type { SecretProvider } from "./secret-provider.ts";
import { isReplaceable, standInFor } from "./stand-in.ts";
import type { RequestTarget, UrlPrefix } from "./url-prefix.ts";

interface MaskedSecret {
  readonly secret: string;
  readonly standIn: string;
  readonly provider: SecretProvider;
  readonly destinations: readonly UrlPrefix[];
}

/** Headers of a request on its way out, or that a stand-in in it must not go there. */
export type OutgoingHeaders = { readonly headers: string[] } | "misdirected";

/** An environment without secrets. */
export interface MaskedEnvironment {
  readonly env: Map<string, string>;
  readonly secrets: MaskedSecrets;
}

/** Attempts to make a stand-in that occurs nowhere else. */
const MAX_ATTEMPTS = 16;

/**
 * Replaces the secrets of an environment, wherever they occur in it. A value that cannot be replaced is left out: nobody
 * could find it again, so it must not get in.
 */
export function maskSecrets(
  given: ReadonlyMap<string, string>,
  providers: readonly SecretProvider[],
): MaskedEnvironment {
  const env = new Map(given);
  const masked = new Map<string, MaskedSecret>();
  for (const provider of providers) {
    for (const name of provider.env) {
      const secret = given.get(name)?.trim();
      if (secret === undefined || secret === "") continue;
      if (!isReplaceable(secret)) env.delete(name);
      else if (!masked.has(secret))
        masked.set(secret, {
          secret,
          standIn: freshStandIn(secret, provider, given),
          provider,
          destinations: provider.destinations(given),
        });
    }
  }
  // A secret that contains another one comes first.
  const all = [...masked.values()].sort((one, other) => other.secret.length - one.secret.length);
  const replacements = all.map(({ secret, standIn }) => ({ from: secret, to: standIn }));
  const aliases: string[] = [];
  for (const [name, value] of env) {
    const replaced = replaceAllText(value, replacements);
    if (replaced === value) continue;
    env.set(name, replaced);
    aliases.push(name);
  }
  const names = new Set(all.flatMap(({ provider }) => provider.env));
  const marker = [
    ...aliases.map((name) => [`@alias:${name}`, env.get(name)!]),
    ...aliases.filter((name) => names.has(name)).map((name) => [name, env.get(name)!]),
  ];
  env.set("CODEX_NETWORK_PROXY_CREDENTIAL_BROKER_ACTIVE", "1");
  env.set("CODEX_NETWORK_PROXY_BROKERED_CREDENTIALS", JSON.stringify(marker));
  return { env, secrets: new MaskedSecrets(all) };
}

function freshStandIn(
  secret: string,
  { prefixes }: SecretProvider,
  env: ReadonlyMap<string, string>,
): string {
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
  /** What turns an answer back: the secrets as they are, and in the encodings in which servers repeat headers. */
  readonly restoring: readonly Replacement[];

  constructor(secrets: readonly MaskedSecret[]) {
    this.#secrets = secrets;
    this.restoring = secrets.flatMap(({ secret, standIn }) => encodings(secret, standIn));
  }

  get isEmpty(): boolean {
    return this.#secrets.length === 0;
  }

  /** Whether a secret is for this host, so that the proxy has to see what is sent there. */
  isForHost(target: Omit<RequestTarget, "path">): boolean {
    return this.#secrets.some(({ destinations }) => destinations.some((prefix) => prefix.covers(target)));
  }

  /** Puts secrets in the place of stand-ins, where and for whom the provider says so. `raw` has names and values in turn. */
  outgoing(target: RequestTarget, raw: readonly string[]): OutgoingHeaders {
    const headers = [...raw];
    for (const masked of this.#secrets) {
      if (masked.destinations.some((prefix) => prefix.matches(target))) swapIn(headers, masked);
      else if (
        !masked.destinations.some((prefix) => prefix.covers(target)) &&
        carries(masked, target, headers)
      )
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

function swapIn(headers: string[], { secret, standIn, provider }: MaskedSecret): void {
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
  { secret, standIn, provider }: Pick<MaskedSecret, "secret" | "standIn" | "provider">,
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

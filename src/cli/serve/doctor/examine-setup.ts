import { existsSync, readFileSync } from "node:fs";
import { resolve } from "node:path";
import { resultOr } from "../../../native/result-or.ts";
import { publicHost } from "../../../server/access/origins.ts";
import { type ListenAddress, parseListenUrl } from "../../../server/serve/listen-address.ts";
import { usageFailure } from "../../shared/failure.ts";
import { hostsPath } from "../../shared/hosts-path.ts";
import { parseAuthentication, resolveHome } from "../authentication-flags.ts";
import { type Configuration, readConfiguration } from "../config-file.ts";
import { type Exposure, parseExposure } from "../exposure-flags.ts";
import type { Flags } from "../flags.ts";
import { parseFleet } from "../fleet-flags.ts";
import { checkAddress } from "./check-address.ts";
import { checkCertificate } from "./check-certificate.ts";
import { checkClock } from "./check-clock.ts";
import { checkDescriptors } from "./check-descriptors.ts";
import { checkFile, type ServerFile } from "./check-file.ts";
import { checkNats } from "./check-nats.ts";
import { checkSecret } from "./check-secret.ts";
import type { Check } from "./check.ts";

const CLOCK_SCHEMES = new Set(["http:", "https:", "ws:", "wss:"]);
/** Listens on every address, so clients use others. */
const WILDCARDS = ["0.0.0.0", "::"];
const SECRET_KEYS = /^\s*(?:auth_bearer_token|password)\s*=/m;

/** Checks what a server with these flags needs. Throws a Failure for flags that no server takes. */
export async function examineSetup(flags: Flags): Promise<readonly Check[]> {
  const url = clockUrl(flags);
  const address = parseListenUrl(
    flags.has("stdio") ? "stdio" : (flags.get("listen") ?? "ws://127.0.0.1:0"),
    "--listen URL",
  );
  const config = flags.get("config");
  const configuration: Configuration =
    config === undefined ? { limits: {} } : await readConfiguration(config);
  const { secrets = [] } = configuration;
  parseAuthentication(flags);
  const exposure = parseExposure(flags, configuration, address);
  const joined = await parseFleet(flags, configuration.fleet);
  const found = await checkAddress(address);
  // Without the C library, the examination of the sandbox says why.
  const descriptors = resultOr(undefined, () => checkDescriptors());
  return [
    ...(descriptors === undefined ? [] : [descriptors]),
    ...(found === undefined ? [] : [found]),
    ...(exposure.tls === undefined ? [] : [checkCertificate(exposure.tls, hostsOf(address, exposure))]),
    ...filesOf(flags, exposure, joined).map(checkFile),
    ...secrets.flatMap(({ name, path }) =>
      path === undefined ? [] : [checkFile({ what: `the secret ${name}`, path, isSecret: true })],
    ),
    ...(await Promise.all(secrets.map(checkSecret))),
    ...(joined === undefined ? [] : [await checkNats(joined.fleet)]),
    ...(url === undefined ? [] : [await checkClock(url)]),
  ];
}

function clockUrl(flags: Flags): URL | undefined {
  const text = flags.get("url");
  if (text === undefined) return undefined;
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !CLOCK_SCHEMES.has(url.protocol))
    throw usageFailure(
      `invalid value '${text}' for '--url <URL>': expected wss://, ws://, https:// or http://`,
    );
  return url;
}

/** By which clients reach the server, as far as it is known. */
function hostsOf(address: ListenAddress, { publicUrls = [] }: Exposure): readonly string[] {
  if (publicUrls.length > 0) return publicUrls.map((url) => publicHost(url));
  return address.kind !== "websocket" || WILDCARDS.includes(address.host) ? [] : [address.host];
}

function filesOf(
  flags: Flags,
  { tls }: Exposure,
  joined: Awaited<ReturnType<typeof parseFleet>>,
): readonly ServerFile[] {
  const { credentials, nkey, key, ca, cert } = joined?.fleet ?? {};
  const named = (name: string): string | undefined => {
    const path = flags.get(name);
    return path === undefined ? undefined : resolveHome(path);
  };
  const all: readonly (readonly [what: string, path: string | undefined, isSecret: boolean])[] = [
    ["the token file", named("ws-token-file"), true],
    ["the shared secret", named("ws-shared-secret-file"), true],
    ["the token table", named("ws-token-table"), false],
    ["the configuration", named("config"), holdsSecret(named("config"))],
    ["the TLS key", tls?.key, true],
    ["the TLS certificate", tls?.cert, false],
    ["the client CA", tls?.clientCa, false],
    ["the description of the fleet", joined?.secrets[0], holdsSecret(joined?.secrets[0])],
    ["the NATS credentials", credentials, true],
    ["the NATS nkey", nkey, true],
    ["the NATS key", key, true],
    ["the NATS certificate", cert, false],
    ["the NATS CA", ca, false],
    ["the relay identity", named("identity"), true],
    ["the authorized clients", named("authorized-clients"), false],
    ["your hosts", secretHosts(), true],
  ];
  return all.flatMap(([what, path, isSecret]) =>
    path === undefined ? [] : [{ what, path: resolve(path), isSecret }],
  );
}

/** The user's hosts.toml, if it holds a token. */
function secretHosts(): string | undefined {
  const path = hostsPath();
  return existsSync(path) && holdsSecret(path) ? path : undefined;
}

function holdsSecret(path: string | undefined): boolean {
  if (path === undefined) return false;
  return SECRET_KEYS.test(resultOr("", () => readFileSync(path, "utf8")));
}

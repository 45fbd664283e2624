import { createPrivateKey, type KeyObject, randomBytes, type X509Certificate } from "node:crypto";
import { isIP } from "node:net";
import { checkServerIdentity } from "node:tls";
import { credsAuthenticator, nkeyAuthenticator } from "@nats-io/transport-node";
import type { Authenticator, NodeConnectionOptions } from "@nats-io/transport-node";
import { messageOf, UsageError } from "../base/errors.ts";
import { certificatesIn } from "../transport/websocket/client-certificates.ts";
import type { FleetAddress } from "./fleet-address.ts";
import { readLoginFile } from "./login-file.ts";
import { renewedLogin } from "./renewed-login.ts";
import { INBOXES } from "./subjects.ts";

const SERVER = /^(?:nats|tls):\/\/[^\s/@]+\/?$/;
const SEED = /^S[A-Z2-7]{57}$/;
const INBOX_NAME = /^[A-Za-z0-9_-]{1,64}$/;

/** Options of the NATS library. Throws a UsageError for an address that cannot be used. */
export function natsOptions(address: FleetAddress): NodeConnectionOptions {
  const servers = serversOf(address);
  const { credentials, nkey, user, password, ca, cert, key } = address;
  if ([credentials, nkey, user].filter((one) => one !== undefined).length > 1)
    throw new UsageError("a fleet is entered with one of `credentials`, `nkey` and `user`");
  if ((user === undefined) !== (password === undefined))
    throw new UsageError("a user of a fleet needs both: `user` and `password`");
  if ((cert === undefined) !== (key === undefined))
    throw new UsageError("a client certificate needs both: `cert` and `key`");
  const isSecure = servers.some((server) => server.startsWith("tls:"));
  if ((ca ?? cert) !== undefined && !isSecure)
    throw new UsageError("`ca`, `cert` and `key` need servers with tls://");
  if (isSecure && !servers.every((server) => server.startsWith("tls:")))
    throw new UsageError("either all servers of a fleet have tls://, or none");
  // The library passes everything on to Node.
  const tls = { ...(isSecure ? tlsFiles(address) : {}), checkServerIdentity: identityCheck(servers) };
  return {
    servers,
    ...(credentials === undefined
      ? {}
      : {
          authenticator: loginOf(
            credentials,
            () => readLoginFile("credentials", credentials),
            credsAuthenticator,
          ),
        }),
    ...(nkey === undefined ? {} : { authenticator: loginOf(nkey, () => seedOf(nkey), nkeyAuthenticator) }),
    ...(user === undefined || password === undefined ? {} : { user, pass: password }),
    ...(isSecure ? { tls } : {}),
  };
}

/** Below this, a client of the fleet receives. */
export function inboxOf({ inbox }: FleetAddress): string {
  if (inbox !== undefined && !INBOX_NAME.test(inbox))
    throw new UsageError("`inbox` must have 1 to 64 letters, digits, '-' or '_'");
  return `${INBOXES}.${inbox ?? randomBytes(9).toString("base64url")}`;
}

function serversOf({ servers }: FleetAddress): string[] {
  const list = typeof servers === "string" ? [servers] : [...servers];
  if (list.length === 0) throw new UsageError("a fleet needs at least one NATS server");
  for (const server of list) {
    // It may hold a password, which belongs in no message.
    if (server.includes("@"))
      throw new UsageError(
        "invalid server of a fleet: a URL with a user; give `user` and `password` on their own, in a file",
      );
    if (!SERVER.test(server) || !URL.canParse(server))
      throw new UsageError(
        `invalid server of a fleet ${JSON.stringify(server)}; expected nats://HOST:PORT or tls://HOST:PORT`,
      );
  }
  return list;
}

/**
 * The library does not give Node the IP address that it connects to, so Node would look for "localhost" in the
 * certificate of every address. It must hold one of those that were given.
 */
function identityCheck(servers: readonly string[]): typeof checkServerIdentity {
  const hosts = servers.map((server) =>
    new URL(server.replace(/^tls:/, "https:")).hostname.replaceAll(/[[\]]/g, ""),
  );
  const addresses = hosts.filter((host) => host === "localhost" || isIP(host) !== 0);
  return (host, certificate) => {
    if (host !== "localhost" || addresses.length === 0) return checkServerIdentity(host, certificate);
    const faults = addresses.map((address) => checkServerIdentity(address, certificate));
    return faults.includes(undefined) ? undefined : faults[0];
  };
}

function tlsFiles({ ca, cert, key }: FleetAddress): { caFile?: string; certFile?: string; keyFile?: string } {
  // The library reads them for every connection, and says less about one that cannot be used.
  if (ca !== undefined) certificateIn("ca", ca);
  if (cert !== undefined && key !== undefined && !certificateIn("cert", cert).checkPrivateKey(keyIn(key)))
    throw new UsageError(`the key of the fleet in ${key} is not that of the certificate in ${cert}`);
  return {
    ...(ca === undefined ? {} : { caFile: ca }),
    ...(cert === undefined ? {} : { certFile: cert }),
    ...(key === undefined ? {} : { keyFile: key }),
  };
}

/** The first certificate of a file. */
function certificateIn(name: string, path: string): X509Certificate {
  const pem = readLoginFile(name, path).toString("latin1");
  try {
    const [first] = certificatesIn(pem);
    if (first !== undefined) return first;
  } catch {
    // Said below.
  }
  throw new UsageError(`the ${name} of the fleet in ${path} is not a certificate in PEM format`);
}

function keyIn(path: string): KeyObject {
  const pem = readLoginFile("key", path);
  try {
    return createPrivateKey(pem);
  } catch {
    throw new UsageError(
      `the key of the fleet in ${path} is not a private key in PEM format without a passphrase`,
    );
  }
}

/** Tried before anything is connected to: a file that cannot be used is not NATS's fault. */
function loginOf(
  path: string,
  read: () => Uint8Array,
  loginWith: (held: Uint8Array) => Authenticator,
): Authenticator {
  const login = renewedLogin(read, loginWith);
  try {
    login();
  } catch (error) {
    if (error instanceof UsageError) throw error;
    throw new UsageError(`cannot enter the fleet with the file ${path}: ${messageOf(error)}`);
  }
  return login;
}

/** A file of keys may have comments around its seed. */
function seedOf(path: string): Uint8Array {
  const words = readLoginFile("nkey", path).toString("latin1").split(/\s/);
  const seed = words.find((word) => SEED.test(word));
  if (seed === undefined) throw new UsageError(`the file ${path} holds no seed of an nkey`);
  return Buffer.from(seed);
}

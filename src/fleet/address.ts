import { createPrivateKey, type KeyObject, randomBytes, type X509Certificate } from "node:crypto";
import { closeSync, constants, fstatSync, openSync, readSync } from "node:fs";
import { isIP } from "node:net";
import { checkServerIdentity } from "node:tls";
import { credsAuthenticator, nkeyAuthenticator } from "@nats-io/transport-node";
import type { Authenticator, NodeConnectionOptions } from "@nats-io/transport-node";
import { defined } from "../base/defined.ts";
import { messageOf, UsageError } from "../base/errors.ts";
import { certificatesIn } from "../transport/websocket/client-certificates.ts";
import type { FleetAddress } from "./fleet-address.ts";
import { INBOXES } from "./subjects.ts";

const SERVER = /^(?:nats|tls):\/\/[^\s/@]+\/?$/;
const SEED = /^S[A-Z2-7]{57}$/;
const INBOX_NAME = /^[A-Za-z0-9_-]{1,64}$/;

/** Far more than a key, credentials or the authorities of a system. */
const MAX_FILE_BYTES = 1024 * 1024;
/** A pipe without a writer would stop the program. */
const READ_FLAGS = constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOCTTY;

/** Options of the NATS library. Throws a UsageError for an address that cannot be used. */
export function natsOptions(address: FleetAddress): NodeConnectionOptions {
  const servers = serversOf(address);
  const { credentials, nkey, user, password, ca, cert, key } = address;
  if ([credentials, nkey, user].filter((one) => one !== undefined).length > 1)
    throw new UsageError("log in to a fleet with only one of `credentials`, `nkey` and `user`");
  if ((user === undefined) !== (password === undefined))
    throw new UsageError("a fleet login by user needs both `user` and `password`");
  if ((cert === undefined) !== (key === undefined))
    throw new UsageError("a client certificate needs both `cert` and `key`");
  const isSecure = servers.some((server) => server.startsWith("tls:"));
  if ((ca ?? cert) !== undefined && !isSecure)
    throw new UsageError("`ca`, `cert` and `key` need servers with tls://");
  if (isSecure && !servers.every((server) => server.startsWith("tls:")))
    throw new UsageError("either all servers of a fleet have tls://, or none");
  // The library passes everything on to Node.
  const tls = { ...(isSecure ? tlsFiles(address) : {}), checkServerIdentity: identityCheck(servers) };
  return {
    servers,
    ...defined({ authenticator: authenticatorOf(address), user, pass: password }),
    ...(isSecure ? { tls } : {}),
  };
}

function authenticatorOf({ credentials, nkey }: FleetAddress): Authenticator | undefined {
  if (credentials !== undefined)
    return loginOf(credentials, () => readLoginFile("credentials", credentials), credsAuthenticator);
  return nkey === undefined ? undefined : loginOf(nkey, () => seedOf(nkey), nkeyAuthenticator);
}

/**
 * Below this, one program receives. Programs that share a name must not hear each other's messages: each would answer
 * that it has forgotten the connections of the others.
 */
export function inboxOf({ inbox }: FleetAddress): string {
  if (inbox !== undefined && !INBOX_NAME.test(inbox))
    throw new UsageError("`inbox` must have 1 to 64 letters, digits, '-' or '_'");
  const program = randomBytes(9).toString("base64url");
  return inbox === undefined ? `${INBOXES}.${program}` : `${INBOXES}.${inbox}.${program}`;
}

function serversOf({ servers }: FleetAddress): string[] {
  const list = typeof servers === "string" ? [servers] : [...servers];
  if (list.length === 0) throw new UsageError("a fleet needs at least one NATS server");
  for (const server of list) {
    // It may contain a password, which must not appear in messages.
    if (server.includes("@"))
      throw new UsageError(
        "invalid fleet server: its URL contains a user; set `user` and `password` separately, in a file",
      );
    if (!SERVER.test(server) || !URL.canParse(server))
      throw new UsageError(
        `invalid fleet server ${JSON.stringify(server)}; expected nats://HOST:PORT or tls://HOST:PORT`,
      );
  }
  return list;
}

/**
 * The library does not give Node the IP address that it connects to, so Node would look for "localhost" in the
 * certificate of every address. The certificate must name one of the configured servers.
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
    throw new UsageError(`the fleet's key in ${key} does not match its certificate in ${cert}`);
  return defined({ caFile: ca, certFile: cert, keyFile: key });
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
    throw new UsageError(`cannot log in to the fleet with the file ${path}: ${messageOf(error)}`);
  }
  return login;
}

/** A file of keys may have comments around its seed. */
function seedOf(path: string): Uint8Array {
  const words = readLoginFile("nkey", path).toString("latin1").split(/\s/);
  const seed = words.find((word) => SEED.test(word));
  if (seed === undefined) throw new UsageError(`the file ${path} does not contain an nkey seed`);
  return Buffer.from(seed);
}

/** Reads a file used to log in to NATS. Throws a UsageError; `name` says in it what the file contains. */
export function readLoginFile(name: string, path: string): Buffer {
  try {
    return readFile(path);
  } catch (error) {
    const [why] = messageOf(error).split(", open '");
    throw new UsageError(`cannot read the ${name} of the fleet in ${path}: ${why}`);
  }
}

function readFile(path: string): Buffer {
  const fd = openSync(path, READ_FLAGS);
  try {
    if (!fstatSync(fd).isFile()) throw new Error("it is not a regular file");
    const bytes = Buffer.alloc(Math.min(fstatSync(fd).size, MAX_FILE_BYTES) + 1);
    const length = readSync(fd, bytes, 0, bytes.length, 0);
    if (length > MAX_FILE_BYTES) throw new Error(`it has more than ${MAX_FILE_BYTES} bytes`);
    return bytes.subarray(0, length);
  } finally {
    closeSync(fd);
  }
}

/**
 * A login whose file is reread for every connection, because such files are renewed. While it cannot be read or used,
 * its last contents are: the NATS library would otherwise give up, and a file may be missing for a moment.
 */
export function renewedLogin(
  read: () => Uint8Array,
  loginWith: (held: Uint8Array) => Authenticator,
): Authenticator {
  let last: Uint8Array | undefined;
  return (nonce) => {
    try {
      const held = read();
      const login = loginWith(held)(nonce);
      last = held;
      return login;
    } catch (error) {
      if (last === undefined) throw error;
      return loginWith(last)(nonce);
    }
  };
}

import { readFileSync } from "node:fs";
import { createSecureContext, rootCertificates, type SecureContext } from "node:tls";

/** Where systems keep the certificates of the authorities that they trust. */
const SYSTEM_BUNDLES = [
  "/etc/ssl/certs/ca-certificates.crt",
  "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
  "/etc/pki/tls/certs/ca-bundle.crt",
  "/etc/ssl/ca-bundle.pem",
  "/etc/ssl/cert.pem",
] as const;

const BEGIN = "-----BEGIN CERTIFICATE-----";
const END = "-----END CERTIFICATE-----";

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * The authorities that this machine trusts, in PEM: those that SSL_CERT_FILE names, else the system's, else Node's, and
 * those of NODE_EXTRA_CA_CERTS. Throws if a file that is named cannot be read.
 */
export function trustedRoots(environment: Environment): string {
  const { SSL_CERT_FILE: named, NODE_EXTRA_CA_CERTS: extra } = environment;
  const system = named ? certificatesIn(named) : firstOf(SYSTEM_BUNDLES);
  return [system ?? rootCertificates.join("\n"), ...(extra ? [certificatesIn(extra)] : [])].join("\n");
}

/** A client of TLS that believes these authorities and no others. Reading them takes milliseconds. */
export function clientContext(roots: string): SecureContext {
  return createSecureContext({ ca: roots });
}

function firstOf(paths: readonly string[]): string | undefined {
  for (const path of paths) {
    try {
      return certificatesIn(path);
    } catch {
      // Every system has one of them at most.
    }
  }
  return undefined;
}

/** Comments and trailing text are left out: not every reader of the bundle copes with them. */
function certificatesIn(path: string): string {
  const found = readFileSync(path, "latin1")
    .split(BEGIN)
    .slice(1)
    .map((text) => BEGIN + text.slice(0, text.indexOf(END)) + END);
  if (found.length === 0) throw new Error(`${path} contains no certificate`);
  return `${found.join("\n")}\n`;
}

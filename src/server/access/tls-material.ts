import { createPrivateKey, type KeyObject, X509Certificate } from "node:crypto";
import { UsageError } from "../../base/errors.ts";
import { certificatesIn } from "../../transport/websocket/client-certificates.ts";
import type { TlsMaterial } from "../../transport/websocket/tls-front.ts";

/** Throws a UsageError that says which part does not fit. TLS itself takes an empty file without a word. */
export function checkTlsMaterial({ cert, key, clientCa }: TlsMaterial): void {
  const [own] = certificatesOf(cert, "the TLS certificate");
  const privateKey = parseKey(key);
  if (!own!.checkPrivateKey(privateKey)) throw new UsageError("the TLS key is not that of the certificate");
  if (clientCa !== undefined) certificatesOf(clientCa, "the client CA");
}

/** Why the server's certificate is of no use now; undefined if it is valid. */
export function validityFault({ cert }: Pick<TlsMaterial, "cert">, now = Date.now()): string | undefined {
  const { validFrom, validTo } = new X509Certificate(cert);
  if (now > Date.parse(validTo)) return `the TLS certificate expired on ${validTo}`;
  return now < Date.parse(validFrom) ? `the TLS certificate is not valid before ${validFrom}` : undefined;
}

function certificatesOf(pem: string, what: string): X509Certificate[] {
  try {
    const certificates = certificatesIn(pem);
    if (certificates.length > 0) return certificates;
  } catch {
    throw new UsageError(`${what} holds something that is not a certificate`);
  }
  throw new UsageError(`${what} holds no certificate in PEM`);
}

function parseKey(pem: string): KeyObject {
  if (/^-----BEGIN ENCRYPTED PRIVATE KEY-----|^Proc-Type: 4,ENCRYPTED/m.test(pem))
    throw new UsageError(
      "the TLS key is encrypted; store it without a passphrase, readable by the server only",
    );
  try {
    return createPrivateKey(pem);
  } catch {
    throw new UsageError("the TLS key is not a private key in PEM format");
  }
}

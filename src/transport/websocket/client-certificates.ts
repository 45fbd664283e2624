import { X509Certificate } from "node:crypto";
import type { Socket } from "node:net";
import type { DetailedPeerCertificate, TLSSocket } from "node:tls";

/** The certificate that a client has shown, and that has been verified. */
export interface ClientCertificate {
  /** One line for each part of its subject, such as `CN=build`; undefined if it has none. */
  readonly subject: string | undefined;
  readonly fingerprint256: string;
  /** When it ends, in milliseconds since 1970. */
  readonly expiresAtMs: number;
}

/** A client's verified certificate; undefined if none was requested. */
export function clientCertificateOf(socket: Socket): ClientCertificate | undefined {
  const { authorized, getPeerX509Certificate } = socket as Partial<TLSSocket>;
  const certificate = authorized === true ? getPeerX509Certificate?.call(socket) : undefined;
  if (certificate === undefined) return undefined;
  const { subject, fingerprint256, validTo } = certificate;
  return { subject, fingerprint256, expiresAtMs: Date.parse(validTo) };
}

/** Why a client that must show a certificate is refused. */
export function certificateFault(socket: TLSSocket): string | undefined {
  if (socket.getPeerX509Certificate() === undefined)
    return "this server requires a client certificate: connect with a certificate and its key";
  if (socket.authorized) return undefined;
  const { authorizationError } = socket;
  const code: unknown = authorizationError instanceof Error ? authorizationError.message : authorizationError;
  return `the client certificate is not accepted: ${String(code)}`;
}

/** Whether one of these authorities has signed the client's verified certificate, directly or through others. */
export function isSignedByAny(socket: TLSSocket, authorities: readonly X509Certificate[]): boolean {
  return chainOf(socket).some((one) => authorities.some((authority) => isSignedBy(one, authority)));
}

/** From the client's own certificate to the one that was trusted when it connected. */
function chainOf(socket: TLSSocket): X509Certificate[] {
  const chain: X509Certificate[] = [];
  let next: Partial<DetailedPeerCertificate> | undefined = socket.getPeerCertificate(true);
  while (next?.raw !== undefined) {
    chain.push(new X509Certificate(next.raw));
    next = next.issuerCertificate === next ? undefined : next.issuerCertificate;
  }
  return chain;
}

function isSignedBy(certificate: X509Certificate, authority: X509Certificate): boolean {
  if (certificate.raw.equals(authority.raw)) return true;
  return certificate.checkIssued(authority) && certificate.verify(authority.publicKey);
}

const BEGIN = "-----BEGIN CERTIFICATE-----";
const END = "-----END CERTIFICATE-----";

/** All certificates in PEM text. Throws if one of them is invalid. */
export function certificatesIn(pem: string): X509Certificate[] {
  return pem
    .split(END)
    .filter((text) => text.includes(BEGIN))
    .map((text) => new X509Certificate(text.slice(text.indexOf(BEGIN)) + END));
}

/** Certificates that no known authority has signed. */
const UNTRUSTED = new Set([
  "DEPTH_ZERO_SELF_SIGNED_CERT",
  "SELF_SIGNED_CERT_IN_CHAIN",
  "UNABLE_TO_GET_ISSUER_CERT",
  "UNABLE_TO_GET_ISSUER_CERT_LOCALLY",
  "UNABLE_TO_VERIFY_LEAF_SIGNATURE",
  "CERT_SIGNATURE_FAILURE",
  "CERT_UNTRUSTED",
  "INVALID_CA",
]);
/** Reasons of OpenSSL, which are in the code of an error or in its message. */
const NOT_TLS = /wrong version number|packet length too long/;
const OLD_TLS = /unsupported protocol|alert protocol version/;
const CERTIFICATE_REFUSED = /certificate|unknown ca|handshake failure/;

/** Names of the options for a kind of connection. */
export interface TlsOptionNames {
  /** `--ca FILE` */
  readonly ca: string;
  readonly certificate: string;
  /** `ws:// instead of wss://` */
  readonly plainScheme: string;
}

/** A description of a TLS failure, and what to do about it; undefined for other errors. */
export function describeTlsFault(
  { code = "", message }: NodeJS.ErrnoException,
  { ca, certificate, plainScheme }: TlsOptionNames,
): string | undefined {
  if (UNTRUSTED.has(code))
    return `the server's certificate is not trusted (${code}); if it is genuine, pass its authority with ${ca}`;
  if (code === "CERT_HAS_EXPIRED")
    return "the server's certificate has expired (CERT_HAS_EXPIRED); renew it on the server";
  if (code === "CERT_NOT_YET_VALID")
    return "the server's certificate is not valid yet (CERT_NOT_YET_VALID); check the clocks of both machines";
  if (code === "ERR_TLS_CERT_ALTNAME_INVALID")
    return `the server's certificate is for another name (${message}); connect by a name in the certificate`;
  const reason = `${code} ${message}`.replaceAll("_", " ").toLowerCase();
  if (NOT_TLS.test(reason)) return `the server does not speak TLS; connect with ${plainScheme}`;
  if (OLD_TLS.test(reason)) return "the server and this program do not share a TLS version";
  if (/key values mismatch/.test(reason)) return "`key` is not the key of `cert`";
  if (reason.includes(" alert ") && CERTIFICATE_REFUSED.test(reason))
    return `the server did not accept this client's certificate; pass one that it trusts with ${certificate}`;
  return undefined;
}

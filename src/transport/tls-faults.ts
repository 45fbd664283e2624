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

/** How the options of a kind of connection are given. */
export interface TlsOptionNames {
  /** `--ca FILE` */
  readonly ca: string;
  readonly certificate: string;
  /** `ws:// instead of wss://` */
  readonly plainScheme: string;
}

/** What went wrong with TLS, and what to do about it; undefined if it was something else. */
export function describeTlsFault(
  { code = "", message }: NodeJS.ErrnoException,
  { ca, certificate, plainScheme }: TlsOptionNames,
): string | undefined {
  if (UNTRUSTED.has(code))
    return `the server's certificate is not trusted (${code}); if it is right, give its authority with ${ca}`;
  if (code === "CERT_HAS_EXPIRED")
    return "the server's certificate has expired (CERT_HAS_EXPIRED); renew it on the server";
  if (code === "CERT_NOT_YET_VALID")
    return "the server's certificate is not valid yet (CERT_NOT_YET_VALID); check the clocks of both machines";
  if (code === "ERR_TLS_CERT_ALTNAME_INVALID")
    return `the server's certificate is for another name (${message}); connect by a name that it holds`;
  const reason = `${code} ${message}`.replaceAll("_", " ").toLowerCase();
  if (NOT_TLS.test(reason)) return `the server does not speak TLS; connect with ${plainScheme}`;
  if (OLD_TLS.test(reason)) return "the server and this program have no version of TLS in common";
  if (/key values mismatch/.test(reason)) return "`key` is not the key of `cert`";
  if (reason.includes(" alert ") && CERTIFICATE_REFUSED.test(reason))
    return `the server did not accept this client's certificate; give one that it knows with ${certificate}`;
  return undefined;
}

import type { IncomingMessage } from "node:http";

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
const MAX_BODY_CHARACTERS = 300;
const BODY_TIMEOUT_MS = 1_000;

/** What went wrong, and what to do about it where that is known. */
export function describeConnectFault(error: NodeJS.ErrnoException, url: string): string {
  const { code = "", message } = error;
  if (UNTRUSTED.has(code))
    return `the server's certificate is not trusted (${code}); if it is right, give its authority with \`ca\`, or --ca FILE`;
  if (code === "CERT_HAS_EXPIRED")
    return "the server's certificate has expired (CERT_HAS_EXPIRED); renew it on the server";
  if (code === "CERT_NOT_YET_VALID")
    return "the server's certificate is not valid yet (CERT_NOT_YET_VALID); check the clocks of both machines";
  if (code === "ERR_TLS_CERT_ALTNAME_INVALID")
    return `the server's certificate is for another name (${message}); connect by a name that it holds`;
  const reason = `${code} ${message}`.replaceAll("_", " ").toLowerCase();
  if (NOT_TLS.test(reason)) return "the server does not speak TLS; connect with ws:// instead of wss://";
  if (OLD_TLS.test(reason)) return "the server and this program have no version of TLS in common";
  if (/key values mismatch/.test(reason)) return "`key` is not the key of `cert`";
  if (reason.includes(" alert ") && CERTIFICATE_REFUSED.test(reason))
    return "the server did not accept this client's certificate; give one that it knows with `cert` and `key`, or --cert FILE --key FILE";
  if (code === "HPE_INVALID_CONSTANT" && url.startsWith("ws:"))
    return `the server does not answer with HTTP (${message}); if it speaks TLS, connect with wss:// instead of ws://`;
  return message;
}

/** What a refusal says in its body, as an addition to its status: one short line of text, or nothing. */
export async function readRefusal(response: IncomingMessage): Promise<string> {
  if (!/^text\/plain\b/.test(response.headers["content-type"] ?? "")) return "";
  let text = "";
  const timer = setTimeout(() => response.destroy(), BODY_TIMEOUT_MS);
  response.setEncoding("utf8");
  try {
    for await (const piece of response) {
      text += piece as string;
      if (text.length > MAX_BODY_CHARACTERS) return "";
    }
  } catch {
    return "";
  } finally {
    clearTimeout(timer);
  }
  return /^[^\p{Cc}]+$/u.test(text) ? `: ${text}` : "";
}

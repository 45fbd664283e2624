import type { IncomingMessage } from "node:http";
import { describeTlsFault, type TlsOptionNames } from "../tls-faults.ts";

const TLS_OPTIONS: TlsOptionNames = {
  ca: "`ca`, or --ca FILE",
  certificate: "`cert` and `key`, or --cert FILE --key FILE",
  plainScheme: "ws:// instead of wss://",
};
const MAX_BODY_CHARACTERS = 300;
const BODY_TIMEOUT_MS = 1_000;

/** What went wrong, and what to do about it where that is known. */
export function describeConnectFault(error: NodeJS.ErrnoException, url: string): string {
  const { code, message } = error;
  if (code === "HPE_INVALID_CONSTANT" && url.startsWith("ws:"))
    return `the server does not answer with HTTP (${message}); if it speaks TLS, connect with wss:// instead of ws://`;
  return describeTlsFault(error, TLS_OPTIONS) ?? message;
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

import { isIP } from "node:net";
import { isLoopbackUrl } from "../../../base/loopback-url.ts";
import { usageFailure } from "../../shared/failure.ts";

/** Where a relay listens. */
export interface ListenAddress {
  readonly url: string;
  readonly host: string;
  readonly port: number;
  readonly isSecure: boolean;
}

export function parseListenUrl(text: string): ListenAddress {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const host = url?.hostname.replace(/^\[|\]$/g, "") ?? "";
  if (url === undefined || !/^https?:$/.test(url.protocol) || url.pathname !== "/" || isIP(host) === 0)
    throw usageFailure(
      `invalid value '${text}' for '--listen <URL>': expected http://IP:PORT or https://IP:PORT`,
    );
  const isSecure = url.protocol === "https:";
  return { url: text, host, port: Number(url.port || (isSecure ? 443 : 80)), isSecure };
}

/** The address under which both ends reach the relay, without a slash at its end. */
export function parsePublicUrl(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const isSafe = url?.protocol === "https:" || (url?.protocol === "http:" && isLoopbackUrl(url));
  if (url === undefined || !isSafe || url.search !== "" || url.hash !== "" || url.username !== "")
    throw usageFailure(
      `invalid value '${text}' for '--public-url <URL>': expected https://HOST[:PORT][/PATH], or http:// on this machine`,
    );
  return url.href.endsWith("/") ? url.href.slice(0, -1) : url.href;
}

/** Whether only this machine can reach an address. */
export function isLocal(url: string): boolean {
  return isLoopbackUrl(new URL(url));
}

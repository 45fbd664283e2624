import { CapabilityError } from "../../base/errors.ts";
import type { Header } from "./header.ts";
import type { HttpRequest, HttpResponse } from "./exchange.ts";

const REDIRECTS = new Set([301, 302, 303, 307, 308]);
/** Headers that describe a body that is no longer sent. */
const BODY_HEADERS = new Set(["content-length", "content-type", "content-encoding", "transfer-encoding"]);
/** Headers that must not reach another origin. */
const SECRET_HEADERS = new Set([
  "authorization",
  "cookie",
  "cookie2",
  "proxy-authorization",
  "www-authenticate",
]);

/** The request that a response redirects to, or undefined if it is final. Throws for an invalid target. */
export function nextHop(
  request: HttpRequest,
  { status, headers }: Pick<HttpResponse, "status" | "headers">,
): HttpRequest | undefined {
  const location = headers.find(([name]) => name === "location")?.[1];
  if (!REDIRECTS.has(status) || location === undefined) return undefined;
  if (!URL.canParse(location, request.url.href)) return undefined;
  const url = new URL(location, request.url);
  if (url.protocol !== "http:" && url.protocol !== "https:")
    throw new CapabilityError(
      "OS_ERROR",
      `redirect target uses unsupported URL scheme: ${url.protocol.slice(0, -1)}`,
    );
  url.username = "";
  url.password = "";
  const becomesGet = becomesGetAfter(status, request.method);
  return {
    method: becomesGet ? "GET" : request.method,
    url,
    headers: headersFor(request, url, becomesGet),
    body: becomesGet ? undefined : request.body,
  };
}

function becomesGetAfter(status: number, method: string): boolean {
  return status === 303 ? method !== "HEAD" : (status === 301 || status === 302) && method === "POST";
}

function headersFor(request: HttpRequest, url: URL, withoutBody: boolean): Header[] {
  const leavesOrigin = url.origin !== request.url.origin;
  const kept = request.headers.filter(([name]) => {
    const lower = name.toLowerCase();
    return (
      lower !== "referer" &&
      !(leavesOrigin && SECRET_HEADERS.has(lower)) &&
      !(withoutBody && BODY_HEADERS.has(lower))
    );
  });
  // An insecure page must not learn the URL of a secure one.
  if (request.url.protocol === "https:" && url.protocol === "http:") return kept;
  const from = new URL(request.url);
  from.hash = "";
  return [...kept, ["referer", leavesOrigin ? `${from.origin}/` : from.href]];
}

import type { Header, HttpRequest, HttpResponse } from "./http-request.ts";

const REDIRECTS = new Set([301, 302, 303, 307, 308]);
const KEEP_METHOD = new Set([307, 308]);
/** What describes a body that is no longer sent. */
const BODY_HEADERS = new Set(["content-length", "content-type", "content-encoding", "transfer-encoding"]);
/** What must not reach another host. */
const SECRET_HEADERS = new Set([
  "authorization",
  "cookie",
  "cookie2",
  "proxy-authorization",
  "www-authenticate",
]);

/** The request that a response asks for, or undefined when it is final. */
export function nextHop(
  request: HttpRequest,
  response: Pick<HttpResponse, "status" | "headers">,
): HttpRequest | undefined {
  if (!REDIRECTS.has(response.status)) return undefined;
  const location = response.headers.find(([name]) => name === "location")?.[1];
  const url = location === undefined ? undefined : parse(location, request.url);
  if (url === undefined) return undefined;
  const keepsMethod =
    KEEP_METHOD.has(response.status) || request.method === "GET" || request.method === "HEAD";
  const changesHost = url.host !== request.url.host;
  const headers = request.headers.filter(([name]) => {
    const lower = name.toLowerCase();
    return !(
      lower === "host" ||
      (changesHost && SECRET_HEADERS.has(lower)) ||
      (!keepsMethod && BODY_HEADERS.has(lower))
    );
  });
  return {
    method: keepsMethod ? request.method : "GET",
    url,
    headers: withReferer(headers, request.url, url),
    body: keepsMethod ? request.body : undefined,
  };
}

function parse(location: string, base: URL): URL | undefined {
  if (!URL.canParse(location, base.href)) return undefined;
  const url = new URL(location, base);
  return url.protocol === "http:" || url.protocol === "https:" ? url : undefined;
}

function withReferer(headers: readonly Header[], from: URL, to: URL): Header[] {
  const others = headers.filter(([name]) => name.toLowerCase() !== "referer");
  if (from.protocol === "https:" && to.protocol === "http:") return others;
  const referer = new URL(from);
  referer.username = "";
  referer.password = "";
  referer.hash = "";
  return [...others, ["referer", referer.href]];
}

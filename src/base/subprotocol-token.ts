/**
 * Pages cannot set headers of a WebSocket, so they send their token as a subprotocol, next to the one that the server
 * selects: `exec-server, exec-server.bearer.TOKEN`, the token in base64url. The server never sends it back.
 */
const SUBPROTOCOL = "exec-server";
const BEARER = "exec-server.bearer.";

/** The subprotocols that carry a token. */
export function tokenSubprotocols(token: string): string[] {
  const bytes = new TextEncoder().encode(token);
  const base64 = btoa(String.fromCharCode(...bytes));
  return [SUBPROTOCOL, BEARER + base64.replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "")];
}

/** Browsers insist on a selection if they offer anything. Without a token among the offers, none is ever selected. */
export function selectSubprotocol(offered: ReadonlySet<string>): string | false {
  const hasToken = [...offered].some((name) => name.startsWith(BEARER));
  return hasToken && offered.has(SUBPROTOCOL) && SUBPROTOCOL;
}

/**
 * The Authorization header for the token among the offered subprotocols; undefined if there is none. Anything that
 * cannot be a token becomes an empty one, which is refused.
 */
export function subprotocolAuthorization(offered: string | undefined): string | undefined {
  const tokens = (offered ?? "")
    .split(",")
    .map((name) => name.trim())
    .filter((name) => name.startsWith(BEARER))
    .map((name) => name.slice(BEARER.length));
  const [encoded, ...others] = tokens;
  if (encoded === undefined) return undefined;
  const token = others.length > 0 ? "" : decode(encoded);
  return /^[\x21-\x7e]+$/.test(token) ? `Bearer ${token}` : "";
}

function decode(encoded: string): string {
  if (!/^[A-Za-z0-9_-]+$/.test(encoded)) return "";
  try {
    const binary = atob(encoded.replaceAll("-", "+").replaceAll("_", "/"));
    return new TextDecoder("utf-8", { fatal: true }).decode(Uint8Array.from(binary, (c) => c.charCodeAt(0)));
  } catch {
    return "";
  }
}

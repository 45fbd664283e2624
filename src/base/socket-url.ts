/** The longest path of a socket on Linux. The system's libraries shorten a longer one without a word. */
export const MAX_SOCKET_PATH_BYTES = 107;

/** The absolute path in a URL such as `unix:///run/exec.sock`, with escapes resolved; undefined for any other text. */
export function socketPathOf(url: string, scheme: "unix" | "ws+unix"): string | undefined {
  if (!url.startsWith(`${scheme}:`)) return undefined;
  const rest = url.slice(scheme.length + 1);
  const path = rest.startsWith("//") ? rest.slice(2) : rest;
  if (!path.startsWith("/") || path.startsWith("//")) return undefined;
  try {
    const decoded = decodeURIComponent(path);
    return decoded.includes("\0") ? undefined : decoded;
  } catch {
    return undefined; // A `%` that begins no escape.
  }
}

/** The URL with which a client connects to a socket. */
export function socketUrl(path: string): string {
  return `ws+unix://${path.split("/").map(encodeURIComponent).join("/")}`;
}

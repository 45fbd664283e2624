import { UsageError } from "../../base/errors.ts";

const PUBLIC_SCHEMES = new Set(["http:", "https:", "ws:", "wss:"]);

/** The host of a URL with which clients reach the server. Throws a UsageError; `name` describes the URL in it. */
export function publicHost(url: string, name = "public URL"): string {
  const parsed = URL.canParse(url) ? new URL(url) : undefined;
  if (parsed === undefined || !PUBLIC_SCHEMES.has(parsed.protocol) || parsed.hostname === "")
    throw new UsageError(
      `invalid ${name} \`${url}\`; expected a URL such as \`wss://exec.example.com\`, of which only the host counts`,
    );
  return parsed.hostname.replace(/^\[|\]$/g, "");
}

/** An origin as browsers write it. Throws a UsageError for what could never match, or would match too much. */
export function checkedOrigin(origin: string, name = "origin"): string {
  const isOrigin = /^[a-z][a-z0-9+.-]*:\/\/[^\s/?#@*]+$/.test(origin);
  const standard = /^https?:/.test(origin);
  if (!isOrigin || (standard && (!URL.canParse(origin) || new URL(origin).origin !== origin)))
    throw new UsageError(
      `invalid ${name} \`${origin}\`; expected exactly what a browser sends, such as \`https://example.com\` or \`http://localhost:3000\``,
    );
  return origin;
}

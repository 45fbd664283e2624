/** The page's credential: a secret that it got for a link, or a token that the user entered. */
const KEY = "exec-server-secret";

/** What the server tells a page before it has signed in. */
export interface ServerState {
  /** `link`: only by a link that the server or `exec-server open` prints; `token`: also by a token of the server. */
  readonly authentication: "link" | "token";
  /** Name of the machine, if strangers may know it. */
  readonly name?: string | null;
  readonly version?: string | null;
  /** The command that serves the page and prints new links, if it is not the server itself. */
  readonly command?: string;
  /** State of the presented secret. */
  readonly session?: "valid" | "over";
}

/** The server refused; the message is for people and has a remedy. */
export class AccessRefused extends Error {}

/** The secret of this tab. sessionStorage is not shared with other tabs, ports or hosts, unlike a cookie. */
export function storedSecret(): string | undefined {
  return sessionStorage.getItem(KEY) ?? undefined;
}

export function storeSecret(secret: string): void {
  sessionStorage.setItem(KEY, secret);
}

export function forgetSecret(): void {
  sessionStorage.removeItem(KEY);
}

/** Takes the token out of the address, so that neither the history nor a screenshot has it. */
export function takeLinkToken(): string | undefined {
  const token = new URLSearchParams(location.hash.slice(1)).get("link");
  if (token === null) return undefined;
  history.replaceState(null, "", location.pathname);
  return token;
}

/** The token of a link that a person pasted, or the text itself. */
export function tokenIn(text: string): string {
  const [, fragment] = text.split("#link=");
  return (fragment ?? text).trim();
}

/** The address of a link that a person pasted, if it leads to another page than this one. */
export function linkElsewhere(text: string): string | undefined {
  if (!URL.canParse(text)) return undefined;
  const { protocol, origin, hash, href } = new URL(text);
  const isPage = protocol === "http:" || protocol === "https:";
  return isPage && origin !== location.origin && hash.startsWith("#link=") ? href : undefined;
}

/**
 * Trades the token of a link, which works once, or a token of the server for a secret, or a secret for one that lasts
 * longer.
 */
export function trade(shown: { token: string } | { secret: string }): Promise<string> {
  return post("/console/session", shown, "secret");
}

/** A URL at which this browser sees what listens on a port of the server's machine. It works once. */
export function previewUrl(port: { readonly port: number; readonly host: string }): Promise<string> {
  return post("/console/previews", port, "url", { authorization: `Bearer ${storedSecret() ?? ""}` });
}

/** Resolves with the wanted member of the answer. */
async function post(
  path: string,
  body: object,
  wanted: "secret" | "url",
  headers: Readonly<Record<string, string>> = {},
): Promise<string> {
  const response = await fetch(path, {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    body: JSON.stringify(body),
  });
  const answer = (await response.json().catch(() => ({}))) as Readonly<Record<string, unknown>>;
  const { [wanted]: value, message } = answer;
  if (response.ok && typeof value === "string") return value;
  throw new AccessRefused(typeof message === "string" ? message : `the server answered ${response.status}`);
}

/** Also reports whether a secret is still valid, which browsers do not reveal when a WebSocket is refused. */
export async function serverState(secret?: string): Promise<ServerState> {
  const headers = secret === undefined ? {} : { authorization: `Bearer ${secret}` };
  const response = await fetch("/console/state", { headers });
  if (!response.ok) throw new Error(`the server answered ${response.status}`);
  return (await response.json()) as ServerState;
}

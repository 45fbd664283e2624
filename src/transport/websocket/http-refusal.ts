import type { IncomingMessage } from "node:http";
import type { RefusalCause } from "../../base/refused-connection.ts";

/** An answer to a request that does not become a connection. */
export interface Refusal {
  readonly cause: RefusalCause;
  readonly status: number;
  readonly body: string;
  readonly headers?: Readonly<Record<string, string>>;
}

const STATUS_TEXTS: Readonly<Record<number, string>> = {
  200: "OK",
  400: "Bad Request",
  401: "Unauthorized",
  403: "Forbidden",
  404: "Not Found",
  405: "Method Not Allowed",
  421: "Misdirected Request",
  426: "Upgrade Required",
  502: "Bad Gateway",
  503: "Service Unavailable",
};

/** The whole answer as text, for a socket that HTTP has been taken off. */
export function formatRefusal({ status, body, headers }: Omit<Refusal, "cause">): string {
  const lines = [
    `HTTP/1.1 ${status} ${STATUS_TEXTS[status] ?? ""}`,
    `content-length: ${Buffer.byteLength(body)}`,
  ];
  if (body !== "") lines.push("content-type: text/plain; charset=utf-8");
  for (const [name, value] of Object.entries(headers ?? {})) lines.push(`${name}: ${value}`);
  return `${lines.join("\r\n")}\r\nconnection: close\r\n\r\n${body}`;
}

const NOT_GET: Refusal = { cause: "request", status: 405, body: "Request method must be `GET`" };
const NO_UPGRADE = "`Upgrade` header did not include 'websocket'";
const malformed = (body: string): Refusal => ({ cause: "request", status: 400, body });

/** Checks the upgrade itself. */
export function refuseUpgrade({ method, headers }: IncomingMessage): Refusal | undefined {
  if (method !== "GET") return NOT_GET;
  if (headers.upgrade?.toLowerCase() !== "websocket") return malformed(NO_UPGRADE);
  if (headers["sec-websocket-version"] !== "13")
    return malformed("`Sec-WebSocket-Version` header did not include '13'");
  if (headers["sec-websocket-key"] === undefined) return malformed("`Sec-WebSocket-Key` header missing");
  return undefined;
}

/** Refuses a request for the WebSocket path that is not an upgrade. */
export function refusePlain({ method, headers }: IncomingMessage): Refusal {
  if (method !== "GET") return NOT_GET;
  const asksForUpgrade = /\bupgrade\b/i.test(headers.connection ?? "");
  return malformed(asksForUpgrade ? NO_UPGRADE : "Connection header did not include 'upgrade'");
}

/** Reports to the observer of refusals; the body is empty where Codex's server sends none. */
export function reasonOf({ status, body }: Refusal): string {
  return body === "" ? (STATUS_TEXTS[status] ?? "") : body;
}

export function pathOf(request: IncomingMessage): string {
  return request.url?.split("?", 1)[0] ?? "/";
}

import type { IncomingMessage, ServerResponse } from "node:http";
import type { Asset } from "./assets.ts";

/** Why something was not done, as the page gets it. */
export interface ConsoleError {
  readonly status: number;
  /** For the page. */
  readonly error: string;
  /** For a person, with the remedy. */
  readonly message: string;
}

export function consoleError(status: number, error: string, message: string): ConsoleError {
  return { status, error, message };
}

export function sendJson(response: ServerResponse, status: number, value: object): void {
  send(response, status, Buffer.from(`${JSON.stringify(value)}\n`), {
    "content-type": "application/json",
    "cache-control": "no-store",
  });
}

export function sendError(response: ServerResponse, { status, error, message }: ConsoleError): void {
  sendJson(response, status, { error, message });
}

/** The page itself: it is requested again each time, because it names the current assets. */
export function sendIndex(response: ServerResponse, index: Buffer | undefined): void {
  const type = index === undefined ? "text/plain; charset=utf-8" : "text/html; charset=utf-8";
  send(response, index === undefined ? 503 : 200, index ?? Buffer.from(NOT_BUILT), {
    "content-type": type,
    "cache-control": "no-cache",
  });
}

/** Its name changes with its contents, so it is never requested again. */
export function sendAsset(
  request: IncomingMessage,
  response: ServerResponse,
  { type, plain, gzip }: Asset,
): void {
  const isCompressed = acceptsGzip(request);
  send(response, 200, isCompressed ? gzip : plain, {
    "content-type": type,
    "cache-control": "public, max-age=31536000, immutable",
    vary: "accept-encoding",
    ...(isCompressed ? { "content-encoding": "gzip" } : {}),
  });
}

export function sendNotFound(response: ServerResponse): void {
  send(response, 404, Buffer.alloc(0), {});
}

/**
 * xterm.js and CodeMirror create style elements. Everything else comes from the server itself, and text never becomes
 * markup.
 */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self' 'unsafe-inline'",
  "connect-src 'self'",
  "img-src 'self' data: blob:",
  "font-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join("; ");

/** Headers of every answer of the console. */
const SECURITY_HEADERS: Readonly<Record<string, string>> = {
  "content-security-policy": POLICY,
  "x-frame-options": "DENY",
  "x-content-type-options": "nosniff",
  "referrer-policy": "no-referrer",
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
};

const NOT_BUILT = `The web console has not been built.

In a clone of the repository, "npm start" builds it, and so does "node scripts/build-console.mjs". Then load this page again.
`;

function send(
  response: ServerResponse,
  status: number,
  body: Buffer,
  headers: Readonly<Record<string, string>>,
): void {
  response
    .writeHead(status, { ...SECURITY_HEADERS, ...headers, "content-length": String(body.length) })
    .end(body);
}

function acceptsGzip({ headers }: IncomingMessage): boolean {
  return (headers["accept-encoding"] ?? "").split(",").some((coding) => {
    const [name, quality = ""] = coding.split(";").map((part) => part.trim());
    return name === "gzip" && !/^q=0(?:\.0*)?$/.test(quality);
  });
}

import { request as httpRequest, type IncomingHttpHeaders } from "node:http";
import { request as httpsRequest } from "node:https";
import { once } from "node:events";
import { WebSocket } from "ws";
import { tokenSubprotocols } from "../../src/base/subprotocol-token.ts";
import { openWith, type RawClient } from "./raw-client.ts";

export interface BrowserAnswer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
  /** The body as JSON. */
  json(): Record<string, unknown>;
}

/** What the browser trusts and shows, as PEM. */
interface Certificates {
  readonly ca?: string;
  readonly cert?: string;
  readonly key?: string;
}

interface RequestOptions extends Certificates {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

/** Sends what a browser would send, or what an attacker makes it send, to the server that listens on `url`. */
export async function browse(
  url: string,
  path: string,
  options: RequestOptions = {},
): Promise<BrowserAnswer> {
  const { method = "GET", headers = {}, body, ...certificates } = options;
  const { hostname, port, protocol } = new URL(url);
  const send = protocol === "wss:" ? httpsRequest : httpRequest;
  const request = send({
    host: hostname,
    port,
    path,
    method,
    agent: false,
    headers: { ...headers, ...(body === undefined ? {} : { "content-length": Buffer.byteLength(body) }) },
    ...certificates,
  });
  request.end(body);
  const [response] = (await once(request, "response")) as [import("node:http").IncomingMessage];
  const parts: Buffer[] = [];
  for await (const part of response as AsyncIterable<Buffer>) parts.push(part);
  const whole = Buffer.concat(parts);
  return {
    status: response.statusCode ?? 0,
    headers: response.headers,
    body: whole,
    json: () => JSON.parse(whole.toString()) as Record<string, unknown>,
  };
}

/** The origin of the server's own page. */
export function originOf(url: string): string {
  return url.replace(/^ws/, "http");
}

/** Trades a token as the page does. */
export function trade(
  url: string,
  body: Readonly<Record<string, unknown>>,
  headers: Readonly<Record<string, string>> = {},
  options: RequestOptions = {},
): Promise<BrowserAnswer> {
  return browse(url, "/console/session", {
    method: "POST",
    body: JSON.stringify(body),
    headers: { origin: originOf(url), "content-type": "application/json", ...headers },
    ...options,
  });
}

/** The token in a link. */
export function tokenOf(link: string | undefined): string {
  return new URL(link ?? "").hash.replace("#link=", "");
}

/** Opens a link as the page does, and returns the secret. */
export async function signIn(url: string, link: string | undefined): Promise<string> {
  const { secret } = (await trade(url, { token: tokenOf(link) })).json();
  if (typeof secret !== "string") throw new Error("the link was not taken");
  return secret;
}

/** Connects as a page does, and completes the handshake. */
export function openPageClient(url: string, secret: string): Promise<RawClient> {
  return openWith(new WebSocket(url, tokenSubprotocols(secret), { headers: { origin: originOf(url) } }));
}

/** Connects as a page does. Resolves with the socket, or with the status of the refusal. */
export async function openPage(
  url: string,
  secret: string | undefined,
  headers: Readonly<Record<string, string>> = {},
  options: Certificates = {},
): Promise<WebSocket | number> {
  const protocols = secret === undefined ? [] : tokenSubprotocols(secret);
  const socket = new WebSocket(url, protocols, {
    headers: { origin: originOf(url), ...headers },
    ...options,
  });
  return new Promise((resolve, reject) => {
    socket.on("open", () => resolve(socket));
    socket.on("unexpected-response", (_, response) => {
      resolve(response.statusCode ?? 0);
      socket.on("error", () => {});
      socket.terminate();
    });
    socket.on("error", reject);
  });
}

/** The status of a page that tries to connect: 101 if it is admitted. */
export async function pageStatus(...given: Parameters<typeof openPage>): Promise<number> {
  const opened = await openPage(...given);
  if (typeof opened === "number") return opened;
  opened.terminate();
  return 101;
}

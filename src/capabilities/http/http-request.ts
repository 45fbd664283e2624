import {
  Agent as HttpAgent,
  type ClientRequest,
  type IncomingMessage,
  request as requestHttp,
} from "node:http";
import { Agent as HttpsAgent, request as requestHttps } from "node:https";
import { CapabilityError } from "../../base/errors.ts";
import { findProxy } from "./proxy.ts";
import { nextHop } from "./redirect.ts";

export type Header = readonly [name: string, value: string];

export interface HttpRequest {
  readonly method: string;
  readonly url: URL;
  /** In the order they are sent; repeats follow the first of their name. */
  readonly headers: readonly Header[];
  readonly body: Uint8Array | undefined;
}

export interface HttpResponse {
  readonly status: number;
  /** In the order they came, names in lower case; repeats follow the first of their name. */
  readonly headers: readonly Header[];
  /** As it came: nothing is decompressed. Reading slowly makes the upstream server wait. */
  readonly body: AsyncIterable<Buffer>;
  /** Reads the body to its end for nobody, so that the connection can serve another request. */
  discard(): void;
}

export interface SendOptions {
  readonly followRedirects: boolean;
  readonly signal: AbortSignal;
  /** Names the proxies of the machine. */
  readonly environment: Readonly<Record<string, string | undefined>>;
}

export const MAX_REDIRECTS = 10;
const MAX_HEADER_BYTES = 1024 * 1024;

let agents: { readonly "http:": HttpAgent; readonly "https:": HttpsAgent } | undefined;

/** Made for the first request: a server that makes none does without Node's modules for it. */
function agentOf(protocol: "http:" | "https:"): HttpAgent {
  agents ??= { "http:": new HttpAgent({ keepAlive: true }), "https:": new HttpsAgent({ keepAlive: true }) };
  return agents[protocol];
}

/** Sends a request and returns when the headers of the final response are there. Aborting also ends its body. */
export async function sendHttpRequest(request: HttpRequest, options: SendOptions): Promise<HttpResponse> {
  let current = withUrlCredentials(request);
  for (let redirects = 0; ; redirects += 1) {
    const response = await sendOnce(current, options);
    const next = options.followRedirects ? nextHop(current, response) : undefined;
    if (next === undefined) return response;
    response.discard();
    if (redirects === MAX_REDIRECTS) throw new CapabilityError("OS_ERROR", "too many redirects");
    current = next;
  }
}

/** A name and password in the URL are basic authorization, unless there is another. */
function withUrlCredentials(request: HttpRequest): HttpRequest {
  if (request.url.username === "" && request.url.password === "") return request;
  const url = new URL(request.url);
  url.username = "";
  url.password = "";
  if (request.headers.some(([name]) => name.toLowerCase() === "authorization")) return { ...request, url };
  return {
    ...request,
    url,
    headers: [...request.headers, ["authorization", basic(request.url)]],
  };
}

function basic({ username, password }: URL): string {
  return `Basic ${Buffer.from(`${decodeURIComponent(username)}:${decodeURIComponent(password)}`).toString("base64")}`;
}

async function sendOnce(request: HttpRequest, options: SendOptions): Promise<HttpResponse> {
  const route = await routeTo(request.url, options.environment);
  return new Promise((resolve, reject) => {
    const fail = (cause: unknown): void =>
      reject(
        new CapabilityError("OS_ERROR", `error sending request for url (${request.url.href})`, { cause }),
      );
    let outgoing: ClientRequest;
    try {
      outgoing = open(request, route, options.signal);
    } catch (error) {
      fail(error);
      return;
    }
    outgoing.on("error", fail);
    // What a proxy says instead of opening a tunnel is not the server's answer.
    outgoing.on("proxyConnect", ({ statusCode }: { statusCode: number }) => {
      if (statusCode !== 200) outgoing.destroy(new Error(`the proxy answered ${statusCode}`));
    });
    outgoing.on("response", (incoming) => resolve(toResponse(incoming, bodyOf(incoming))));
    outgoing.on("upgrade", (incoming, socket) => {
      // Nobody here speaks what the connection would be used for.
      socket.destroy();
      resolve(toResponse(incoming, noBody()));
    });
    outgoing.end(bodyToSend(request));
  });
}

/** How a request leaves the machine. */
interface Route {
  readonly agent: HttpAgent;
  /** A proxy that is asked for the whole URL. */
  readonly proxy?: URL;
}

async function routeTo(url: URL, environment: SendOptions["environment"]): Promise<Route> {
  const proxy = findProxy(url, environment);
  if (proxy === undefined) return { agent: agentOf(url.protocol === "https:" ? "https:" : "http:") };
  // Another way than the one the machine asks for would be a way round it.
  if (proxy.protocol !== "http:" && proxy.protocol !== "https:")
    throw new CapabilityError(
      "UNSUPPORTED",
      `proxies of the kind ${proxy.protocol.slice(0, -1)} are not supported`,
    );
  if (url.protocol === "http:") return { agent: agentOf(proxy.protocol), proxy };
  const { HttpsProxyAgent } = await import("https-proxy-agent");
  return { agent: new HttpsProxyAgent(proxy) };
}

function open(request: HttpRequest, { agent, proxy }: Route, signal: AbortSignal): ClientRequest {
  const target = proxy ?? request.url;
  const outgoing = (target.protocol === "https:" ? requestHttps : requestHttp)(target, {
    agent,
    ...(proxy === undefined ? {} : { path: request.url.href.replace(/#.*$/, ""), auth: null }),
    method: request.method,
    setHost: false,
    maxHeaderSize: MAX_HEADER_BYTES,
    signal,
  });
  // Node makes methods upper case; they are sent as given.
  outgoing.method = request.method;
  // Node adds these by itself unless they have been removed.
  for (const name of ["connection", "content-length", "transfer-encoding"]) outgoing.removeHeader(name);
  for (const [name, values] of grouped(completeHeaders(request)))
    outgoing.setHeader(name, values.length === 1 ? values[0]! : values);
  if (proxy !== undefined && proxy.username !== "") outgoing.setHeader("proxy-authorization", basic(proxy));
  return outgoing;
}

/** The caller's headers and what is missing: accept, host, and the length of a body. */
function completeHeaders(request: HttpRequest): Header[] {
  const { url, body } = request;
  const headers = request.headers.filter(
    ([name, value]) => name.toLowerCase() !== "content-length" || /^[0-9]+$/.test(value),
  );
  const has = (wanted: string): boolean => headers.some(([name]) => name.toLowerCase() === wanted);
  if (!has("accept")) headers.push(["accept", "*/*"]);
  if (!has("host")) headers.push(["host", url.host]);
  if (body !== undefined && body.length > 0 && !has("content-length") && !has("transfer-encoding"))
    headers.push(["content-length", String(body.length)]);
  // Values go out as the bytes of their UTF-8; Node writes one byte for each character.
  return headers.map(([name, value]) => [name, Buffer.from(value).toString("latin1")]);
}

/** Not more than the caller's own content-length: the rest would be taken for another request. */
function bodyToSend({ headers, body }: HttpRequest): Uint8Array | undefined {
  const length = headers.find(([name]) => name.toLowerCase() === "content-length")?.[1];
  return length === undefined || !/^[0-9]+$/.test(length) ? body : body?.subarray(0, Number(length));
}

/** A body without a length ends with its connection, also when that is reset; as far as Node tells, that is no end. */
async function* bodyOf(incoming: IncomingMessage): AsyncGenerator<Buffer> {
  const { socket } = incoming;
  yield* incoming as AsyncIterable<Buffer>;
  if (socket.errored) throw socket.errored;
}

async function* noBody(): AsyncGenerator<Buffer> {}

function toResponse(incoming: IncomingMessage, body: AsyncIterable<Buffer>): HttpResponse {
  const headers: Header[] = [];
  const raw = incoming.rawHeaders;
  for (let index = 0; index + 1 < raw.length; index += 2) {
    const value = raw[index + 1]!.trim();
    // Values that are not visible ASCII have no faithful text and are left out.
    if (/^[\t\x20-\x7e]*$/.test(value)) headers.push([raw[index]!, value]);
  }
  const inOrder = [...grouped(headers)].flatMap(([name, values]) =>
    values.map((value): Header => [name, value]),
  );
  const discard = (): void => {
    incoming.on("error", () => {}).resume();
  };
  return { status: incoming.statusCode ?? 0, headers: inOrder, body, discard };
}

function grouped(headers: readonly Header[]): Map<string, string[]> {
  const groups = new Map<string, string[]>();
  for (const [name, value] of headers) {
    const key = name.toLowerCase();
    const values = groups.get(key);
    if (values === undefined) groups.set(key, [value]);
    else values.push(value);
  }
  return groups;
}

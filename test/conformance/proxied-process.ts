import { createServer } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { text } from "node:stream/consumers";
import { untilOutput } from "./process-events.ts";
import type { RawPeer } from "./raw-peer.ts";
import { start } from "./verifies.ts";

const PROXY = {
  enabled: true,
  enableSocks5: true,
  enableSocks5Udp: false,
  allowUpstreamProxy: false,
  dangerouslyAllowAllUnixSockets: false,
  mode: "full",
  allowLocalBinding: true,
};

/** The `networkProxy` of a start. */
export function launchOf(proxy: Record<string, unknown> = {}, launch: Record<string, unknown> = {}) {
  return { networkProxy: { proxy: { ...PROXY, ...proxy }, ...launch } };
}

export interface ProxiedProcess {
  readonly processId: string;
  readonly env: Readonly<Record<string, string>>;
  readonly http: number;
  readonly socks: number;
}

/** Starts a process that has a proxy and does nothing. */
export async function startProxied(
  peer: RawPeer,
  processId: string,
  proxy: Record<string, unknown> = {},
  launch: Record<string, unknown> = {},
): Promise<ProxiedProcess> {
  await peer.request(
    "process/start",
    start(processId, ["/bin/sh", "-c", "env; echo; exec sleep 600"], launchOf(proxy, launch)),
  );
  const output = await untilOutput(peer, processId, /\n\n/);
  const lines = output.trim().split("\n");
  const env = Object.fromEntries(
    lines.map((line) => [line.slice(0, line.indexOf("=")), line.slice(line.indexOf("=") + 1)]),
  );
  return { processId, env, http: portOf(env["HTTP_PROXY"]), socks: portOf(env["ALL_PROXY"]) };
}

function portOf(url = ""): number {
  return Number(url.slice(url.lastIndexOf(":") + 1));
}

/** An answer of an HTTP proxy. */
export interface ProxyAnswer {
  readonly status: number;
  readonly head: string;
  readonly body: string;
}

/** Sends a request to a proxy, and reads the answer. */
export async function ask(port: number, request: string): Promise<ProxyAnswer> {
  const raw = (await exchange(port, request)).toString("latin1");
  const end = raw.indexOf("\r\n\r\n");
  return { status: Number(raw.slice(9, 12)), head: raw.slice(0, end), body: raw.slice(end + 4) };
}

export function get(url: string, headers: readonly string[] = [], method = "GET"): string {
  const host = /^\w+:\/\/([^/]*)/.exec(url)?.[1];
  return [`${method} ${url} HTTP/1.1`, `Host: ${host}`, "Connection: close", ...headers, "", ""].join("\r\n");
}

/** The reason with which a request is blocked; its status if it is not. */
export async function reasonOf(port: number, request: string): Promise<string> {
  const { status, body } = await ask(port, request);
  return status === 403 ? (JSON.parse(body) as { reason: string }).reason : String(status);
}

/** Sends bytes and reads the answer until the other side ends, or falls silent for a moment. */
export function exchange(port: number, bytes: string | Uint8Array): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, "127.0.0.1");
    const received: Buffer[] = [];
    const timer = setTimeout(() => {
      socket.destroy();
      reject(new Error(`no end of the answer; so far ${Buffer.concat(received).toString("latin1")}`));
    }, 20_000);
    const done = (): void => {
      clearTimeout(timer);
      socket.destroy();
      resolve(Buffer.concat(received));
    };
    socket.on("data", (chunk) => {
      received.push(chunk);
      if (isComplete(Buffer.concat(received).toString("latin1"))) done();
    });
    socket.on("end", done);
    socket.on("error", done);
    socket.write(bytes);
  });
}

/** An answer of HTTP with a length is complete when its body is: not every proxy ends the connection then. */
function isComplete(received: string): boolean {
  const end = received.indexOf("\r\n\r\n");
  const length = /\r\ncontent-length: (\d+)/i.exec(received.slice(0, Math.max(end, 0)))?.[1];
  return length !== undefined && received.length >= end + 4 + Number(length);
}

/** The two messages of a SOCKS 5 client that connects to a name or an IPv4 address. */
export function socksMessages(host: string | readonly number[], port: number, command = 1): Buffer {
  const address = typeof host === "string" ? [3, host.length, ...Buffer.from(host)] : [1, ...host];
  return Buffer.from([5, 1, 0, 5, command, 0, ...address, port >> 8, port & 255]);
}

/** Answers each request with what it received. */
export async function withEcho<T>(body: (port: number) => Promise<T>): Promise<T> {
  const server = createServer((request, response) => {
    void text(request).then((received) => {
      const { method, url, headers } = request;
      response.setHeader("connection", "close");
      response.end(JSON.stringify({ method, url, headers, body: received }));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  try {
    return await body((server.address() as AddressInfo).port);
  } finally {
    server.close();
    server.closeAllConnections();
  }
}

import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createServer as createHttpServer, type IncomingHttpHeaders } from "node:http";
import { type AddressInfo, connect, type Socket } from "node:net";
import { connect as connectTls, createServer as createTlsServer, type TLSSocket } from "node:tls";
import { text } from "node:stream/consumers";
import { createAuthority } from "../fixtures/certificates.ts";
import { untilOutput } from "./process-events.ts";
import { launchOf } from "./proxied-process.ts";
import { openWebSocketPeer, type RawPeer } from "./raw-peer.ts";
import { start, type VerifyContext } from "./verifies.ts";

export const SECRET = "k-abcdefghijklmnopqrst";

/** What the upstream received. */
interface Received {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

interface MaskingScene {
  readonly peer: RawPeer;
  /** Port of a web server that is `localhost` and repeats what it gets. */
  readonly port: number;
  /** Port of the same with a certificate that nobody vouches for. */
  readonly untrusted: number;
  readonly received: readonly Received[];
  /** Starts a process that has the secret, prints its environment, and does nothing. */
  readonly masked: (options?: MaskedOptions) => Promise<Masked>;
}

interface MaskedOptions {
  readonly proxy?: Record<string, unknown>;
  /** In place of those of a provider for the whole of the web server. */
  readonly provider?: Record<string, unknown>;
  readonly env?: Record<string, string>;
  /** How the shell is called. */
  readonly argv?: readonly string[];
}

interface Masked {
  readonly env: Readonly<Record<string, string>>;
  readonly http: number;
  readonly socks: number;
  /** What the process has in the secret's place. */
  readonly standIn: string;
  /** The answer to a request in a tunnel of its own, to the web server unless a port is given. */
  readonly ask: (lines: readonly string[], port?: number) => Promise<string>;
}

const PRINT = "env; echo; exec sleep 600";
/** The real server masks only what is started in this way. */
const PLAIN_SHELL = ["/bin/bash", "-c", PRINT];

/** Runs `use` on a server that trusts the upstream. */
export async function withMasking(
  context: VerifyContext,
  use: (scene: MaskingScene) => Promise<void>,
): Promise<void> {
  using authority = createAuthority();
  using stranger = createAuthority();
  const received: Received[] = [];
  const sockets = new Set<{ destroy(): void }>();
  const listen = async (issuer: typeof authority): Promise<number> => {
    const { cert, key } = issuer.issue("upstream");
    const http = createHttpServer((request, response) => {
      void text(request).then((body) => {
        const { method = "", url = "", headers } = request;
        received.push({ method, url, headers, body });
        response.setHeader("connection", "close");
        response.end(JSON.stringify(headers));
      });
    });
    const server = createTlsServer({ cert: readFileSync(cert), key: readFileSync(key) }, (socket) => {
      sockets.add(socket);
      http.emit("connection", socket);
    });
    server.on("tlsClientError", () => {});
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    sockets.add({ destroy: () => server.close() });
    return (server.address() as AddressInfo).port;
  };
  const port = await listen(authority);
  const untrusted = await listen(stranger);
  const server = await context.launch(["--listen", "ws://127.0.0.1:0"], {
    env: { SSL_CERT_FILE: authority.ca },
  });
  const peer = await openWebSocketPeer(await server.banner());
  let count = 0;
  try {
    await peer.handshake();
    await use({
      peer,
      port,
      untrusted,
      received,
      masked: (options = {}) => startMasked(peer, `m${(count += 1)}`, port, options),
    });
  } finally {
    peer.drop();
    for (const socket of sockets) socket.destroy();
  }
}

async function startMasked(
  peer: RawPeer,
  processId: string,
  port: number,
  { proxy, provider, env = { A_KEY: SECRET }, argv = PLAIN_SHELL }: MaskedOptions,
): Promise<Masked> {
  const launch = launchOf({
    credentialMasking: true,
    credentialProviders: { vendor: { ...providerFor(port), ...provider } },
    allowLocalBinding: false,
    domains: { localhost: "allow", "127.0.0.1": "allow" },
    ...proxy,
  });
  await peer.request("process/start", { ...start(processId, [...argv], launch), env });
  const output = await untilOutput(peer, processId, /\n\n/);
  const found = Object.fromEntries(
    output
      .trim()
      .split("\n")
      .map((line) => [line.slice(0, line.indexOf("=")), line.slice(line.indexOf("=") + 1)]),
  );
  const portOf = (url = ""): number => Number(url.slice(url.lastIndexOf(":") + 1));
  const http = portOf(found["HTTP_PROXY"]);
  return {
    env: found,
    http,
    socks: portOf(found["ALL_PROXY"]),
    standIn: found["A_KEY"] ?? "",
    ask: async (lines, to = port) => {
      const socket = await openTunnel(http, to, readFileSync(found["SSL_CERT_FILE"] ?? "", "latin1"));
      return exchangeOver(socket, [...lines, "", ""].join("\r\n"));
    },
  };
}

export function providerFor(port: number): Record<string, unknown> {
  return {
    env: ["A_KEY"],
    patterns: ["k-[a-z]{20}"],
    url_prefixes: [`https://localhost:${port}/v1`],
    auth: ["bearer", "token", "basic", "header"],
    header: "x-key",
    prefix: "K ",
  };
}

/** TLS in a tunnel to `localhost`, as a program opens it that believes the authorities in `ca`. */
async function openTunnel(proxy: number, port: number, ca: string): Promise<TLSSocket> {
  const socket = connect(proxy, "127.0.0.1");
  socket.write(`CONNECT localhost:${port} HTTP/1.1\r\nHost: localhost:${port}\r\n\r\n`);
  const answered = (await once(socket, "data")) as [Buffer];
  const answer = answered[0].toString("latin1");
  if (!answer.startsWith("HTTP/1.1 200 ")) throw new Error(answer);
  return secured(socket, ca);
}

export async function secured(socket: Socket, ca: string): Promise<TLSSocket> {
  const secure = connectTls({ socket, servername: "localhost", ca });
  await once(secure, "secureConnect");
  return secure;
}

/** Sends a request that closes the connection, and reads to the end. */
export async function exchangeOver(socket: TLSSocket, request: string): Promise<string> {
  let received = "";
  socket.setEncoding("latin1").on("data", (part: string) => {
    received += part;
  });
  socket.on("error", () => {});
  const ended = new Promise<void>((resolve) => {
    for (const event of ["end", "close"]) socket.once(event, () => resolve());
  });
  socket.write(request);
  await ended;
  socket.destroy();
  return received;
}

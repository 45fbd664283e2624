import { createHash, X509Certificate } from "node:crypto";
import { once } from "node:events";
import {
  copyFileSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import net from "node:net";
import { join } from "node:path";
import tls from "node:tls";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { WebSocket } from "ws";
import type { Logger } from "../../src/base/logger.ts";
import { connect, type NodeConnectOptions } from "../../src/client/index.ts";
import { serve, type ServeOptions } from "../../src/server/index.ts";
import { clientCertificateOf } from "../../src/transport/websocket/client-certificates.ts";
import { launch } from "../conformance/server-process.ts";
import { type Authority, createAuthority, type Issued } from "../fixtures/certificates.ts";
import { pollUntil, withDeadline } from "./deadline.ts";

const DEADLINE_MS = 60_000;
const LOOPBACK = "wss://127.0.0.1:0";

let authority: Authority;
let stranger: Authority;
let good: Issued;

beforeAll(() => {
  authority = createAuthority();
  stranger = createAuthority();
  good = authority.issue("server");
});

afterAll(() => {
  authority[Symbol.dispose]();
  stranger[Symbol.dispose]();
});

function recorder(): { logger: Logger; lines: string[] } {
  const lines: string[] = [];
  const log = (message: string, fields?: object): void =>
    void lines.push(`${message} ${JSON.stringify(fields ?? {})}`);
  return { lines, logger: { debug: () => {}, info: log, warn: log, error: log } };
}

async function output(url: string, options: NodeConnectOptions): Promise<string> {
  await using host = await connect(url, options);
  return (await host.run(["echo", "hi"])).stdout;
}

async function fault(url: string, options: NodeConnectOptions = {}): Promise<string> {
  return output(url, options).then(
    () => "it connected",
    (error: Error) => error.message,
  );
}

const listening = (tlsOptions: ServeOptions["tls"], more: ServeOptions = {}) =>
  serve({ listen: LOOPBACK, environment: process.env, tls: tlsOptions, ...more });

/** Speaks to a port whatever it likes. */
async function answerTo(port: number, text: string | Buffer): Promise<string> {
  const socket = net.connect(port, "127.0.0.1");
  socket.on("error", () => {});
  socket.write(text);
  let answer = "";
  socket.on("data", (bytes: Buffer) => (answer += bytes.toString("latin1")));
  await withDeadline(
    new Promise((resolve) => socket.once("close", resolve)),
    DEADLINE_MS,
    () => "the end of the connection",
  );
  return answer;
}

const portOf = (url: string): number => Number(new URL(url).port);

describe("a server with TLS", () => {
  it("serves small and long messages, by address and by name", async () => {
    await using server = await listening(good);
    expect(server.url).toMatch(/^wss:\/\/127\.0\.0\.1:\d+$/);
    await using host = await connect(server.url, { ca: authority.ca });
    for (let count = 0; count < 100; count += 1) await host.files.stat("/");
    const large = "ab".repeat(3_000_000);
    const { stdout } = await host.run(["cat"], { input: large, maxOutputBytes: 8_000_000 });
    expect(stdout === large).toBe(true);
    expect(await output(server.url.replace("127.0.0.1", "localhost"), { ca: authority.ca })).toBe("hi\n");
    expect(await output(server.url, { ca: readFileSync(authority.ca, "utf8") })).toBe("hi\n");
  });

  it("is not trusted without its authority, when it has expired, or under another name", async () => {
    await using server = await listening(good);
    expect(await fault(server.url)).toContain("certificate is not trusted");
    expect(await fault(server.url, { ca: stranger.ca })).toContain("pass its authority with `ca`, or --ca");
    await using late = await listening(authority.issue("expired", { days: -1 }));
    expect(await fault(late.url, { ca: authority.ca })).toContain("certificate has expired");
    await using other = await listening(authority.issue("other", { names: "DNS:other.example" }));
    expect(await fault(other.url, { ca: authority.ca })).toContain("certificate is for another name");
  });

  it("tells who speaks plain HTTP to it to use wss://, and a client that speaks TLS to a plain one to use ws://", async () => {
    const { logger, lines } = recorder();
    await using secure = await listening(good, { logger });
    const wrong = secure.url.replace("wss:", "ws:");
    expect(await fault(wrong)).toContain("HTTP 400 Bad Request: this port speaks TLS: connect with wss://");
    expect(lines.join("\n")).toContain("plain HTTP instead of TLS");
    await using plain = await serve();
    expect(await fault(plain.url.replace("ws:", "wss:"))).toContain("connect with ws:// instead of wss://");
  });

  it("needs TLS 1.2", async () => {
    await using server = await listening(good);
    const attempt = (maxVersion: tls.SecureVersion): Promise<string> =>
      new Promise((resolve) => {
        const socket = tls.connect({
          port: portOf(server.url),
          host: "127.0.0.1",
          rejectUnauthorized: false,
          minVersion: "TLSv1",
          maxVersion,
          ciphers: "DEFAULT@SECLEVEL=0",
        });
        socket.once("secureConnect", () => {
          resolve(socket.getProtocol() ?? "");
          socket.destroy();
        });
        socket.once("error", () => resolve("refused"));
      });
    expect(await attempt("TLSv1.1")).toBe("refused");
    expect(await attempt("TLSv1.2")).toBe("TLSv1.2");
    expect(await attempt("TLSv1.3")).toBe("TLSv1.3");
  });

  it("does not start without what it needs, and says what is wrong", async () => {
    const { cert, key } = good;
    const empty = join(authority.directory, "empty");
    writeFileSync(empty, "");
    const start = (options: ServeOptions): Promise<string> =>
      serve({ listen: LOOPBACK, ...options }).then(
        async (server) => (await server.close(), "it started"),
        (error: Error) => error.message,
      );
    expect(await start({})).toContain("wss:// needs a certificate and its key");
    expect(await start({ listen: "ws://127.0.0.1:0", tls: good })).toContain("tls needs wss://");
    expect(await start({ tls: { cert: empty, key } })).toContain(
      "the TLS certificate contains no PEM certificate",
    );
    expect(await start({ tls: { cert, key: empty } })).toContain("the TLS key is not a private key");
    expect(await start({ tls: { cert, key: authority.issue("third").key } })).toContain(
      "does not match the certificate",
    );
    expect(await start({ tls: { cert, key, clientCa: empty } })).toContain(
      "the client CA contains no PEM certificate",
    );
    expect(await start({ tls: { cert: "/nowhere", key } })).toBe(
      "cannot read the TLS certificate in /nowhere: No such file or directory (os error 2)",
    );
    expect(await start({ listen: "wss://0.0.0.0:0", tls: good })).toContain("without authentication");
  });
});

it.each([
  ["ws://0.0.0.0:0", [], true],
  ["ws://[::]:0", [], true],
  ["ws://0.0.0.0:0", ["--public-url", "https://build.example"], false],
  ["ws://127.0.0.1:0", [], false],
  ["wss://0.0.0.0:0", ["tls"], false],
])("the command that listens on %s %j warns that nothing is encrypted: %s", async (listen, more, warns) => {
  const certificate = ["--tls-cert", good.cert, "--tls-key", good.key];
  const token = ["--ws-auth", "capability-token", "--ws-token-sha256", "ab".repeat(32)];
  const flags = more[0] === "tls" ? certificate : more;
  const server = await launch("ours", ["--listen", listen, ...token, ...flags]);
  try {
    await server.banner();
  } finally {
    await server.stop();
  }
  expect(server.stderr.includes("connections are not encrypted")).toBe(warns);
});

describe("a required client certificate", () => {
  it("lets in who has one that the authority has signed, for which it is the authentication", async () => {
    await using server = await serve({
      listen: "wss://0.0.0.0:0",
      environment: process.env,
      tls: { ...good, clientCa: authority.ca },
    });
    const url = server.url.replace("0.0.0.0", "127.0.0.1");
    const client = authority.issue("client", { subject: "/O=Example, Inc/CN=ann=\u00e9" });
    expect(await output(url, { ca: authority.ca, ...client })).toBe("hi\n");
  });

  it.each([
    ["missing", () => ({}), "this server requires a client certificate"],
    ["signed by somebody else", () => stranger.issue("client"), "the client certificate is not accepted"],
    ["expired", () => authority.issue("late", { days: -1 }), "CERT_HAS_EXPIRED"],
  ])("that is %s is refused, and the log says why", async (_, issue, reason) => {
    const { logger, lines } = recorder();
    await using server = await listening({ ...good, clientCa: authority.ca }, { logger });
    expect(await fault(server.url, { ca: authority.ca, ...issue() })).toContain(reason);
    expect(lines.join("\n")).toContain(reason);
  });

  it.each(["TLSv1.2", "TLSv1.3"] as const)(
    "has to be shown by every connection, with %s too",
    async (version) => {
      await using server = await listening({ ...good, clientCa: authority.ca });
      const { cert, key } = authority.issue(`again-${version}`);
      const read = (path: string): string => readFileSync(path, "utf8");
      const visit = (options: tls.ConnectionOptions): Promise<{ status: string; session?: Buffer }> =>
        new Promise((resolve, reject) => {
          let session: Buffer | undefined;
          let answer = "";
          const limits = { minVersion: version, maxVersion: version };
          const socket = tls.connect({
            port: portOf(server.url),
            ca: read(authority.ca),
            ...limits,
            ...options,
          });
          socket.on("session", (ticket) => (session = ticket));
          socket.on("data", (bytes: Buffer) => (answer += bytes.toString("latin1")));
          socket.on("error", reject);
          socket.on("close", () => resolve({ status: answer.slice(9, 12), ...(session && { session }) }));
          socket.write("GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
        });
      const { status, session } = await visit({ cert: read(cert), key: read(key) });
      expect(status).toBe("200");
      // What it has got from that connection does not stand for the certificate.
      expect((await visit(session === undefined ? {} : { session })).status).toBe("403");
    },
  );

  it("says until when it is valid", () => {
    const certificate = new X509Certificate(readFileSync(authority.issue("until", { days: 2 }).cert));
    const socket = { authorized: true, getPeerX509Certificate: () => certificate } as unknown as net.Socket;
    const leftMs = clientCertificateOf(socket)!.expiresAtMs - Date.now();
    expect(leftMs / 3_600_000).toBeGreaterThan(47);
    expect(leftMs / 3_600_000).toBeLessThanOrEqual(48);
  });

  it("does not replace a token, nor the token it", async () => {
    const tokenSha256 = createHash("sha256").update("secret").digest();
    await using server = await listening(
      { ...good, clientCa: authority.ca },
      { authentication: { mode: "capability-token", tokenSha256 } },
    );
    const ca = authority.ca;
    const client = authority.issue("both");
    expect(await fault(server.url, { ca, ...client })).toContain("HTTP 401");
    expect(await fault(server.url, { ca, token: "secret" })).toContain("requires a client certificate");
    expect(await output(server.url, { ca, ...client, token: "secret" })).toBe("hi\n");
  });
});

describe("certificates that change", () => {
  const serial = (url: string): Promise<string> =>
    new Promise((resolve, reject) => {
      const socket = tls.connect({ port: portOf(url), host: "127.0.0.1", rejectUnauthorized: false });
      socket.once("error", reject);
      socket.once("secureConnect", () => {
        resolve(socket.getPeerCertificate().serialNumber);
        socket.destroy();
      });
    });
  const becomes = (is: () => Promise<boolean> | boolean, what: string): Promise<unknown> =>
    pollUntil(is, DEADLINE_MS, () => what);

  it("are used once they fit, though links lead elsewhere and the key comes later; connections stay", async () => {
    const { logger, lines } = recorder();
    const path = (name: string): string => join(authority.directory, name);
    const link = (target: string, name: string): void => {
      symlinkSync(target, path("new-link"));
      renameSync(path("new-link"), path(name));
    };
    const [old, renewed] = [authority.issue("old"), authority.issue("renewed")];
    link(old.cert, "live.pem");
    link(old.key, "live.key");
    copyFileSync(authority.ca, path("clients.pem"));
    await using server = await listening({ cert: path("live.pem"), key: path("live.key") }, { logger });
    const before = await serial(server.url);
    await using host = await connect(server.url, { ca: authority.ca });

    link(renewed.cert, "live.pem");
    await becomes(() => lines.some((line) => line.includes("does not match the certificate")), "a complaint");
    expect(await serial(server.url)).toBe(before);
    link(renewed.key, "live.key");
    await becomes(async () => (await serial(server.url)) !== before, "the new certificate");

    const after = await serial(server.url);
    rmSync(path("live.key"));
    await becomes(() => lines.some((line) => line.includes("cannot read the TLS key")), "a complaint");
    mkdirSync(path("live.key"));
    await becomes(() => lines.some((line) => line.includes("not a regular file")), "a complaint");
    rmdirSync(path("live.key"));
    writeFileSync(path("live.key"), "");
    await becomes(() => lines.some((line) => line.includes("not a private key")), "a complaint");
    expect(await serial(server.url)).toBe(after);
    expect((await host.run(["echo", "still"])).stdout).toBe("still\n");
  });

  it("end the connections of clients whose authority is gone, and no others", async () => {
    const clientCa = join(authority.directory, "ended-ca.pem");
    const read = (path: string): string => readFileSync(path, "utf8");
    copyFileSync(authority.ca, clientCa);
    await using server = await listening({ ...good, clientCa });
    const open = async (issued: Issued): Promise<{ closed: Promise<unknown>; socket: WebSocket }> => {
      const given = { ca: read(authority.ca), cert: read(issued.cert), key: read(issued.key) };
      const socket = new WebSocket(server.url, given);
      socket.on("error", () => {});
      await once(socket, "open");
      return { socket, closed: once(socket, "close") };
    };
    const first = await open(authority.issue("first"));
    const other = stranger.issue("other");
    writeFileSync(clientCa, read(authority.ca) + read(stranger.ca));
    const second = await pollUntil(
      () => open(other).catch(() => false as const),
      DEADLINE_MS,
      () => "the second authority",
    );
    expect(first.socket.readyState).toBe(WebSocket.OPEN);
    copyFileSync(stranger.ca, clientCa);
    await withDeadline(first.closed, DEADLINE_MS, () => "the end of the first connection");
    expect(second.socket.readyState).toBe(WebSocket.OPEN);
    copyFileSync(authority.ca, clientCa);
    await withDeadline(second.closed, DEADLINE_MS, () => "the end of the second connection");
  });

  it("also change whose clients are let in, but never to everybody", async () => {
    const { logger, lines } = recorder();
    const clientCa = join(authority.directory, "client-ca.pem");
    copyFileSync(authority.ca, clientCa);
    await using server = await listening({ ...good, clientCa }, { logger });
    const ca = authority.ca;
    const client = stranger.issue("later");
    expect(await fault(server.url, { ca, ...client })).toContain("not accepted");
    copyFileSync(stranger.ca, clientCa);
    await becomes(
      async () => (await fault(server.url, { ca, ...client })) === "it connected",
      "the new client",
    );
    expect(await fault(server.url, { ca, ...authority.issue("gone") })).toContain("not accepted");
    writeFileSync(clientCa, "");
    await becomes(() => lines.some((line) => line.includes("contains no PEM certificate")), "a complaint");
    expect(await fault(server.url, { ca })).toContain("requires a client certificate");
  });
});

describe("strangers at a TLS port", () => {
  // Time enough for the handshake of a client, whatever the machine does.
  const limits = { handshakeTimeoutMs: 5_000, maxPendingConnections: 4 };

  it("are gone soon, wherever they stop in the handshake", async () => {
    await using server = await listening(good, { limits: { ...limits, maxPendingConnections: 8 } });
    const port = portOf(server.url);
    const hello = Buffer.from("1603010200010001fc0303", "hex");
    const stops = ["", "\x16", hello, Buffer.concat([hello, Buffer.alloc(600, 1)]), "\x80\x2e\x01\x00\x02"];
    await Promise.all(stops.map((text) => answerTo(port, text)));
    expect(await answerTo(port, "GET / HTTP/1.1\r\n")).toMatch(/^HTTP\/1\.1 400 .*speaks TLS/s);
    expect(await output(server.url, { ca: authority.ca })).toBe("hi\n");
  });

  it("are never more than maxPendingConnections, and keep no one out", async () => {
    await using server = await listening(good, { limits: { ...limits, handshakeTimeoutMs: 60_000 } });
    const sockets = Array.from({ length: 12 }, () => net.connect(portOf(server.url), "127.0.0.1"));
    for (const socket of sockets) socket.on("error", () => {}).write("\x16");
    await pollUntil(
      () => sockets.filter((socket) => socket.readyState !== "open").length >= 8,
      DEADLINE_MS,
      () => "that the oldest strangers are gone",
    );
    expect(await output(server.url, { ca: authority.ca })).toBe("hi\n");
    for (const socket of sockets) socket.destroy();
  });

  it("cannot renegotiate, and may name any server", async () => {
    await using server = await listening(good);
    const socket = tls.connect({
      port: portOf(server.url),
      host: "127.0.0.1",
      rejectUnauthorized: false,
      maxVersion: "TLSv1.2",
      servername: "x".repeat(200),
    });
    const failed = new Promise((resolve) => {
      socket.once("error", resolve);
      socket.once("close", resolve);
    });
    socket.once("secureConnect", () =>
      socket.renegotiate({}, (error) => error === null && socket.emit("renewed")),
    );
    const renewed = new Promise((resolve) => socket.once("renewed", () => resolve("renewed")));
    expect(await withDeadline(Promise.race([failed, renewed]), DEADLINE_MS, () => "an end")).not.toBe(
      "renewed",
    );
    expect(await output(server.url, { ca: authority.ca })).toBe("hi\n");
  });
});

import { once } from "node:events";
import { readFileSync } from "node:fs";
import { type AddressInfo, connect, createServer as createTcpServer, type Socket } from "node:net";
import { createServer } from "node:tls";
import { fileURLToPath } from "node:url";
import { expect } from "vitest";
import {
  type Answer,
  always,
  HttpUpstream,
  httpRequest,
  response,
  sendingFailed,
  sentLines,
  withUpstream,
} from "./http-upstream.ts";
import { openWebSocketPeer, type RawPeer } from "./raw-peer.ts";
import { base64, expectError, fromBase64, type VerifyContext, verifies } from "./verifies.ts";

/** A certificate for localhost and 127.0.0.1, its key, and the variables that make each kind of server trust it. */
const CERTIFICATE = fileURLToPath(new URL("../fixtures/loopback-certificate.pem", import.meta.url));
const KEY = fileURLToPath(new URL("../fixtures/loopback-key.pem", import.meta.url));
const HANDSHAKE = 22;
const TRUST = { NODE_EXTRA_CA_CERTS: CERTIFICATE, SSL_CERT_FILE: CERTIFICATE };

/** Runs `use` with an upstream behind TLS and the address it can be asked at. */
async function withSecureUpstream(
  answer: Answer,
  use: (upstream: HttpUpstream, origin: string) => Promise<void>,
): Promise<void> {
  const server = createServer({ cert: readFileSync(CERTIFICATE), key: readFileSync(KEY) });
  const sockets = new Set<{ destroy(): void }>();
  server.on("connection", (socket: { destroy(): void }) => sockets.add(socket));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const upstream = new HttpUpstream(server, answer, "secureConnection");
  try {
    await use(upstream, `https://localhost:${upstream.port}`);
  } finally {
    upstream.close();
    for (const socket of sockets) socket.destroy();
  }
}

async function onServer(
  { launch }: VerifyContext,
  env: Record<string, string>,
  use: (connection: RawPeer) => Promise<void>,
): Promise<void> {
  const server = await launch([], { env });
  const connection = await openWebSocketPeer(await server.banner());
  try {
    await connection.handshake();
    await use(connection);
  } finally {
    connection.drop();
    await server.stop();
  }
}

verifies("http-secure:request", async (context) => {
  await withSecureUpstream(always(200, [], "secret"), async (upstream, origin) =>
    onServer(context, TRUST, async (connection) => {
      for (const path of ["/1", "/2"]) {
        const result = await httpRequest(connection, `${origin}${path}`, {
          method: "POST",
          bodyBase64: base64("body"),
        });
        expect({ status: result.status, body: fromBase64(result.bodyBase64) }).toEqual({
          status: 200,
          body: "secret",
        });
      }
      expect(upstream.requests.map(({ target, body }) => `${target} ${body.toString()}`)).toEqual([
        "/1 body",
        "/2 body",
      ]);
      expect(upstream.requests[1]?.socket).toBe(upstream.requests[0]?.socket);
    }),
  );
});

verifies("http-secure:large", async (context) => {
  const bytes = Buffer.alloc(4 * 1024 * 1024, "pattern of seven and more");
  const large: Answer = ({ socket }) => {
    socket.write(`HTTP/1.1 200 OK\r\ncontent-length: ${bytes.length}\r\n\r\n`);
    socket.write(bytes);
  };
  await withSecureUpstream(large, async (_, origin) =>
    onServer(context, TRUST, async (connection) => {
      const { bodyBase64 } = await httpRequest(connection, `${origin}/`);
      expect(Buffer.from(bodyBase64, "base64").equals(bytes)).toBe(true);
    }),
  );
});

verifies("http-secure:untrusted", async (context) => {
  await withSecureUpstream(always(200), async (upstream, origin) =>
    onServer(context, {}, async (connection) => {
      await expectError(httpRequest(connection, `${origin}/`), -32603, sendingFailed(`${origin}/`));
      expect(upstream.requests).toEqual([]);
    }),
  );
});

verifies("http-secure:tunnel", async (context) => {
  const tunnel: Answer = ({ target, socket }) => {
    const [host = "", port = ""] = target.split(":");
    const onward = connect(Number(port), host === "localhost" ? "127.0.0.1" : host);
    socket.removeAllListeners("data");
    socket.write("HTTP/1.1 200 Connection established\r\n\r\n");
    socket.pipe(onward).pipe(socket);
    onward.on("error", () => socket.destroy());
    socket.on("close", () => onward.destroy());
  };
  await withSecureUpstream(always(200, [], "through"), async (upstream, origin) =>
    withUpstream(tunnel, async (proxy) =>
      onServer(context, { ...TRUST, HTTPS_PROXY: proxy.origin }, async (connection) => {
        const result = await httpRequest(connection, `${origin}/x`);
        expect(fromBase64(result.bodyBase64)).toBe("through");
        expect(proxy.requests.map(({ method, target }) => `${method} ${target}`)).toEqual([
          `CONNECT localhost:${upstream.port}`,
        ]);
        const lines = ["accept: */*", `host: localhost:${upstream.port}`];
        expect(upstream.requests[0]?.lines).toEqual(sentLines(context.target, lines));
      }),
    ),
  );
});

/** One port for TLS and for plain text, by the first byte that comes: the record of a TLS handshake, or a letter. */
async function withBothOnOnePort(
  ports: { secure: number; plain: number },
  use: (port: number) => Promise<void>,
): Promise<void> {
  const sockets = new Set<Socket>();
  const server = createTcpServer((socket) => {
    socket.once("data", (first: Buffer) => {
      const onward = connect(first[0] === HANDSHAKE ? ports.secure : ports.plain, "127.0.0.1");
      for (const end of [socket, onward]) sockets.add(end.on("error", () => {}));
      onward.write(first);
      socket.pipe(onward).pipe(socket);
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  try {
    await use((server.address() as AddressInfo).port);
  } finally {
    server.close();
    for (const socket of sockets) socket.destroy();
  }
}

const SECRETS = ["authorization", "cookie", "cookie2", "proxy-authorization", "www-authenticate"];
const SECRET_HEADERS = [...SECRETS, "x-mine"].map((name) => ({ name, value: "secret" }));

verifies("http-secure:redirect", async (context) => {
  let location = "";
  const redirecting: Answer = ({ socket, target }) =>
    void socket.write(
      target === "/start" ? response(307, [`Location: ${location}`]) : response(200, [], "end"),
    );
  await withSecureUpstream(redirecting, async (secure) =>
    withUpstream(redirecting, async (plain) =>
      withBothOnOnePort({ secure: secure.port, plain: plain.port }, (port) =>
        onServer(context, TRUST, async (connection) => {
          for (const [from, to, arrived] of [
            ["https", "http", plain],
            ["http", "https", secure],
          ] as const) {
            location = `${to}://localhost:${port}/end`;
            await httpRequest(connection, `${from}://localhost:${port}/start`, { headers: SECRET_HEADERS });
            const names = arrived.requests.at(-1)?.lines.map((line) => line.replace(/:.*/, "")) ?? [];
            expect({ to, kept: names.filter((name) => SECRETS.includes(name)) }).toEqual({ to, kept: [] });
            expect(names).toContain("x-mine");
            expect({ to, referer: names.includes("referer") }).toEqual({ to, referer: to === "https" });
          }
        }),
      ),
    ),
  );
});

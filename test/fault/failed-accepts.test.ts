import { mkdtempSync, rmSync } from "node:fs";
import net from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, it, vi } from "vitest";
import { silentLogger } from "../../src/base/logger.ts";
import { connect } from "../../src/client/index.ts";
import { serve, type ListeningServer, type ServeOptions } from "../../src/server/index.ts";
import { listenWebSocket } from "../../src/transport/index.ts";
import { createAuthority } from "../fixtures/certificates.ts";
import { pollUntil, withDeadline } from "./deadline.ts";
import { upgradeRequest } from "./raw-websocket.ts";

const DEADLINE_MS = 30_000;
const HALF_A_REQUEST = "GET / HTTP/1.1\r\nHost: 127.0.0.1";

interface Line {
  readonly message: string;
  readonly fields: Readonly<Record<string, unknown>>;
}

async function listening(options: ServeOptions = {}): Promise<{ server: ListeningServer; lines: Line[] }> {
  const lines: Line[] = [];
  const warn = (message: string, fields: Line["fields"] = {}): void => void lines.push({ message, fields });
  const server = await serve({ ...options, logger: { ...silentLogger, warn } });
  return { server, lines };
}

const portOf = ({ url }: { readonly url: string }): number => Number(new URL(url).port);

/** Connects, sends something and does what `then` says. Returns its address once the server has ended the connection. */
async function peer(
  place: { port: number } | { path: string },
  text: string,
  then: (socket: net.Socket) => void = () => {},
): Promise<string> {
  const socket = net.connect("path" in place ? place : { ...place, host: "127.0.0.1" });
  socket.on("error", () => {});
  socket.resume();
  const closed = new Promise((resolve) => socket.once("close", resolve));
  await new Promise<void>((resolve) => socket.once("connect", resolve));
  const from = "path" in place ? "unix" : `127.0.0.1:${socket.localPort}`;
  if (text === "") then(socket);
  else socket.write(text, () => then(socket));
  await withDeadline(closed, DEADLINE_MS, () => "the end of the connection");
  return from;
}

const nextLine = (lines: Line[]): Promise<Line> =>
  pollUntil(
    () => lines.shift() ?? false,
    DEADLINE_MS,
    () => "a line of the log",
  );

afterEach(() => vi.restoreAllMocks());

describe("a connection that does not come about is logged with its address and the reason", () => {
  it.each<[string, string, string, (socket: net.Socket) => void]>([
    ["sends no HTTP", "\x01\x02\r\n\r\n", "not an HTTP request (HPE_INVALID_METHOD)", () => {}],
    [
      "leaves within its request",
      HALF_A_REQUEST,
      "the peer closed it before its request was complete",
      (socket) => socket.end(),
    ],
    [
      "asks for another version",
      upgradeRequest().replace("Version: 13", "Version: 12"),
      "`Sec-WebSocket-Version` header did not include '13'",
      () => {},
    ],
    [
      "sends a key of another length",
      upgradeRequest().replace(/Sec-WebSocket-Key: .*/i, "Sec-WebSocket-Key: x"),
      "Missing or invalid Sec-WebSocket-Key header",
      () => {},
    ],
    [
      "names no valid subprotocol",
      upgradeRequest().replace("Upgrade: websocket", "Upgrade: websocket\r\nSec-WebSocket-Protocol: a b"),
      "Invalid Sec-WebSocket-Protocol header",
      () => {},
    ],
    [
      "asks for another host",
      upgradeRequest().replace("Host: 127.0.0.1", "Host: example.com"),
      expect.stringContaining("host") as string,
      () => {},
    ],
  ])("of a peer that %s", async (_, text, reason, then) => {
    const { server, lines } = await listening();
    await using _server = server;
    const from = await peer({ port: portOf(server) }, text, then);
    expect(await nextLine(lines)).toEqual({
      message: "a connection was not accepted",
      fields: { reason, from },
    });
  });

  it("of a peer that is slower than the deadline", async () => {
    const { server, lines } = await listening({ limits: { handshakeTimeoutMs: 300 } });
    await using _server = server;
    const from = await peer({ port: portOf(server) }, HALF_A_REQUEST);
    expect((await nextLine(lines)).fields).toEqual({ reason: "no complete request within 300ms", from });
  });

  it("of a peer that resets it", async () => {
    const listen = vi.spyOn(net.Server.prototype, "listen");
    const { server, lines } = await listening();
    await using _server = server;
    let accepted: net.Socket | undefined;
    (listen.mock.contexts[0] as net.Server).on("connection", (socket) => (accepted = socket));
    const hasRead = (): boolean => accepted !== undefined && accepted.bytesRead > 0;
    const from = await peer({ port: portOf(server) }, HALF_A_REQUEST, (socket) => {
      void pollUntil(hasRead, DEADLINE_MS, () => "what was sent").then(() => socket.resetAndDestroy());
    });
    expect((await nextLine(lines)).fields).toEqual({ reason: "it was lost (ECONNRESET)", from });
  });

  it("of a peer beyond the limit of connections", async () => {
    const { server, lines } = await listening({ limits: { maxConnections: 1 } });
    await using _server = server;
    await using _host = await connect(server.url);
    const from = await peer({ port: portOf(server) }, upgradeRequest());
    expect((await nextLine(lines)).fields).toMatchObject({ from, reason: expect.stringContaining("1") });
  });

  it("of a peer on a Unix socket", async () => {
    const directory = mkdtempSync(join(tmpdir(), "failed-accepts-"));
    try {
      const path = join(directory, "socket");
      const { server, lines } = await listening({ listen: `unix://${path}` });
      await using _server = server;
      await peer({ path }, "\x01\r\n\r\n");
      expect((await nextLine(lines)).fields).toMatchObject({ from: "unix" });
    } finally {
      rmSync(directory, { recursive: true });
    }
  });

  it("if the system cannot accept it, when there is no address", async () => {
    const listen = vi.spyOn(net.Server.prototype, "listen");
    const { server, lines } = await listening();
    await using _server = server;
    const [listener] = listen.mock.contexts as net.Server[];
    listener!.emit("error", Object.assign(new Error("accept EMFILE"), { code: "EMFILE" }));
    expect(lines).toEqual([
      { message: "a connection was not accepted", fields: { reason: "cannot accept (EMFILE)" } },
    ]);
  });
});

it("a login that cannot be checked counts as a limit, which is logged", async () => {
  const refused = vi.fn();
  const listener = await listenWebSocket({
    host: "127.0.0.1",
    port: 0,
    authenticate: () => Promise.reject(new Error("EMFILE")),
    refused,
    accept: () => {},
  });
  try {
    const from = await peer({ port: portOf(listener) }, upgradeRequest());
    const reason = "authentication is not possible right now";
    expect(refused.mock.calls).toEqual([[{ cause: "limit", reason, from }]]);
  } finally {
    await listener.close();
  }
});

it("a TLS handshake that fails is logged once", async () => {
  using authority = createAuthority();
  const { server, lines } = await listening({ listen: "wss://127.0.0.1:0", tls: authority.issue("server") });
  await using _server = server;
  await peer({ port: portOf(server) }, "\x16\x03\x01\x00\x05", (socket) => socket.end());
  await peer({ port: portOf(server) }, "\x01\r\n\r\n");
  await nextLine(lines);
  const second = await nextLine(lines);
  expect([second.message, lines]).toEqual(["a login was refused", []]);
});

it("a flood of them fills ten lines a minute", async () => {
  const { server, lines } = await listening();
  await using _server = server;
  const place = { port: portOf(server) };
  await Promise.all(Array.from({ length: 50 }, () => peer(place, "\x01\r\n\r\n")));
  await pollUntil(
    () => lines.length === 10,
    DEADLINE_MS,
    () => "ten lines",
  );
  await peer(place, "\x01\r\n\r\n");
  expect(lines).toHaveLength(10);
});

it("a flood of them leaves room for a line about a limit", async () => {
  const { server, lines } = await listening({ limits: { maxConnections: 1 } });
  await using _server = server;
  await using _host = await connect(server.url);
  const place = { port: portOf(server) };
  await Promise.all(Array.from({ length: 11 }, () => peer(place, "\x01\r\n\r\n")));
  const from = await peer(place, upgradeRequest());
  const limit = await pollUntil(
    () => lines.find(({ fields }) => fields["from"] === from) ?? false,
    DEADLINE_MS,
    () => "a line about the limit",
  );
  expect(limit.fields["reason"]).toContain("maxConnections");
});

it("probes, requests, clients and the end of the server are not logged", async () => {
  const { server, lines } = await listening();
  const place = { port: portOf(server) };
  await peer(place, "", (socket) => socket.end());
  await peer(place, "GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n");
  const host = await connect(server.url);
  await host.run(["true"]);
  await host.close();
  await peer(place, HALF_A_REQUEST, () => void server.close());
  await server.closed;
  expect(lines).toEqual([]);
});

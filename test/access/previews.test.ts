import { createHash } from "node:crypto";
import { once } from "node:events";
import { mkdir, mkdtemp, readFile, rm, stat, writeFile } from "node:fs/promises";
import { Agent, type IncomingMessage, request as httpRequest } from "node:http";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { connect } from "../../src/client/host/connect.ts";
import { type ListeningServer, serve, type ServeOptions } from "../../src/server/index.ts";
import { withDeadline } from "../fault/deadline.ts";
import { browse, originOf, signIn } from "./console-browser.ts";
import { askFor, PreviewBrowser, startApp } from "./preview-browser.ts";

// Web apps of the user's processes, each on an origin of its own, and who tries to get at them.

const DEADLINE_MS = 60_000;

let directory: string;

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "previews-"));
  await mkdir(join(directory, "page"));
  await writeFile(join(directory, "page/index.html"), "<!doctype html>");
});

afterEach(async () => rm(directory, { recursive: true }));

function serving(options: ServeOptions = {}): Promise<ListeningServer> {
  return serve({
    console: { directory: join(directory, "page"), keyFile: join(directory, "key") },
    ...options,
  });
}

interface Echo {
  readonly method: string;
  readonly url: string;
  readonly rawHeaders: readonly string[];
  readonly body: string;
}

function headersOf({ rawHeaders }: Pick<Echo, "rawHeaders">): Record<string, string> {
  return Object.fromEntries(
    rawHeaders.flatMap((name, at) => (at % 2 === 0 ? [[name.toLowerCase(), rawHeaders[at + 1]!]] : [])),
  );
}

/** A server, an app that runs on it, and a browser that has opened the app. */
async function opened(options: ServeOptions = {}) {
  const server = await serving(options);
  const host = await connect(server.url);
  const port = await startApp(host);
  const secret = await signIn(server.url, server.consoleLink());
  const browser = await PreviewBrowser.open(server.url, secret, port);
  return {
    server,
    host,
    port,
    secret,
    browser,
    url: server.url,
    [Symbol.asyncDispose]: async () => {
      await host.close();
      await server.close();
    },
  };
}

it("a port opens on an origin of its own, by a link that works once and leaves a cookie for that host only", async () => {
  await using scene = await opened();
  const { url, secret, port, browser } = scene;
  expect(browser.link.hostname).toMatch(/^[0-9a-f]{40}\.localhost$/);
  expect(browser.link.port).toBe(new URL(url).port);
  const answer = await askFor(url, secret, { port, host: "127.0.0.1" });
  const another = new PreviewBrowser(url, String(answer.json()["url"]));
  // Opened again, it is the same origin, with what its page has stored.
  expect(another.link.host).toBe(browser.link.host);
  const entered = await another.get(another.entrance);
  expect([entered.status, entered.headers.location]).toEqual([303, "/"]);
  expect(entered.headers["set-cookie"]).toEqual([
    expect.stringMatching(/^exec-server-preview=[\w-]{43}; Path=\/; HttpOnly; SameSite=Lax$/),
  ]);
  const shown = await browser.get("/a/b?c=d");
  expect([shown.status, shown.json()]).toMatchObject([200, { method: "GET", url: "/a/b?c=d", body: "" }]);
});

it("the app learns neither the cookie nor what the console was told, and nothing of one hop passes", async () => {
  await using scene = await opened();
  const { browser, secret } = scene;
  const sent = await browser.get("/", {
    method: "POST",
    body: "some=text",
    headers: {
      cookie: `a=1; ${browser.cookie}; b=2`,
      authorization: "Basic of-the-app",
      connection: "close, x-hop",
      "x-hop": "1",
      "proxy-authorization": "secret",
      te: "trailers",
      expect: "100-continue",
    },
  });
  const echo = sent.json() as unknown as Echo;
  expect(echo).toMatchObject({ method: "POST", body: "some=text" });
  const headers = headersOf(echo);
  expect(headers).toEqual({
    host: browser.link.host,
    cookie: "a=1; b=2",
    authorization: "Basic of-the-app",
    "content-length": "9",
    connection: "close",
  });
  expect(JSON.stringify(echo)).not.toContain(secret);
  expect(JSON.stringify(echo)).not.toContain(browser.cookie);
  expect(sent.headers["set-cookie"]).toEqual(["app=1; Path=/", "theme=dark"]);
  expect(sent.headers["keep-alive"]).not.toBe("timeout=5");
  // A body without a length, with any method.
  const deleted = await browser.raw(
    "DELETE /x HTTP/1.1\r\nHost: HOST\r\nCookie: COOKIE\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
  );
  expect(deleted).toContain('"method":"DELETE"');
  expect(deleted).toContain('"body":"hello"');
});

it("who was not let in gets nothing: no cookie, another one, a key twice, the key of another port", async () => {
  await using scene = await opened();
  const { host, url, secret, browser } = scene;
  const stranger = browser.another();
  const said = "This browser has not opened this port";
  for (const cookie of [undefined, "exec-server-preview=", `exec-server-preview=${"x".repeat(43)}`]) {
    stranger.cookie = cookie;
    const { status, body } = await stranger.get("/");
    expect([status, body.toString()]).toEqual([403, expect.stringContaining(said)]);
    expect(await stranger.socket()).toBe(403);
  }
  stranger.cookie = undefined;
  expect((await stranger.get(stranger.entrance)).status).toBe(403);
  // Who is in already comes to no harm by the link.
  expect((await browser.get(browser.entrance)).status).toBe(303);
  const second = await startApp(host);
  const other = new PreviewBrowser(
    url,
    String((await askFor(url, secret, { port: second, host: "127.0.0.1" })).json()["url"]),
  );
  expect((await stranger.get(other.entrance)).status).toBe(403);
  expect((await stranger.get(`/?exec-server-preview=${"x".repeat(43)}`)).status).toBe(403);
  other.cookie = browser.cookie;
  expect((await other.get("/")).status).toBe(403);
});

it("a name that is not one of a preview reaches nothing, and one of a preview never the console", async () => {
  await using scene = await opened();
  const { browser, secret, url } = scene;
  const port = new URL(url).port;
  const statusFor = async (host: string, path = "/console/state") =>
    (await browse(url, path, { headers: { host, cookie: browser.cookie! } })).status;
  // As after DNS rebinding.
  for (const host of ["evil.example", `x.localhost:${port}`, `${browser.link.hostname}.evil.example`])
    expect([host, await statusFor(host)]).toEqual([host, 421]);
  expect(await statusFor(`${"0".repeat(40)}.localhost:${port}`)).toBe(403);
  expect(await statusFor(`a.${browser.link.host}`)).toBe(421);
  // The console's own addresses lead to the app there.
  for (const path of [
    "/console/state",
    "/console/session",
    "/console/previews",
    "/healthz",
    "/assets/x.js",
  ]) {
    const { status, body } = await browser.get(path, { headers: { authorization: `Bearer ${secret}` } });
    expect([path, status]).toEqual([path, 200]);
    expect(JSON.parse(body.toString())).toMatchObject({ method: "GET", url: path });
  }
  const twice = await browser.raw(
    `GET / HTTP/1.1\r\nHost: HOST\r\nHost: 127.0.0.1:${port}\r\nCookie: COOKIE\r\nConnection: close\r\n\r\n`,
  );
  expect(twice).toMatch(/^HTTP\/1\.1 4(?:00|21) /);
});

it("a page of an app can do nothing at the console", async () => {
  await using scene = await opened();
  const { url, secret, port, browser } = scene;
  const origin = browser.link.origin;
  expect((await askFor(url, secret, { port, host: "127.0.0.1" }, { origin })).status).toBe(403);
  expect(
    (await askFor(url, secret, { port, host: "127.0.0.1" }, { "sec-fetch-site": "same-site" })).status,
  ).toBe(403);
  expect((await askFor(url, undefined, { port, host: "127.0.0.1" })).status).toBe(401);
  expect((await askFor(url, "esc1_made-up", { port, host: "127.0.0.1" })).status).toBe(401);
  expect((await browse(url, "/console/previews")).status).toBe(405);
  for (const body of [null, {}, { port }, { port: `${port}`, host: "127.0.0.1" }, { port, host: 1 }])
    expect((await askFor(url, secret, body)).status).toBe(400);
});

it("only ports of the user's processes open: not others, not the server's own, and none on another address", async () => {
  await using scene = await opened();
  const { url, secret, port, host } = scene;
  const other = createServer().listen(0, "127.0.0.1");
  await once(other, "listening");
  try {
    for (const target of [
      { port: (other.address() as AddressInfo).port, host: "127.0.0.1" },
      { port: Number(new URL(url).port), host: "127.0.0.1" },
      { port, host: "127.0.0.2" },
      { port, host: "localhost" },
      { port, host: "169.254.169.254" },
      { port: port + 0.5, host: "127.0.0.1" },
      { port: -1, host: "127.0.0.1" },
    ]) {
      const { status, body } = await askFor(url, secret, target);
      expect([target, status, body.toString()]).toEqual([
        target,
        502,
        expect.stringContaining("None of your processes listens on port"),
      ]);
    }
  } finally {
    other.close();
  }
  // What listened has ended.
  const browser = await PreviewBrowser.open(url, secret, await startApp(host), "127.0.0.1");
  await host.request("process/list", {}).then(async ({ processes }) => {
    for (const { processId } of processes)
      await host.request("process/terminate", { processId, mode: "now" });
  });
  await expect.poll(async () => (await browser.get("/")).status, { timeout: DEADLINE_MS }).toBe(502);
});

it("a request that names another server is refused, not forwarded", async () => {
  await using scene = await opened();
  const { browser } = scene;
  for (const target of ["http://169.254.169.254/latest", "http://127.0.0.1:1/", "*"]) {
    const answer = await browser.raw(
      `${target === "*" ? "OPTIONS" : "GET"} ${target} HTTP/1.1\r\nHost: HOST\r\nCookie: COOKIE\r\nConnection: close\r\n\r\n`,
    );
    expect([target, answer.split("\r\n", 1)[0]]).toEqual([target, "HTTP/1.1 400 Bad Request"]);
  }
  expect(
    await browser.raw("CONNECT 127.0.0.1:22 HTTP/1.1\r\nHost: HOST\r\nCookie: COOKIE\r\n\r\n"),
  ).not.toContain(" 200 ");
  // Two slashes are a path, not a host.
  expect((await browser.get("//169.254.169.254/")).json()).toMatchObject({ url: "//169.254.169.254/" });
});

it("WebSockets pass in both directions, and end with either side; a refusal of the app passes, too", async () => {
  await using scene = await opened();
  const { browser } = scene;
  const connected = await browser.socket("/hmr");
  if (typeof connected === "number") throw new Error(`answered ${connected}`);
  const { socket, first } = connected;
  const headers = headersOf({ rawHeaders: JSON.parse(first) as string[] });
  expect(headers).toMatchObject({ host: browser.link.host, upgrade: "websocket", connection: "Upgrade" });
  expect(headers).not.toHaveProperty("cookie");
  const echoed = once(socket, "message");
  socket.send("hello");
  expect(String((await echoed)[0])).toBe("hello");
  const closed = once(socket, "close");
  socket.terminate();
  await closed;
  expect(await browser.socket("/refused")).toBe(418);
  expect(
    await browser.raw(
      "GET / HTTP/1.1\r\nHost: HOST\r\nCookie: COOKIE\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n",
    ),
  ).toContain("400 Bad Request");
});

it("an app that does not answer holds up nobody, and learns when its visitor has left", async () => {
  await using scene = await opened({ limits: { handshakeTimeoutMs: 300 } });
  const { browser, url } = scene;
  const { hostname, port } = new URL(url);
  const headers = { host: browser.link.host, cookie: browser.cookie! };
  let cut = 0;
  const waiting = Array.from({ length: 64 }, () => {
    const request = httpRequest({ host: hostname, port, path: "/never", agent: false, headers });
    return request.on("error", () => (cut += 1)).end();
  });
  const open = async () => (await browser.get("/open")).body.toString();
  await expect.poll(open, { timeout: DEADLINE_MS }).toContain("Too many connections to this port");
  expect((await browse(url, "/healthz")).status).toBe(200);
  // Longer than a stranger has for a request.
  const begun = performance.now();
  await expect.poll(() => performance.now() - begun).toBeGreaterThan(600);
  expect(cut).toBe(0);
  for (const request of waiting) request.destroy();
  await expect.poll(open, { timeout: DEADLINE_MS }).toBe("0");
});

it("what the app sends is forwarded while it comes, or refused if it is not HTTP", async () => {
  await using scene = await opened();
  const { browser } = scene;
  const { hostname, port } = new URL(scene.url);
  const asked = httpRequest({
    host: hostname,
    port,
    path: "/stream",
    agent: false,
    headers: { host: browser.link.host, cookie: browser.cookie! },
  }).end();
  const [response] = (await once(asked, "response")) as [IncomingMessage];
  expect(String((await once(response, "data"))[0])).toBe("first\n");
  expect((await browser.get("/open")).body.toString()).toBe("1");
  response.on("error", () => {});
  asked.on("error", () => {});
  asked.destroy();
  await expect
    .poll(async () => (await browser.get("/open")).body.toString(), { timeout: DEADLINE_MS })
    .toBe("0");
  const answers = [
    "not http at all\r\n\r\n",
    `HTTP/1.1 200 OK\r\nx-huge: ${"h".repeat(20_000)}\r\n\r\n`,
    "HTTP/1.1 099 Odd\r\ncontent-length: 0\r\n\r\n",
    "HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n",
    "HTTP/1.1 200 OK\r\nx: a\r\nx\0y: b\r\n\r\n",
    "",
  ];
  for (const answer of answers) {
    const headers = { "x-raw": Buffer.from(answer, "latin1").toString("base64").slice(0, 15_000) };
    const { status } = await browser.get("/raw", { headers });
    expect([answer.slice(0, 40), status]).toEqual([answer.slice(0, 40), 502]);
  }
  expect((await browser.get("/leave")).status).toBe(502);
  // A body that ends too early does not look complete.
  const cut = Buffer.from("HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nhalf", "latin1").toString("base64");
  await expect(browser.get("/raw", { headers: { "x-raw": cut } })).rejects.toThrow();
  expect((await browser.get("/still")).status).toBe(200);
});

it("a browser's connection serves one request after another, and counts as a stranger's in between", async () => {
  const refused: string[] = [];
  const warnings: Error[] = [];
  const warn = (warning: Error): number => warnings.push(warning);
  process.on("warning", warn);
  await using scene = await opened({
    observers: [{ refused: ({ reason }) => refused.push(reason) }],
    limits: { handshakeTimeoutMs: 1_000 },
  });
  const { browser, url } = scene;
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const { hostname, port } = new URL(url);
  const headers = { host: browser.link.host, cookie: browser.cookie! };
  const sockets = new Set<unknown>();
  for (let count = 0; count < 30; count += 1) {
    const request = httpRequest({ host: hostname, port, path: `/${count}`, agent, headers }).end();
    const [response] = (await once(request, "response")) as [IncomingMessage];
    sockets.add(request.socket);
    expect(response.statusCode).toBe(200);
    response.resume();
    await once(response, "end");
  }
  expect(sockets.size).toBe(1);
  // Without another request, it is closed.
  const [socket] = sockets as Set<Socket>;
  await withDeadline(once(socket!, "close"), DEADLINE_MS, () => "the end of an idle connection");
  agent.destroy();
  process.off("warning", warn);
  expect([refused, warnings]).toEqual([[], []]);
});

it("headers that are too long are refused before anything is forwarded", async () => {
  await using scene = await opened();
  const { browser } = scene;
  const answer = await browser.raw(
    `GET / HTTP/1.1\r\nHost: HOST\r\nCookie: COOKIE\r\nx: ${"x".repeat(100_000)}\r\n\r\n`,
  );
  expect(answer.startsWith("HTTP/1.1 431") || answer === "").toBe(true);
  expect((await browser.get("/")).status).toBe(200);
});

it("two pages that open a port at once get the same origin", async () => {
  await using scene = await opened();
  const { host, url, secret } = scene;
  const port = await startApp(host);
  const links = await Promise.all(
    Array.from({ length: 8 }, async () => {
      const { url: link } = (await askFor(url, secret, { port, host: "127.0.0.1" })).json();
      return new PreviewBrowser(url, String(link));
    }),
  );
  expect(new Set(links.map(({ link }) => link.host)).size).toBe(1);
  for (const browser of links) expect((await browser.get(browser.entrance)).status).toBe(303);
});

it("of one user, sixteen ports stay open; the oldest one ends", async () => {
  await using scene = await opened();
  const { host, url, secret, browser } = scene;
  const ports = await Promise.all(Array.from({ length: 16 }, () => startApp(host)));
  const others: PreviewBrowser[] = [];
  for (const port of ports) others.push(await PreviewBrowser.open(url, secret, port));
  expect((await browser.get("/")).status).toBe(403);
  expect((await others[0]!.get("/")).status).toBe(200);
  expect((await others[15]!.get("/")).status).toBe(200);
});

const entry = (name: string, preset: string): string =>
  `[[token]]\nname = "${name}"\nsha256 = "${createHash("sha256").update(`token-of-${name}`).digest("hex")}"\npreset = "${preset}"\n`;

it("with tokens, each user opens only its own ports, and a preview ends with its token", async () => {
  const table = join(directory, "tokens.toml");
  const audit = join(directory, "audit.log");
  await writeFile(table, entry("ann", "full") + entry("bob", "full") + entry("eve", "observe"));
  await using server = await serving({
    authentication: { mode: "token-table", path: table },
    audit: { file: audit },
  });
  const { url } = server;
  await using ann = await connect(url, { token: "token-of-ann" });
  const port = await startApp(ann);
  for (const name of ["bob", "eve"])
    expect((await askFor(url, `token-of-${name}`, { port, host: "127.0.0.1" })).status).toBe(502);
  expect((await askFor(url, "token-of-nobody", { port, host: "127.0.0.1" })).status).toBe(401);
  const browser = await PreviewBrowser.open(url, "token-of-ann", port);
  const connected = await browser.socket();
  if (typeof connected === "number") throw new Error(`answered ${connected}`);
  const ended = once(connected.socket, "close");
  await writeFile(table, entry("bob", "full"));
  await withDeadline(ended, DEADLINE_MS, () => "the end of the WebSocket");
  expect((await browser.get("/")).status).toBe(403);
  await server.close();
  const lines = (await readFile(audit, "utf8")).split("\n").filter(Boolean);
  const tcp = lines
    .map((line) => JSON.parse(line) as Record<string, unknown>)
    .filter(({ event }) => event === "tcp");
  expect(tcp[0]).toMatchObject({ host: "127.0.0.1", port });
  expect(lines.some((line) => line.includes('"preview"') && line.includes("ann"))).toBe(true);
});

it.runIf(process.getuid?.() === 0)(
  "a server that runs things as another user opens that user's ports",
  async () => {
    await using scene = await opened({ runAs: "games" });
    expect((await scene.browser.get("/a")).json()).toMatchObject({ url: "/a" });
    const { ports } = await scene.host.request("process/ports", null);
    const owner = await stat(`/proc/${ports[0]!.pid}`);
    expect([ports.length, owner.uid]).toEqual([1, 5]);
  },
);

it("a console that browsers reach under another name opens no ports, and says what to do", async () => {
  await using server = await serving({ publicUrls: ["wss://console.example"] });
  await using host = await connect(server.url);
  const port = await startApp(host);
  const secret = await signIn(
    server.url,
    server.consoleLink()?.replace("https://console.example", originOf(server.url)),
  );
  const { status, body } = await askFor(
    server.url,
    secret,
    { port, host: "127.0.0.1" },
    { origin: "https://console.example" },
  );
  expect([status, body.toString()]).toEqual([409, expect.stringContaining("ssh -L")]);
  // The same server, forwarded to this machine.
  expect((await askFor(server.url, secret, { port, host: "127.0.0.1" })).status).toBe(200);
});

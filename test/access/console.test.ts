import { mkdir, mkdtemp, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { afterEach, beforeEach, expect, it } from "vitest";
import { serve, type ServeOptions } from "../../src/server/index.ts";
import { browse, openPageClient, originOf, pageStatus, signIn, tokenOf, trade } from "./console-browser.ts";

let directory: string;
let page: string;
let keyFile: string;

const SCRIPT = "export const answer = 42;\n".repeat(20);
const HTML = { accept: "text/html,application/xhtml+xml,*/*;q=0.8" };

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "console-"));
  page = join(directory, "page");
  keyFile = join(directory, "state", "console.key");
  await mkdir(join(page, "assets"), { recursive: true });
  await writeFile(join(page, "index.html"), "<!doctype html><title>console</title>");
  await writeFile(join(page, "assets/main-AB12.js.gz"), gzipSync(SCRIPT));
  await writeFile(join(page, "assets/style-CD34.css.gz"), gzipSync("body{}"));
  await writeFile(join(page, "secret.txt"), "not for anybody");
  // Of a type that is served, but in another place.
  await writeFile(join(page, "outside.js"), "not for anybody");
});

afterEach(async () => rm(directory, { recursive: true }));

const serving = (options: ServeOptions = {}) => serve({ console: { directory: page, keyFile }, ...options });

it("answers the page for every view, and only there", async () => {
  await using server = await serving();
  for (const path of [
    "/",
    "/p",
    "/p/web%2Fname",
    "/t",
    "/t/x",
    "/f/home/a%20b",
    "/i",
    "/s",
    "/r",
    "/r/job",
    "/o",
    "/p?x",
  ])
    expect([path, (await browse(server.url, path, { headers: HTML })).body.toString()]).toEqual([
      path,
      "<!doctype html><title>console</title>",
    ]);
  for (const path of ["/x", "/pp", "/index.html", "/console", "/console/", "/assets", "/secret.txt"])
    expect([path, (await browse(server.url, path, { headers: HTML })).status]).toEqual([path, 404]);
});

it("answers as Codex's server at / to whatever is not a browser", async () => {
  await using server = await serving();
  for (const headers of [{}, { accept: "*/*" }, { accept: "application/json" }]) {
    const { status, body } = await browse(server.url, "/", { headers });
    expect([status, body.toString()]).toEqual([400, "Connection header did not include 'upgrade'"]);
  }
  expect((await browse(server.url, "/", { method: "HEAD" })).status).toBe(405);
  expect((await browse(server.url, "/", { method: "HEAD", headers: HTML })).status).toBe(200);
});

it("no answer can be framed, sniffed or run anything of another origin", async () => {
  await using server = await serving();
  for (const path of [
    "/p",
    "/assets/main-AB12.js",
    "/assets/none.js",
    "/console/state",
    "/console/session",
  ]) {
    const { headers } = await browse(server.url, path, { headers: HTML });
    const policy = String(headers["content-security-policy"]).split("; ");
    expect(policy).toEqual(
      expect.arrayContaining([
        "default-src 'none'",
        "script-src 'self'",
        "frame-ancestors 'none'",
        "require-trusted-types-for 'script'",
      ]),
    );
    expect(headers).toMatchObject({
      "x-frame-options": "DENY",
      "x-content-type-options": "nosniff",
      "referrer-policy": "no-referrer",
      "cross-origin-opener-policy": "same-origin",
      "cross-origin-resource-policy": "same-origin",
    });
  }
});

it("assets are immutable, compressed for clients that accept it, and have their types", async () => {
  await using server = await serving();
  const plain = await browse(server.url, "/assets/main-AB12.js");
  expect(plain.body.toString()).toBe(SCRIPT);
  expect(plain.headers).toMatchObject({
    "content-type": "text/javascript; charset=utf-8",
    "cache-control": "public, max-age=31536000, immutable",
    vary: "accept-encoding",
  });
  expect(plain.headers).not.toHaveProperty("content-encoding");
  const ask = (coding: string) =>
    browse(server.url, "/assets/main-AB12.js", { headers: { "accept-encoding": coding } });
  const packed = await ask("br, gzip");
  expect(packed.headers["content-encoding"]).toBe("gzip");
  expect(packed.body).toEqual(gzipSync(SCRIPT));
  for (const coding of ["br", "gzip;q=0", "xgzip", "identity"])
    expect((await ask(coding)).headers).not.toHaveProperty("content-encoding");
  const head = await browse(server.url, "/assets/main-AB12.js", { method: "HEAD" });
  expect([head.status, head.headers["content-length"], head.body.length]).toEqual([
    200,
    String(SCRIPT.length),
    0,
  ]);
  const style = await browse(server.url, "/assets/style-CD34.css");
  expect([style.headers["content-type"], style.body.toString()]).toEqual([
    "text/css; charset=utf-8",
    "body{}",
  ]);
});

it("nothing outside the directory of the assets can be read", async () => {
  await using server = await serving();
  for (const name of [
    "../outside.js",
    "x/../../outside.js",
    "../secret.txt",
    "..%2fsecret.txt",
    "%2e%2e/index.html",
    "..%5c..%5cindex.html",
    "/../index.html",
    "....//index.html",
    "main-AB12.js/../../index.html",
    "main-AB12.js.gz",
    ".hidden.js",
    "main-AB12.js%00.css",
    "none-0000.js",
    "",
    "a".repeat(4_000),
    "constructor",
    "__proto__",
  ])
    expect([name, (await browse(server.url, `/assets/${name}`)).status]).toEqual([name, 404]);
});

it("a page that was not built says how to build it", async () => {
  await using server = await serving({ console: { directory: join(directory, "missing") } });
  const { status, body } = await browse(server.url, "/", { headers: HTML });
  expect([status, body.toString()]).toEqual([503, expect.stringContaining("npm start")]);
});

it("a link lets a browser in, once", async () => {
  await using server = await serving();
  const link = server.consoleLink();
  expect(link).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/#link=[\w-]{43}$/);
  const answer = await trade(server.url, { token: tokenOf(link) });
  expect([answer.status, answer.headers["cache-control"]]).toEqual([200, "no-store"]);
  const { secret } = answer.json();
  expect(await pageStatus(server.url, secret as string)).toBe(101);
  expect(await pageStatus(server.url, secret as string)).toBe(101);
  const again = await trade(server.url, { token: tokenOf(link) });
  expect([again.status, again.json()]).toEqual([
    410,
    { error: "link-spent", message: expect.stringContaining("exec-server open") as unknown },
  ]);
});

it("a link is not spent by a GET, by other pages, or by a body of another type", async () => {
  await using server = await serving();
  const { url } = server;
  const token = tokenOf(server.consoleLink());
  expect((await browse(url, `/console/session?token=${token}`)).status).toBe(405);
  expect((await browse(url, `/?link=${token}`, { headers: HTML })).status).toBe(200);
  for (const headers of [
    { origin: "http://evil.example" },
    { origin: "null" },
    { origin: `http://127.0.0.1:${Number(new URL(url).port) - 1}` },
    { origin: originOf(url).replace("http:", "ftp:") },
    { "sec-fetch-site": "cross-site" },
    { "sec-fetch-site": "same-site" },
  ])
    expect([headers, (await trade(url, { token }, headers)).status]).toEqual([headers, 403]);
  const body = JSON.stringify({ token });
  const json = { "content-type": "application/json" };
  expect((await browse(url, "/console/session", { method: "POST", body, headers: json })).status).toBe(403);
  expect((await trade(url, { token }, { host: "evil.example" })).status).toBe(421);
  for (const type of ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", ""])
    expect([type, (await trade(url, { token }, { "content-type": type })).status]).toEqual([type, 415]);
  expect((await trade(url, { token, filler: "x".repeat(20_000) })).status).toBe(413);
  for (const wrong of [{}, { token: 1 }, { token: "" }, { token: [token] }])
    expect((await trade(url, wrong)).status).toBe(400);
  expect((await trade(url, { token })).status).toBe(200);
});

it("a page gets no connection without a secret of this server, wherever it comes from", async () => {
  await using server = await serving();
  const { url } = server;
  const secret = await signIn(url, server.consoleLink());
  expect(await pageStatus(url, undefined)).toBe(403);
  expect(await pageStatus(url, secret, { origin: "http://evil.example" })).toBe(403);
  expect(await pageStatus(url, secret, { host: "evil.example", origin: "http://evil.example" })).toBe(421);
  for (const forged of [
    "x",
    "esc1_",
    "esc1_AAAA",
    `esc1_${"A".repeat(80)}`,
    secret.slice(0, -1),
    `${secret}A`,
  ])
    expect([forged, await pageStatus(url, forged)]).toEqual([forged, 401]);
  for (let at = "esc1_".length; at < secret.length; at += 1) {
    const other = secret[at] === "A" ? "B" : "A";
    if ((await pageStatus(url, secret.slice(0, at) + other + secret.slice(at + 1))) !== 401)
      throw new Error(`the secret is taken although its character ${at} was altered`);
  }
  expect(await pageStatus(url, secret)).toBe(101);
});

it("a secret outlives a restart, and no other server takes it", async () => {
  const before = await serving();
  const { url } = before;
  const secret = await signIn(url, before.consoleLink());
  await using other = await serving();
  expect(await pageStatus(other.url, secret)).toBe(401);
  await before.close();
  await using after = await serving({ listen: url });
  expect(await pageStatus(after.url, secret)).toBe(101);
  expect((await stat(keyFile)).mode & 0o777).toBe(0o600);
  expect((await stat(join(directory, "state"))).mode & 0o777).toBe(0o700);
});

it("a key that others can read is not used, and is not needed", async () => {
  await mkdir(join(directory, "state"));
  await writeFile(keyFile, Buffer.alloc(32), { mode: 0o644 });
  const warnings: string[] = [];
  const logger = {
    debug: () => {},
    info: () => {},
    warn: (message: string) => void warnings.push(message),
    error: () => {},
  };
  await using server = await serving({ logger });
  expect(await pageStatus(server.url, await signIn(server.url, server.consoleLink()))).toBe(101);
  expect(warnings).toEqual([expect.stringContaining("the console's key cannot be used")]);
});

it("a browser learns what to ask for, and whether its session is over", async () => {
  await using server = await serving({ version: "1.2.3" });
  const state = async (headers = {}) => (await browse(server.url, "/console/state", { headers })).json();
  expect(await state()).toEqual({
    authentication: "link",
    name: expect.any(String) as unknown,
    version: "1.2.3",
  });
  const secret = await signIn(server.url, server.consoleLink());
  expect(await state({ authorization: `Bearer ${secret}` })).toMatchObject({ session: "valid" });
  expect(await state({ authorization: "Bearer esc1_x" })).toMatchObject({ session: "over" });
  expect((await browse(server.url, "/console/state", { method: "POST" })).status).toBe(405);
  expect(
    (await browse(server.url, "/console/state", { headers: { origin: "http://evil.example" } })).status,
  ).toBe(403);
});

it("a session is renewed with its secret", async () => {
  await using server = await serving();
  const secret = await signIn(server.url, server.consoleLink());
  const renewed = (await trade(server.url, { secret })).json()["secret"] as string;
  expect(renewed).not.toBe(secret);
  expect(await pageStatus(server.url, renewed)).toBe(101);
  const refused = await trade(server.url, { secret: `${renewed}x` });
  expect([refused.status, refused.json()["error"]]).toEqual([401, "session-over"]);
});

it("forwarded ports and a proxy in front are the same server", async () => {
  await using server = await serving({ publicUrls: ["wss://exec.example.com"] });
  const { url } = server;
  expect(server.consoleLink()).toMatch(/^https:\/\/exec\.example\.com\/#link=/);
  for (const headers of [
    { host: "localhost:9999", origin: "http://localhost:9999" },
    { host: "127.0.0.1:9999", origin: "http://127.0.0.1:9999" },
    { host: "[::1]:9999", origin: "http://[::1]:9999" },
    { host: "exec.example.com", origin: "https://exec.example.com" },
    // A proxy that asks for the server's own address.
    { host: new URL(url).host, origin: "https://exec.example.com" },
  ]) {
    const answer = await trade(url, { token: tokenOf(server.consoleLink()) }, headers);
    expect([headers, answer.status]).toEqual([headers, 200]);
    expect([headers, await pageStatus(url, answer.json()["secret"] as string, headers)]).toEqual([
      headers,
      101,
    ]);
  }
  const mixed = { host: "localhost:9999", origin: "http://localhost:9998" };
  expect((await trade(url, { token: tokenOf(server.consoleLink()) }, mixed)).status).toBe(403);
});

it("without the option there is no console", async () => {
  await using server = await serve();
  expect(server.consoleLink()).toBeUndefined();
  for (const path of ["/p", "/assets/main-AB12.js", "/console/state", "/console/session"])
    expect((await browse(server.url, path, { headers: HTML })).status).toBe(404);
  expect((await browse(server.url, "/", { headers: HTML })).status).toBe(400);
  expect(await pageStatus(server.url, "esc1_x")).toBe(403);
});

it("pages act for the user of the server, within the rights of local clients", async () => {
  await using server = await serving({ local: { preset: "observe" } });
  await using page = await openPageClient(server.url, await signIn(server.url, server.consoleLink()));
  const { error } = await page.call("fs/readFile", { path: "file:///etc/hostname" });
  expect(error?.message).toContain("may not use fs/readFile");
});

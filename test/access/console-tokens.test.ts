import { createHash } from "node:crypto";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { type ListeningServer, serve, type ServeOptions } from "../../src/server/index.ts";
import { withDeadline } from "../fault/deadline.ts";
import { createAuthority } from "../fixtures/certificates.ts";
import { browse, openPageClient, originOf, pageStatus, signIn, tokenOf, trade } from "./console-browser.ts";
import { openSocket } from "./raw-client.ts";

// The web console of servers with authentication, with TLS, and under attack.

const DEADLINE_MS = 60_000;
const CREDENTIAL_ENDED = 4011;

let directory: string;
let page: string;
let table: string;

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "console-tokens-"));
  page = join(directory, "page");
  table = join(directory, "tokens.toml");
  await mkdir(page);
  await writeFile(join(page, "index.html"), "<!doctype html>");
});

afterEach(async () => rm(directory, { recursive: true }));

const entry = (name: string, rest: string): string =>
  `[[token]]\nname = "${name}"\nsha256 = "${createHash("sha256").update(`token-of-${name}`).digest("hex")}"\n${rest}\n`;
const ANN = entry("ann", 'preset = "observe"');
const BOB = entry("bob", 'preset = "full"');

function serving(options: ServeOptions = {}): Promise<ListeningServer> {
  return serve({
    console: { directory: page, keyFile: join(directory, "key") },
    authentication: { mode: "token-table", path: table },
    ...options,
  });
}

const READ = ["fs/readFile", { path: "file:///etc/passwd" }] as const;

/** Asks for a link over a connection with a token, and opens it. */
async function openWithToken(url: string, token: string): Promise<string> {
  await using client = await openSocket(url, token);
  const { result } = await client.call("console/link", null);
  return signIn(url, `http://x/#link=${String(result?.["token"])}`);
}

it("a link has the rights of the connection that asked for it, and ends with its token", async () => {
  await writeFile(table, ANN + BOB);
  await using server = await serving();
  const { url } = server;
  expect(server.consoleLink()).toBe(`${originOf(url)}/`);
  await using observer = await openPageClient(url, await openWithToken(url, "token-of-ann"));
  expect((await observer.call(...READ)).error?.message).toContain("the token ann may not use fs/readFile");
  const bob = await openWithToken(url, "token-of-bob");
  await using full = await openPageClient(url, bob);
  expect((await full.call(...READ)).error).toBeUndefined();
  const { result: unused } = await full.call("console/link", null);
  await writeFile(table, ANN);
  expect(await withDeadline(full.closed, DEADLINE_MS, () => "the end")).toBe(CREDENTIAL_ENDED);
  expect(await pageStatus(url, bob)).toBe(401);
  expect((await trade(url, { secret: bob })).status).toBe(401);
  const refused = await trade(url, { token: unused?.["token"] });
  expect([refused.status, refused.json()]).toEqual([
    401,
    { error: "link-refused", message: expect.stringContaining("invalid websocket bearer token") as unknown },
  ]);
});

it("a page asks for a token, and trades it for a secret that shows nothing of it", async () => {
  await writeFile(table, ANN);
  await using server = await serving();
  const { url } = server;
  expect((await browse(url, "/console/state")).json()).toMatchObject({ authentication: "token" });
  const answer = await trade(url, { token: "token-of-ann" });
  const { secret } = answer.json() as { secret: string };
  expect(Buffer.from(secret, "base64url").toString("latin1")).not.toContain("ann");
  expect(await pageStatus(url, secret)).toBe(101);
  // The user's token is accepted from a page, too, and a wrong one never.
  expect(await pageStatus(url, "token-of-ann")).toBe(101);
  expect(await pageStatus(url, "token-of-eve")).toBe(401);
  expect(await pageStatus(url, undefined)).toBe(403);
  const refused = await trade(url, { token: "token-of-eve" });
  expect([refused.status, refused.json()["error"]]).toEqual([401, "token-refused"]);
});

it("a secret of a server without authentication is not one of a server with it, nor the reverse", async () => {
  await writeFile(table, BOB);
  const open = await serve({ console: { directory: page, keyFile: join(directory, "key") } });
  const { url } = open;
  const local = await signIn(url, open.consoleLink());
  await open.close();
  const guarded = await serving({ listen: url });
  expect(await pageStatus(url, local)).toBe(401);
  const bob = await openWithToken(url, "token-of-bob");
  await guarded.close();
  await using again = await serve({
    listen: url,
    console: { directory: page, keyFile: join(directory, "key") },
  });
  expect(await pageStatus(again.url, bob)).toBe(401);
  expect(await pageStatus(again.url, local)).toBe(101);
});

it("links and failed attempts are in the audit log, without their tokens", async () => {
  await writeFile(table, BOB);
  const file = join(directory, "audit.jsonl");
  const server = await serving({ audit: { file } });
  const client = await openSocket(server.url, "token-of-bob");
  const { result } = await client.call("console/link", null);
  const token = String(result?.["token"]);
  const secret = await signIn(server.url, `http://x/#link=${token}`);
  await trade(server.url, { token });
  await pageStatus(server.url, `${secret}x`);
  await client[Symbol.asyncDispose]();
  await server.close();
  const text = await readFile(file, "utf8");
  const lines = text.trim().split("\n");
  const parsed = lines.map((line) => JSON.parse(line) as Readonly<Record<string, unknown>>);
  expect(parsed.filter(({ event }) => event === "consoleLink")).toMatchObject([{ principal: "name:bob" }]);
  expect(parsed.filter(({ event }) => event === "refused").map(({ reason }) => reason)).toEqual(
    expect.arrayContaining([
      "console: this link has already been used",
      "console: a page's session is invalid or expired",
    ]),
  );
  for (const hidden of [token, secret, "token-of-bob"]) expect(text).not.toContain(hidden);
});

it("guessing links is slowed down, a correct one is not", async () => {
  await using server = await serve({ console: { directory: page } });
  const guesses = await Promise.all(
    Array.from(
      { length: 60 },
      async (_, index) => (await trade(server.url, { token: `guess ${index}` })).status,
    ),
  );
  expect(guesses.filter((status) => status === 429).length).toBeGreaterThan(30);
  expect(new Set(guesses)).toEqual(new Set([401, 429]));
  expect((await trade(server.url, { token: tokenOf(server.consoleLink()) })).status).toBe(200);
});

it("works over TLS, with the origin of TLS only", async () => {
  using authority = createAuthority();
  const { cert, key } = authority.issue("server");
  await using server = await serve({
    listen: "wss://127.0.0.1:0",
    tls: { cert, key },
    console: { directory: page },
  });
  const { url } = server;
  const ca = readFileSync(authority.ca, "utf8");
  const token = tokenOf(server.consoleLink());
  expect(server.consoleLink()).toMatch(/^https:\/\/127\.0\.0\.1:\d+\/#link=/);
  const plain = { origin: originOf(url).replace("https:", "http:") };
  expect((await trade(url, { token }, plain, { ca })).status).toBe(403);
  const { secret } = (await trade(url, { token }, {}, { ca })).json() as { secret: string };
  expect(await pageStatus(url, secret, {}, { ca })).toBe(101);
  expect(await pageStatus(url, secret, plain, { ca })).toBe(403);
});

it("with client certificates, a page needs one and a secret", async () => {
  using authority = createAuthority();
  const { cert, key } = authority.issue("server");
  const client = authority.issue("ann");
  await using server = await serve({
    listen: "wss://127.0.0.1:0",
    tls: { cert, key, clientCa: authority.ca },
    console: { directory: page },
  });
  const shown = {
    ca: readFileSync(authority.ca, "utf8"),
    cert: readFileSync(client.cert, "utf8"),
    key: readFileSync(client.key, "utf8"),
  };
  const token = tokenOf(server.consoleLink());
  const { secret } = (await trade(server.url, { token }, {}, shown)).json() as { secret: string };
  expect(await pageStatus(server.url, secret, {}, shown)).toBe(101);
  expect(await pageStatus(server.url, undefined, {}, shown)).toBe(403);
  expect(await pageStatus(server.url, secret, {}, { ca: shown.ca })).toBe(403);
  expect((await browse(server.url, "/p", { ca: shown.ca })).body.toString()).toContain("client certificate");
});

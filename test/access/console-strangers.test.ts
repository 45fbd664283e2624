import { mkdtemp, readFile, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, expect, it } from "vitest";
import { silentLogger } from "../../src/base/logger.ts";
import { connect } from "../../src/client/host/connect.ts";
import { Console } from "../../src/server/console/console.ts";
import { serve } from "../../src/server/index.ts";
import { listenWebSocket, type WebSocketListener } from "../../src/transport/websocket/websocket-server.ts";
import { browse, pageStatus, signIn, tokenOf, trade } from "./console-browser.ts";

// Who is kept from the console although a link is known, and what stands between it and a browser.

const listeners: WebSocketListener[] = [];

afterEach(async () => {
  for (const listener of listeners.splice(0)) await listener.close();
});

it.each(["exclude", "excludeUser"] as const)("nobody whom %s keeps out can spend a link", async (check) => {
  let reason: string | undefined = "not for you";
  const refusals: string[] = [];
  const site = new Console(
    {},
    {
      logger: silentLogger,
      version: undefined,
      isLocal: true,
      publicUrls: [],
      takesTokens: false,
      refused: () => {},
    },
  );
  const listener = await listenWebSocket({
    host: "127.0.0.1",
    port: 0,
    site,
    [check]: async () => reason,
    authenticatePage: (presented) => site.admit(presented),
    refused: ({ reason: told }) => void refusals.push(told),
    accept: () => {},
  });
  listeners.push(listener);
  site.listensOn(listener.url);
  const token = tokenOf(site.link());
  const refused = await trade(listener.url, { token });
  expect([refused.status, refused.json()]).toEqual([403, { error: "not-admitted", message: "not for you" }]);
  expect(refusals).toEqual(["/console/session: not for you"]);
  expect((await browse(listener.url, "/console/state")).status).toBe(200);
  reason = undefined;
  expect((await trade(listener.url, { token })).status).toBe(200);
});

it("the key is there before any sandbox begins, which hides only what it finds", async () => {
  const directory = await mkdtemp("/var/tmp/exec-server-console-strangers-");
  try {
    const keyFile = join(directory, "state", "console.key");
    await using first = await serve({ console: { keyFile } });
    const key = await readFile(keyFile);
    expect([key.length, (await stat(keyFile)).mode & 0o777]).toEqual([32, 0o600]);
    await using host = await connect(first.url);
    const seen = await host.run(["cat", keyFile], { sandbox: "read-only" });
    expect([seen.stdout, seen.stderr]).toEqual(["", expect.stringContaining("Permission denied")]);
    const secret = await signIn(first.url, first.consoleLink());
    expect(await pageStatus(first.url, secret)).toBe(101);
    // Neither a page nor another server makes another one.
    await using _second = await serve({ console: { keyFile } });
    expect(await readFile(keyFile)).toEqual(key);
  } finally {
    await rm(directory, { recursive: true });
  }
});

it("a server whose key cannot be kept says so when it is needed, not at every start", async () => {
  const directory = await mkdtemp("/var/tmp/exec-server-console-strangers-");
  try {
    await writeFile(join(directory, "state"), "");
    const warnings: string[] = [];
    const logger = { ...silentLogger, warn: (message: string) => void warnings.push(message) };
    const keyFile = join(directory, "state", "console.key");
    await using server = await serve({ console: { keyFile }, logger });
    expect(warnings).toEqual([]);
    await signIn(server.url, server.consoleLink());
    expect(warnings).toEqual([expect.stringContaining("the console's key cannot be used")]);
  } finally {
    await rm(directory, { recursive: true });
  }
});

it("a proxy that asks for a password of its own hides no session of a page", async () => {
  await using server = await serve({ console: true });
  const secret = await signIn(server.url, server.consoleLink());
  const authorization = `Basic ${Buffer.from("ann:password").toString("base64")}`;
  expect(await pageStatus(server.url, secret, { authorization })).toBe(101);
  expect(await pageStatus(server.url, `${secret}x`, { authorization: `Bearer ${secret}` })).toBe(401);
});

it("a public URL below a path is no address of the page: its links use another one, and the log says why", async () => {
  const warnings: unknown[] = [];
  const logger = { ...silentLogger, warn: (...warning: unknown[]) => warnings.push(warning) };
  const below = "https://user:password@example.com/exec";
  await using alone = await serve({ console: true, publicUrls: [below], logger });
  expect(alone.consoleLink()).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/#link=/);
  expect(JSON.stringify(warnings)).toMatch(/host name of its own.*example\.com\/exec/);
  expect(JSON.stringify(warnings)).not.toContain("password");
  warnings.length = 0;
  await using other = await serve({ console: true, publicUrls: [below, "https://exec.example.com"], logger });
  expect(other.consoleLink()).toMatch(/^https:\/\/exec\.example\.com\/#link=/);
  expect(warnings).toEqual([]);
});

it.each(["WSS://Exec.Example.com", " wss://exec.example.com/", "Https://exec.example.com:443"])(
  "a link is one that browsers open, however the public URL %j is written",
  async (publicUrl) => {
    await using server = await serve({ console: true, publicUrls: [publicUrl] });
    const link = server.consoleLink();
    expect(link).toMatch(/^https:\/\/exec\.example\.com\/#link=[\w-]{43}$/);
    const page = { host: "exec.example.com", origin: "https://exec.example.com" };
    expect((await trade(server.url, { token: tokenOf(link) }, page)).status).toBe(200);
  },
);

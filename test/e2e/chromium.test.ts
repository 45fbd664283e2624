import { createHash } from "node:crypto";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startServer, type ServerUnderTest } from "../fault/server-under-test.ts";
import { bundleForBrowsers } from "../fixtures/browser-bundle.ts";
import { Chromium } from "./chromium.ts";

const TOKEN = "a-token-of-one.s-own_42~";
const PATHS = ["/", "/readyz", "/healthz", "/metrics"];

let chromium: Chromium;
let open: ServerUnderTest;
let guarded: ServerUnderTest;
let pages: { port: number; close: () => void };

beforeAll(async () => {
  pages = await servePages();
  [chromium, open, guarded] = await Promise.all([
    Chromium.launch(),
    startServer({ args: ["--log-level", "error"] }),
    startServer({
      args: [
        "--ws-auth",
        "capability-token",
        "--ws-token-sha256",
        createHash("sha256").update(TOKEN).digest("hex"),
        "--allow-origin",
        `http://mine.example:${pages.port}`,
      ],
    }),
  ]);
});

afterAll(async () => {
  pages.close();
  await Promise.all([chromium, open, guarded].map((used) => used?.[Symbol.asyncDispose]()));
});

/** A page's own server: an empty document, and the library. */
async function servePages(): Promise<{ port: number; close: () => void }> {
  const { code } = await bundleForBrowsers();
  const server = createServer((request, response) => {
    const isScript = request.url === "/client.mjs";
    response.writeHead(200, { "content-type": isScript ? "text/javascript" : "text/html" });
    response.end(isScript ? code : "<!doctype html>");
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return { port: (server.address() as AddressInfo).port, close: () => server.close() };
}

/** What a page gets from a server: the status of each path, and whether a WebSocket opens. */
const attack = (base: string, protocols: readonly string[] = []): string => `(async () => {
  const statuses = {};
  for (const path of ${JSON.stringify(PATHS)})
    statuses[path] = await fetch(${JSON.stringify(base)} + path).then(
      (response) => response.status,
      (error) => error.name,
    );
  const webSocket = new WebSocket(${JSON.stringify(base.replace("http:", "ws:"))}, ${JSON.stringify(protocols)});
  const socket = await new Promise((resolve) => {
    webSocket.onopen = () => resolve("open");
    webSocket.onerror = () => resolve("failed");
  });
  return { origin: location.origin, statuses, socket };
})()`;

const all = (status: unknown): object => Object.fromEntries(PATHS.map((path) => [path, status]));

/** Runs a command by the library, as a page of its user would. */
const runByLibrary = (url: string, token: string): string => `(async () => {
  const { connect } = await import("/client.mjs");
  try {
    const host = await connect(${JSON.stringify(url)}, { token: ${JSON.stringify(token)} });
    const { stdout } = await host.run(["echo", "from a page"]);
    await host.close();
    return stdout;
  } catch (error) {
    return "failed: " + error.message;
  }
})()`;

describe("in a real browser", () => {
  it.each(["localhost", "evil.example"])(
    "a page of another origin at %s neither connects nor reads anything",
    async (host) => {
      const page = `http://${host}:${pages.port}/`;
      for (const { port } of [open, guarded])
        expect(await chromium.evaluate(page, attack(`http://127.0.0.1:${port}`))).toEqual({
          origin: page.slice(0, -1),
          statuses: all("TypeError"),
          socket: "failed",
        });
    },
  );

  it("a page whose name is rebound to loopback has the server's port, and still gets nowhere", async () => {
    for (const { port } of [open, guarded]) {
      const base = `http://evil.example:${port}`;
      expect(await chromium.evaluate(`${base}/page`, attack(base), "<!doctype html>")).toEqual({
        origin: base,
        statuses: all(421),
        socket: "failed",
      });
    }
    // The same page under the server's own name would read what its origin may: so it is the name that stops it.
    const base = `http://localhost:${open.port}`;
    expect(await chromium.evaluate(`${base}/page`, attack(base), "<!doctype html>")).toMatchObject({
      statuses: { "/readyz": 200 },
      socket: "failed",
    });
  });

  it("a page of an allowed origin runs a command with its token, and with no other", async () => {
    const page = `http://mine.example:${pages.port}/`;

    expect(await chromium.evaluate(page, runByLibrary(guarded.url, TOKEN))).toBe("from a page\n");
    expect(await chromium.evaluate(page, runByLibrary(guarded.url, "wrong"))).toMatch(/^failed: /);
    const other = `http://other.example:${pages.port}/`;
    expect(await chromium.evaluate(other, runByLibrary(guarded.url, TOKEN))).toMatch(/^failed: /);
    expect(await chromium.evaluate(page, attack(`http://127.0.0.1:${guarded.port}`))).toEqual({
      origin: page.slice(0, -1),
      statuses: all("TypeError"),
      socket: "failed",
    });
  });
});

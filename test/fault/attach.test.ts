import { createHash } from "node:crypto";
import { once } from "node:events";
import { createServer, type Server as HttpServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, beforeEach, expect, it } from "vitest";
import { connect } from "../../src/client/index.ts";
import { attach, type AttachOptions } from "../../src/server/index.ts";
import { RawSocket, upgradeRequest } from "./raw-websocket.ts";

const TOKEN = "secret";
const OPTIONS: AttachOptions = {
  environment: process.env,
  authentication: { mode: "capability-token", tokenSha256: createHash("sha256").update(TOKEN).digest() },
  publicUrls: ["https://app.example"],
  allowOrigins: ["https://app.example"],
};

let http: HttpServer;
let port: number;

beforeEach(async () => {
  http = createServer((_, response) => response.end("the rest")).listen(0, "127.0.0.1");
  await once(http, "listening");
  ({ port } = http.address() as AddressInfo);
});

afterEach(() => {
  http.closeAllConnections();
  http.close();
});

async function statusOf(path: string, headers: string[] = [], host = "127.0.0.1"): Promise<number> {
  const socket = await RawSocket.open(port);
  socket.write(
    upgradeRequest(headers).replace("GET / ", `GET ${path} `).replace("Host: 127.0.0.1", `Host: ${host}`),
  );
  const head = await socket.httpHead();
  socket.cut();
  return Number(head.split(" ")[1]);
}

it("a server attached to an HTTP server serves on its path, and nothing else changes", async () => {
  const server = attach(http, OPTIONS);
  await using host = await connect(`ws://127.0.0.1:${port}/exec`, { token: TOKEN });
  expect((await host.run(["echo", "hi"])).stdout).toBe("hi\n");
  expect(await (await fetch(`http://127.0.0.1:${port}/exec`)).text()).toBe("the rest");
  expect(await statusOf("/other")).toBe(404);
  await server.close();
  expect(http.listenerCount("upgrade")).toBe(0);
  expect(await (await fetch(`http://127.0.0.1:${port}/`)).text()).toBe("the rest");
});

it("an attached server leaves other paths to other listeners", async () => {
  await using _server = attach(http, OPTIONS);
  http.on("upgrade", (request, socket) => {
    if (request.url === "/theirs") socket.end("HTTP/1.1 418 Theirs\r\n\r\n");
  });
  expect(await statusOf("/theirs")).toBe(418);
  expect(await statusOf("/exec?x", [`Authorization: Bearer ${TOKEN}`])).toBe(101);
});

it("servers on several paths answer once for all others, and no path has two", async () => {
  await using first = attach(http, OPTIONS);
  await using _second = attach(http, { ...OPTIONS, path: "/second" });
  const authorized = [`Authorization: Bearer ${TOKEN}`];
  expect(await statusOf("/other")).toBe(404);
  for (const path of ["/exec", "/second"]) expect(await statusOf(path, authorized)).toBe(101);
  expect(() => attach(http, OPTIONS)).toThrow("a server is attached to `/exec` already");
  await first.close();
  for (const path of ["/exec", "/other"]) expect(await statusOf(path, authorized)).toBe(404);
  expect(await statusOf("/second", authorized)).toBe(101);
  await using _again = attach(http, OPTIONS);
  expect(await statusOf("/exec", authorized)).toBe(101);
});

it("an attached server checks tokens, hosts and origins", async () => {
  await using _server = attach(http, OPTIONS);
  const authorization = `Authorization: Bearer ${TOKEN}`;
  expect(await statusOf("/exec")).toBe(401);
  expect(await statusOf("/exec", [authorization], "evil.example")).toBe(421);
  expect(await statusOf("/exec", [authorization], "app.example:443")).toBe(101);
  expect(await statusOf("/exec", [authorization, "Origin: https://app.example"])).toBe(101);
  expect(await statusOf("/exec", [authorization, "Origin: https://evil.example"])).toBe(403);
});

it("a server is not attached without authentication, unless that is asked for, nor on an odd path", async () => {
  expect(() => attach(http, {})).toThrow("without authentication");
  expect(() => attach(http, { authentication: null as never })).toThrow("authentication mode");
  expect(() => attach(http, { ...OPTIONS, path: "exec" })).toThrow("invalid path");
  expect(http.listenerCount("upgrade")).toBe(0);
  await using _server = attach(http, { insecureNoAuth: true });
  expect(await statusOf("/exec")).toBe(101);
});

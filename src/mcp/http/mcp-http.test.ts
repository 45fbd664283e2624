import { once } from "node:events";
import { createServer, type Server as HttpServer } from "node:http";
import type { AddressInfo } from "node:net";
import { Server } from "@modelcontextprotocol/server";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { silentLogger } from "../../base/logger.ts";
import { McpHttp } from "./mcp-http.ts";
import type { McpService } from "./mcp-session.ts";

const IDLE_MS = 60_000;
const MODERN_META = {
  "io.modelcontextprotocol/protocolVersion": "2026-07-28",
  "io.modelcontextprotocol/clientInfo": { name: "test", version: "1" },
  "io.modelcontextprotocol/clientCapabilities": {},
};

/** What a session has, and whether it has ended. */
class FakeService implements McpService {
  hasEnded = false;

  server(): Server {
    const server = new Server({ name: "fake", version: "1" }, { capabilities: { tools: {} } });
    server.setRequestHandler("tools/list", () => ({ tools: [] }));
    return server;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.hasEnded = true;
  }
}

let mcp: McpHttp<{ key: string; secret: string }>;
let http: HttpServer;
let services: FakeService[];
let latest: (() => { secret: string })[];

beforeEach(async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] });
  services = [];
  latest = [];
  mcp = new McpHttp({
    open: (bearer) => {
      latest.push(bearer);
      services.push(new FakeService());
      return services.at(-1)!;
    },
    maxSessions: 8,
    sessionIdleMs: IDLE_MS,
    logger: silentLogger,
  });
  http = createServer((request, response) => {
    const [key = "", secret = ""] = (request.headers.authorization ?? "").split(" ");
    mcp.answer(request, response, { key, secret }).catch(() => response.destroy());
  }).listen(0, "127.0.0.1");
  await once(http, "listening");
});
afterEach(async () => {
  vi.useRealTimers();
  http.closeAllConnections();
  http.close();
  await mcp.close();
});

function send(
  message: object | undefined,
  {
    method = "POST",
    bearer = "ann 1",
    session,
  }: { method?: string; bearer?: string; session?: string | undefined } = {},
): Promise<Response> {
  return fetch(`http://127.0.0.1:${(http.address() as AddressInfo).port}/`, {
    method,
    ...(message === undefined ? {} : { body: JSON.stringify({ jsonrpc: "2.0", ...message }) }),
    headers: {
      authorization: bearer,
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      ...(session === undefined ? {} : { "mcp-session-id": session }),
    },
  });
}

async function begin(bearer = "ann 1"): Promise<string> {
  const clientInfo = { name: "test", version: "1" };
  const params = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo };
  const response = await send({ id: 1, method: "initialize", params }, { bearer });
  await response.text();
  expect(response.status).toBe(200);
  return response.headers.get("mcp-session-id")!;
}

const ping = { id: 2, method: "ping" };
const status = async (...args: Parameters<typeof send>): Promise<number> => {
  const response = await send(...args);
  await response.text();
  return response.status;
};

describe("a session", () => {
  it("has a service of its own, and belongs to its bearer", async () => {
    const [first, second] = [await begin(), await begin()];
    expect(first).not.toBe(second);
    expect(services).toHaveLength(2);
    expect(await status(ping, { session: first })).toBe(200);
    for (const method of ["POST", "GET", "DELETE"])
      expect(
        await status(method === "POST" ? ping : undefined, { session: first, bearer: "bob 1", method }),
      ).toBe(404);
    expect(await status(ping, { session: first })).toBe(200);
  });

  it("uses the token that was shown last", async () => {
    const session = await begin();
    await status(ping, { session, bearer: "ann 2" });
    await status(ping, { session, bearer: "bob 3" });
    expect(latest[0]!().secret).toBe("2");
  });

  it("ends when nothing has come for its time, and not before", async () => {
    const session = await begin();
    vi.advanceTimersByTime(IDLE_MS - 1);
    expect(await status(ping, { session })).toBe(200);
    vi.advanceTimersByTime(IDLE_MS - 1);
    expect(services[0]!.hasEnded).toBe(false);
    expect(await status(ping, { session })).toBe(200);
    await vi.waitFor(() => {
      vi.advanceTimersByTime(IDLE_MS);
      expect(services[0]!.hasEnded).toBe(true);
    });
    expect(await status(ping, { session })).toBe(404);
  });

  it("does not end while its stream is followed", async () => {
    const session = await begin();
    const stream = await send(undefined, { session, method: "GET" });
    vi.advanceTimersByTime(10 * IDLE_MS);
    expect(services[0]!.hasEnded).toBe(false);
    await stream.body!.cancel();
    await vi.waitFor(() => {
      vi.advanceTimersByTime(IDLE_MS);
      expect(services[0]!.hasEnded).toBe(true);
    });
  });

  it("ends with DELETE", async () => {
    const session = await begin();
    expect(await status(undefined, { session, method: "DELETE" })).toBe(200);
    expect(services[0]!.hasEnded).toBe(true);
    expect(await status(ping, { session })).toBe(404);
  });
});

it("requests without sessions share a service with those of their bearer, and with nobody else", async () => {
  const list = { id: 1, method: "tools/list", params: { _meta: MODERN_META } };
  const modern = async (bearer: string): Promise<number> => {
    const response = await fetch(`http://127.0.0.1:${(http.address() as AddressInfo).port}/`, {
      method: "POST",
      body: JSON.stringify({ jsonrpc: "2.0", ...list }),
      headers: {
        authorization: bearer,
        "content-type": "application/json",
        accept: "application/json, text/event-stream",
        "mcp-protocol-version": "2026-07-28",
        "mcp-method": "tools/list",
      },
    });
    await response.text();
    return response.status;
  };
  expect([await modern("ann 1"), await modern("ann 2"), await modern("bob 1")]).toEqual([200, 200, 200]);
  expect(services).toHaveLength(2);
  vi.advanceTimersByTime(IDLE_MS);
  await vi.waitFor(() => {
    vi.advanceTimersByTime(IDLE_MS);
    expect(services.every(({ hasEnded }) => hasEnded)).toBe(true);
  });
  expect(await modern("ann 1")).toBe(200);
  expect(services).toHaveLength(3);
});

describe("too many sessions", () => {
  it("of a bearer end the one that has been idle longest", async () => {
    const [first, second] = [await begin(), await begin()];
    vi.advanceTimersByTime(10);
    await status(ping, { session: first });
    await begin();
    expect(services.map(({ hasEnded }) => hasEnded)).toEqual([false, true, false]);
    expect(await status(ping, { session: second })).toBe(404);
  });

  it("of a bearer are refused if all are in use, and other bearers do not notice", async () => {
    const streams = [];
    for (const session of [await begin(), await begin()])
      streams.push(await send(undefined, { session, method: "GET" }));
    const refused = await send({ id: 1, method: "initialize", params: {} });
    expect(refused.status).toBe(503);
    expect(await refused.text()).toContain("this token has 2 sessions in use");
    await begin("bob 1");
    for (const stream of streams) await stream.body!.cancel();
  });

  it("of all bearers do not end those of others", async () => {
    for (const bearer of ["a", "b", "c", "d"]) {
      await begin(`${bearer} 1`);
      await begin(`${bearer} 1`);
    }
    const refused = await send({ id: 1, method: "initialize", params: {} });
    expect(refused.status).toBe(503);
    expect(await refused.text()).toContain("the server has 8 sessions in use");
    expect(services.some(({ hasEnded }) => hasEnded)).toBe(false);
  });
});

it("closing ends all sessions, and begins none", async () => {
  const session = await begin();
  await mcp.close();
  expect(services[0]!.hasEnded).toBe(true);
  expect(await status(ping, { session })).toBe(404);
  expect(await status({ id: 1, method: "initialize", params: {} })).toBe(503);
});

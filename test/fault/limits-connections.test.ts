import { createHash } from "node:crypto";
import { once } from "node:events";
import { expect, it } from "vitest";
import { WebSocket } from "ws";
import { openWebSocketPeer, type RawPeer } from "../conformance/raw-peer.ts";
import { pollUntil, withDeadline } from "./deadline.ts";
import { expectLimit, limitedCli, limitedServer, start, untilAllowed } from "./limited-server.ts";

const DEADLINE_MS = 60_000;

/** The HTTP answer to an upgrade that is refused. */
async function refusalOf(url: string, headers = {}): Promise<{ status: number | undefined; body: string }> {
  const socket = new WebSocket(url, { headers });
  const [, response] = await withDeadline(
    once(socket, "unexpected-response"),
    DEADLINE_MS,
    () => "a refusal",
  );
  let body = "";
  for await (const chunk of response.setEncoding("utf8")) body += chunk;
  return { status: response.statusCode, body };
}

it("a WebSocket beyond maxConnections is refused with 503, until one of the others leaves", async () => {
  await using server = await limitedCli(["--max-connections", "2"]);
  const [first, second] = [await server.session(), await server.session()];
  expect(await refusalOf(server.url)).toEqual({
    status: 503,
    body: "the server has too many connections (maxConnections is 2)",
  });
  for (const peer of [first, second])
    expect(await peer.request("environment/status")).toEqual({ status: "ready" });
  first.close();
  await first.closed;
  const third = await pollUntil(
    () => openWebSocketPeer(server.url).catch((): false => false),
    DEADLINE_MS,
    () => "a place",
  );
  await third.handshake();
  expect(await refusalOf(server.url)).toMatchObject({ status: 503 });
  third.drop();
});

it("a client without a token learns that, not that the server is full", async () => {
  const token = "a token of some length";
  const sha256 = createHash("sha256").update(token).digest("hex");
  const auth = ["--ws-auth", "capability-token", "--ws-token-sha256", sha256];
  await using server = await limitedCli(["--max-connections", "1", ...auth]);
  const headers = { authorization: `Bearer ${token}` };
  const first = new WebSocket(server.url, { headers });
  await withDeadline(once(first, "open"), DEADLINE_MS, () => "the first connection");
  expect(await refusalOf(server.url)).toMatchObject({ status: 401 });
  expect(await refusalOf(server.url, headers)).toMatchObject({ status: 503 });
  first.terminate();
});

it("connections that were refused or are gone take no place", async () => {
  await using server = await limitedCli(["--max-connections", "1"]);
  for (let round = 0; round < 20; round += 1) {
    const peer: RawPeer = await pollUntil(
      () => openWebSocketPeer(server.url).catch((): false => false),
      DEADLINE_MS,
      () => `a place in round ${round}`,
    );
    expect(await refusalOf(server.url)).toMatchObject({ status: 503 });
    peer.drop();
    await peer.closed;
  }
});

it("a transport beyond maxConnections is cut", async () => {
  await using server = limitedServer({ maxConnections: 1 });
  const first = await server.session();
  const second = await server.connect();
  await withDeadline(second.closed, DEADLINE_MS, () => "the end of the second");
  expect(await first.request("environment/status")).toEqual({ status: "ready" });
});

it("initialize beyond maxSessions is refused, until a session has ended", async () => {
  await using server = await limitedCli(["--max-sessions", "2", "--detached-session-ttl-ms", "100"]);
  const [first, second, third] = [await server.session(), await server.connect(), await server.connect()];
  const { sessionId } = await second.handshake();
  const initialize = () => third.request("initialize", { clientName: "third" });
  await expectLimit(initialize(), "maxSessions", 2);
  await expectLimit(initialize(), "maxSessions", 2);
  expect(await first.request("environment/status")).toEqual({ status: "ready" });
  second.close();
  await second.closed;
  expect((await untilAllowed(initialize)).sessionId).not.toBe(sessionId);
  third.notify("initialized");
  await third.request("process/start", start("p", "exit 0"));
  await third.nextNotification("process/closed", "p");
});

it("a session is resumed though there are maxSessions of them", async () => {
  await using server = limitedServer({ maxSessions: 1 });
  const first = await server.connect();
  const { sessionId } = await first.handshake();
  first.close();
  await first.closed;
  const stranger = await server.connect();
  await expectLimit(stranger.request("initialize", { clientName: "x" }), "maxSessions", 1);
  const second = await server.connect();
  expect((await second.handshake({ resumeSessionId: sessionId })).sessionId).toBe(sessionId);
});

it("a session that nobody resumes ends after detachedSessionTtlMs, with its processes", async () => {
  await using server = limitedServer({ detachedSessionTtlMs: 50, maxProcesses: 1 });
  const first = await server.connect();
  const { sessionId } = await first.handshake();
  await first.request("process/start", start("p", "exec sleep 600"));
  first.close();
  const second = await server.session();
  await untilAllowed(() => second.request("process/start", start("q", "exec sleep 600")));
  const third = await server.connect();
  await expect(third.handshake({ resumeSessionId: sessionId })).rejects.toThrow(/^unknown session id/);
});

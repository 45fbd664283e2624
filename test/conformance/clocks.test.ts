import { once } from "node:events";
import { expect } from "vitest";
import { pollUntil } from "../fault/deadline.ts";
import { isAlive, resume } from "./session-peers.ts";
import { expectError, fromBase64, start, type VerifyContext, verifies } from "./verifies.ts";

// These tests wait for clocks of the server that no option shortens: they wait together.
const KEEPALIVE_MS = 30_000;

async function startSleeper({ connect }: VerifyContext) {
  const peer = await connect();
  const { sessionId } = (await peer.handshake()) as { sessionId: string };
  await peer.request("process/start", start("p", ["sh", "-c", "echo $$; exec sleep 300"]));
  const { params } = await peer.nextNotification("process/output", "p");
  return { peer, sessionId, pid: Number(fromBase64(params.chunk)) };
}

const isLostAfter = (detachedMs: number) => async (context: VerifyContext) => {
  const lost = await startSleeper(context);
  const kept = await startSleeper(context);
  const began = Date.now();
  lost.peer.drop();
  kept.peer.drop();
  const next = await context.connect();
  await resume(next, kept.sessionId);
  next.notify("initialized");

  await pollUntil(
    () => !isAlive(lost.pid),
    detachedMs + 20_000,
    () => "the end of the session",
  );
  expect(Date.now() - began).toBeGreaterThan(detachedMs - 500);
  const late = await context.connect();
  const params = { clientName: "conformance", resumeSessionId: lost.sessionId };
  await expectError(late.request("initialize", params), -32600, `unknown session id ${lost.sessionId}`);
  expect(isAlive(kept.pid)).toBe(true);
  expect((await next.request("process/read", { processId: "p", afterSeq: 1 })).exited).toBe(false);
};

verifies("session.detached:expiry", isLostAfter(80_000), { concurrent: true, timeoutMs: 120_000 });
verifies("session.detached:expiry-0.166", isLostAfter(30_000), { concurrent: true, timeoutMs: 70_000 });

verifies(
  "ws:keepalive",
  async ({ connect }) => {
    const began = Date.now();
    const { webSocket } = await connect();
    if (webSocket === undefined) throw new TypeError("not a websocket peer");
    const ping = once(webSocket, "ping", { signal: AbortSignal.timeout(KEEPALIVE_MS + 20_000) });
    expect(String((await ping)[0])).toBe("");
    expect(Date.now() - began).toBeGreaterThan(KEEPALIVE_MS - 1000);
  },
  { concurrent: true, timeoutMs: KEEPALIVE_MS + 40_000 },
);

import { createHash } from "node:crypto";
import { expect, it } from "vitest";
import { serve } from "../../src/server/index.ts";
import { pollUntil, withDeadline } from "./deadline.ts";
import { limitedCli, start } from "./limited-server.ts";
import { RawSocket } from "./raw-websocket.ts";

const DEADLINE_MS = 60_000;
const TOKEN = "a token that nobody guesses";
const TOKEN_FLAGS = [
  "--ws-auth",
  "capability-token",
  "--ws-token-sha256",
  createHash("sha256").update(TOKEN).digest("hex"),
];

const get = (url: string, path: string, headers: Record<string, string> = {}): Promise<Response> =>
  fetch(new URL(path, url.replace("ws:", "http:")), { headers });

it("/metrics counts what clients did", async () => {
  await using server = await limitedCli(["--metrics"]);
  const peer = await server.session();
  await peer.request("process/start", start("p", "echo hello; exit 3"));
  await peer.nextNotification("process/closed", "p");
  const answer = await get(server.url, "/metrics");
  expect(answer.headers.get("content-type")).toMatch(/^application\/openmetrics-text/);
  const lines = (await answer.text()).split("\n");
  for (const line of [
    "exec_server_connections 1",
    "exec_server_sessions 1",
    'exec_server_processes_started_total{sandbox="no"} 1',
    'exec_server_processes_ended_total{end="nonzero"} 1',
    "exec_server_process_output_bytes_total 6",
    'exec_server_request_duration_seconds_count{method="process/start"} 1',
    'exec_server_limit{limit="max_connections"} 16384',
  ])
    expect(lines).toContain(line);
  expect((await get(server.url, "/metrics", { origin: "https://example.com" })).status).toBe(403);
});

it("/metrics needs a token where connections do, and is not there unless it was asked for", async () => {
  await using closed = await limitedCli(["--metrics", ...TOKEN_FLAGS]);
  expect((await get(closed.url, "/metrics")).status).toBe(401);
  expect((await get(closed.url, "/metrics", { authorization: "Bearer wrong" })).status).toBe(401);
  const allowed = await get(closed.url, "/metrics", { authorization: `Bearer ${TOKEN}` });
  expect(await allowed.text()).toContain('exec_server_connections_refused_total{cause="login"} 2\n');
  for (const probe of ["/healthz", "/readyz"]) expect((await get(closed.url, probe)).status).toBe(200);
  await using without = await limitedCli([]);
  expect((await get(without.url, "/metrics")).status).toBe(404);
});

it("/metrics is for clients without authentication only if their preset may read it", async () => {
  for (const [local, status] of [
    [{ preset: "files", roots: ["/srv"] }, 403],
    [{ preset: "observe" }, 200],
  ] as const) {
    await using server = await serve({ metrics: true, local });
    expect((await get(server.url, "/metrics")).status).toBe(status);
  }
});

it("requests for another host and from another origin are counted, those for no page are not", async () => {
  await using server = await serve({ metrics: true });
  const foreign = { origin: "https://example.com" };
  for (const path of ["/metrics", "/healthz"])
    expect((await get(server.url, path, foreign)).status).toBe(403);
  expect((await get(server.url, "/nothing")).status).toBe(404);
  const stray = await RawSocket.open(Number(new URL(server.url).port));
  stray.write("GET /healthz HTTP/1.1\r\nHost: evil.example\r\n\r\n");
  expect(await stray.httpHead()).toMatch(/ 421 /);
  stray.cut();
  const text = await (await get(server.url, "/metrics")).text();
  expect(text.match(/^exec_server_connections_refused_total.*/gm)).toEqual([
    'exec_server_connections_refused_total{cause="origin"} 2',
    'exec_server_connections_refused_total{cause="host"} 1',
  ]);
});

it("after SIGTERM a server admits no clients, says so, and lets processes run to their end", async () => {
  await using server = await limitedCli(["--drain-timeout-ms", `${DEADLINE_MS}`]);
  const peer = await server.session();
  await peer.request("process/start", start("p", "read line; echo got $line", { pipeStdin: true }));
  process.kill(server.pid, "SIGTERM");
  await pollUntil(
    async () => (await get(server.url, "/readyz")).status === 503,
    DEADLINE_MS,
    () => "a server that is not ready",
  );
  expect((await get(server.url, "/healthz")).status).toBe(200);
  await expect(server.session()).rejects.toThrow("503");
  await peer.request("process/write", {
    processId: "p",
    chunk: Buffer.from("it\n").toString("base64"),
    writeId: "1",
  });
  const { params } = await peer.nextNotification("process/output", "p");
  expect(Buffer.from(params.chunk, "base64").toString()).toBe("got it\n");
  expect(await withDeadline(server.exited, DEADLINE_MS, () => "the end of the server")).toEqual({
    code: 0,
    signal: null,
  });
});

it("processes that take longer are ended, and a second signal does not wait", async () => {
  for (const [drainMs, signals] of [
    [200, ["SIGTERM"]],
    [600_000, ["SIGTERM", "SIGTERM"]],
    [600_000, ["SIGINT"]],
  ] as const) {
    await using server = await limitedCli(["--drain-timeout-ms", `${drainMs}`]);
    const peer = await server.session();
    await peer.request("process/start", start("p", "sleep 600"));
    for (const signal of signals) {
      process.kill(server.pid, signal);
      if (signals.length === 1) continue;
      // Two signals that come at once would be one.
      await pollUntil(
        async () => (await get(server.url, "/readyz").catch(() => undefined))?.status !== 200,
        DEADLINE_MS,
        () => "a server that is not ready",
      );
    }
    const exit = await withDeadline(server.exited, DEADLINE_MS, () => `the end after ${signals.join(", ")}`);
    expect(exit).toEqual({ code: 0, signal: null });
  }
});

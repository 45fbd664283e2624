import { createHash } from "node:crypto";
import { readFileSync, statSync } from "node:fs";
import { createServer as createHttpServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, it, vi } from "vitest";
import { WebSocket } from "ws";
import { AuditScene, base64, eventually, linkTo, starting } from "../../../test/fixtures/audit-scene.ts";
import { linesOf } from "../../../test/fixtures/audit-lines.ts";
import { serve } from "../serve/serve.ts";
import { formatHead } from "./chain.ts";

const scene = new AuditScene();

it("a log says who connected, started, wrote and read, and ends with a head that is printed", async () => {
  const link = await scene.linked();
  await link.request(
    "process/start",
    starting("p", ["/bin/cat"], { pipeStdin: true, env: { KEY: "s3cret", B: "" } }),
  );
  for (const text of ["one", "two", "three"])
    await link.request("process/write", { processId: "p", chunk: base64(text), writeId: text });
  await link.request("process/terminate", { processId: "p" });
  await eventually(() =>
    link
      .request("process/read", { processId: "p" })
      .then((read) => expect(read).toMatchObject({ closed: true })),
  );
  await link.request("fs/writeFile", { path: scene.uri("a"), dataBase64: base64("12345") });
  await link.request("fs/readFile", { path: scene.uri("a") });
  await link.request("fs/open", { handleId: "h", path: scene.uri("a") });
  for (const offset of [0, 2, 4]) await link.request("fs/readBlock", { handleId: "h", offset, len: 2 });
  await link.request("fs/close", { handleId: "h" });
  await expect(link.request("fs/remove", { path: scene.uri("missing"), force: false })).rejects.toThrow();
  await scene.server?.close();

  const lines = scene.lines();
  const who = { connection: 1, principal: expect.stringMatching(/^user:/) as string };
  const events = lines.map(({ event }) => event);
  expect(events.slice(0, 3)).toEqual(["opened", "connect", "session"]);
  expect(events.at(-1)).toBe("stopped");
  expect(lines[0]).toMatchObject({
    n: 1,
    prev: "0".repeat(64),
    continues: `0:${"0".repeat(64)}`,
    reason: "started",
  });
  expect(lines[1]).toMatchObject({ ...who, from: "local" });
  expect(lines[2]).toMatchObject({
    ...who,
    client: "tester",
    session: expect.stringMatching(/^[0-9a-f]{12}$/),
  });
  const all = (event: string) => lines.filter((line) => line.event === event);
  const pid = all("start")[0]?.["pid"];
  expect(all("start")).toMatchObject([
    {
      ...who,
      process: "p",
      pid: expect.any(Number) as number,
      sandbox: false,
      argv: ["/bin/cat"],
      cwd: "file:///",
      env: ["KEY", "B"],
    },
  ]);
  expect(all("input")).toMatchObject([
    { ...who, process: "p", requests: 1, bytes: 3 },
    { ...who, process: "p", requests: 2, bytes: 8 },
  ]);
  expect(all("terminate")).toMatchObject([{ ...who, process: "p" }]);
  expect(all("ended")).toMatchObject([
    { ...who, process: "p", pid, signal: "SIGKILL", outputBytes: expect.any(Number) },
  ]);
  expect(all("writeFile")).toMatchObject([{ ...who, path: scene.uri("a"), bytes: 5 }]);
  expect(all("readFile")).toMatchObject([{ ...who, path: scene.uri("a"), bytes: 5 }]);
  expect(all("readBlocks")).toMatchObject([
    { handle: "h", requests: 1, bytes: 2 },
    { handle: "h", requests: 2, bytes: 3 },
  ]);
  const remove = all("remove")[0];
  expect(remove).toMatchObject({ ...who, path: scene.uri("missing") });
  expect(all("failed")).toMatchObject([
    { ...who, request: remove?.["request"], method: "fs/remove", code: "NOT_FOUND" },
  ]);

  const { fault, head } = await scene.verdict();
  expect(fault).toBeUndefined();
  expect(scene.heads.at(-1)).toBe(formatHead(head!));
  expect(statSync(scene.file).mode & 0o777).toBe(0o600);
});

it("no secret is in the log: no token, value of a variable, credential of a URL, header, body or input", async () => {
  const upstream = createHttpServer((_, response) => response.end("s3cret-answer")).listen(0, "127.0.0.1");
  await eventually(() => expect(upstream.listening).toBe(true));
  const { port } = upstream.address() as AddressInfo;
  const token = "s3cret-token-of-the-server";
  const tokenSha256 = createHash("sha256").update(token).digest();
  const listening = await serve({
    logger: scene.logger,
    audit: { file: scene.file },
    authentication: { mode: "capability-token", tokenSha256 },
  });
  scene.server = listening;
  for (const authorization of ["Bearer s3cret-wrong", "Basic s3cret-wrong"]) {
    const refused = new WebSocket(listening.url, { headers: { authorization } });
    await new Promise((resolve) => refused.once("error", resolve));
  }
  const socket = new WebSocket(listening.url, { headers: { authorization: `Bearer ${token}` } });
  let next = 0;
  const ask = (method: string, params: object): Promise<unknown> =>
    new Promise((resolve) => {
      next += 1;
      const id = next;
      socket.on("message", (data: Buffer) => {
        const message = JSON.parse(data.toString()) as { id?: number };
        if (message.id === id) resolve(message);
      });
      socket.send(JSON.stringify({ id, method, params }));
    });
  await new Promise((resolve) => socket.once("open", resolve));
  await ask("initialize", { clientName: "tester" });
  socket.send(JSON.stringify({ method: "initialized", params: {} }));
  await ask(
    "process/start",
    starting(
      "p",
      ["/bin/sh", "-c", "exec cat", "x", "--password=s3cret-argument", "--token", "s3cret-next"],
      {
        pipeStdin: true,
        env: { API_TOKEN: "s3cret-value", PATH: "s3cret-path" },
      },
    ),
  );
  await ask("process/write", { processId: "p", chunk: base64("s3cret-input"), writeId: "1" });
  await ask("http/request", {
    method: "POST",
    url: `http://user:s3cret-password@127.0.0.1:${port}/path?key=s3cret-query#s3cret-fragment`,
    requestId: "r",
    headers: [{ name: "Authorization", value: "Bearer s3cret-header" }],
    bodyBase64: base64("s3cret-body"),
  });
  await ask("fs/writeFile", { path: scene.uri("a"), dataBase64: base64("s3cret-content") });
  await ask("fs/readFile", { path: scene.uri("a") });
  await ask("process/attach", { sessionId: "s3cret-session", processId: "q" });
  socket.terminate();
  await listening.close();
  upstream.close();
  const text = readFileSync(scene.file, "utf8");
  expect(text).not.toContain("s3cret");
  for (const secret of ["s3cret-input", "s3cret-body", "s3cret-content"])
    expect(text).not.toContain(base64(secret).slice(0, 12));
  const lines = scene.lines();
  expect(lines.filter(({ event }) => event === "refused")).toMatchObject([
    { cause: "login" },
    { cause: "login" },
  ]);
  expect(lines.find(({ event }) => event === "http")).toMatchObject({
    method: "POST",
    url: `http://127.0.0.1:${port}/path?key=***`,
    headers: ["authorization"],
    bytes: 11,
  });
  expect(lines.find(({ event }) => event === "start")).toMatchObject({ env: ["API_TOKEN", "PATH"] });
  expect(lines.find(({ event }) => event === "connect")).toMatchObject({
    principal: "token",
    from: expect.stringMatching(/^127/),
  });
});

it("each start has its line with the pid, whichever dialect started it, and each failure one without", async () => {
  const link = await scene.linked();
  await Promise.all(
    ["a", "b", "c"].map((id) => link.request("process/start", starting(id, ["/bin/echo", id]))),
  );
  await link.request("command/exec", {
    argv: ["/bin/echo", "v0"],
    cwd: "file:///",
    env: { X: "" },
    tty: false,
  });
  await expect(link.request("process/start", starting("a", ["/bin/echo", "again"]))).rejects.toThrow();
  await eventually(() => expect(scene.lines().filter(({ event }) => event === "ended")).toHaveLength(4));
  await scene.server?.close();
  const lines = scene.lines();
  const starts = lines
    .filter(({ event }) => event === "start")
    .toSorted((one, other) => String(one["process"]).localeCompare(String(other["process"])));
  expect(starts.map(({ process, argv }) => [process, argv])).toEqual([
    ["a", ["/bin/echo", "a"]],
    ["b", ["/bin/echo", "b"]],
    ["c", ["/bin/echo", "c"]],
    ["session-1", ["/bin/echo", "v0"]],
  ]);
  expect(starts[3]).toMatchObject({ env: ["X"], cwd: "file:///" });
  expect(new Set(starts.map(({ pid }) => pid)).size).toBe(4);
  expect(lines.filter(({ event }) => event === "failed")).toMatchObject([{ method: "process/start" }]);
});

it("the line of a read has the number of bytes, however many they are", async () => {
  const link = await scene.linked();
  const lengths = [0, 1, 33, 34, 40, 45, 46, 100, 20_000, 3_000_000];
  for (const length of lengths) {
    await link.request("fs/writeFile", { path: scene.uri("a"), dataBase64: base64("x".repeat(length)) });
    await link.request("fs/readFile", { path: scene.uri("a") });
  }
  await scene.server?.close();
  for (const event of ["writeFile", "readFile"])
    expect(scene.lines().flatMap((line) => (line.event === event ? [line["bytes"]] : []))).toEqual(lengths);
});

it("names of any kind and length become one line each", async () => {
  const link = await scene.linked();
  const odd = "a\nb\u0000\u001b]0;x\u0007\u{1f600}\u2028é";
  await expect(
    link.request(
      "process/start",
      starting(odd, ["/no/such", odd, "y".repeat(5_000_000)], { env: { [odd]: "v" } }),
    ),
  ).rejects.toThrow();
  await link.request("tcp/close", { tcpId: odd.slice(0, 5) });
  await scene.server?.close();
  const text = readFileSync(scene.file, "utf8");
  expect(text).not.toMatch(/[^\P{Cc}\n]/u);
  expect(text.length).toBeLessThan(100_000);
  expect(scene.lines().find(({ event }) => event === "failed")).toMatchObject({
    process: odd,
    method: "process/start",
    code: "SPAWN_FAILED",
  });
  expect((await scene.verdict()).fault).toBeUndefined();
});

it("a clock that goes backwards does not matter", async () => {
  vi.useFakeTimers({ toFake: ["Date"], now: new Date("2026-01-02") });
  try {
    const link = await scene.linked();
    await link.request("fs/writeFile", { path: scene.uri("a"), dataBase64: "" });
    vi.setSystemTime(new Date("2001-01-01"));
    await link.request("fs/writeFile", { path: scene.uri("a"), dataBase64: "" });
    await scene.server?.close();
  } finally {
    vi.useRealTimers();
  }
  expect((await scene.verdict()).fault).toBeUndefined();
  expect(
    scene
      .lines()
      .filter(({ event }) => event === "writeFile")
      .map(({ time }) => time),
  ).toEqual(["2026-01-02T00:00:00.000Z", "2001-01-01T00:00:00.000Z"]);
});

it("a thousand connections at once are all recorded", async () => {
  await scene.linked({ limits: { maxConnections: 2_000, maxSessions: 2_000 } });
  const links = await Promise.all(Array.from({ length: 1_000 }, () => linkTo(scene.server!)));
  for (const link of links) link.close();
  await eventually(() =>
    expect(scene.lines().filter(({ event }) => event === "disconnect")).toHaveLength(1_000),
  );
  await scene.server?.close();
  const lines = scene.lines();
  const numbers = lines.filter(({ event }) => event === "connect").map(({ connection }) => connection);
  expect(new Set(numbers).size).toBe(1_001);
  expect((await scene.verdict()).fault).toBeUndefined();
});

it("strangers who are refused do not fill the log", async () => {
  const listening = await serve({ audit: { file: scene.file }, logger: scene.logger });
  scene.server = listening;
  const attempts = Array.from({ length: 100 }, async () => {
    const socket = new WebSocket(listening.url, { origin: "https://evil.example" });
    await new Promise((resolve) => socket.once("error", resolve));
  });
  await Promise.all(attempts);
  await listening.close();
  const refused = scene.lines().filter(({ event }) => event === "refused");
  expect(refused).toHaveLength(61);
  expect(refused[0]).toMatchObject({ cause: "origin", from: expect.stringMatching(/^127\.0\.0\.1:/) });
  expect(refused.at(-1)).toMatchObject({ more: 40 });
});

it("the head is in the log of the server and in its metrics as soon as the server has begun", async () => {
  await using listening = await serve({ logger: scene.logger, audit: { file: scene.file }, metrics: true });
  await eventually(() => expect(scene.heads).toHaveLength(1));
  const [opened] = linesOf(scene.file);
  expect(scene.heads).toEqual([`1:${opened?.["hash"] as string}`]);
  const metrics = await fetch(new URL("/metrics", listening.url.replace("ws:", "http:")));
  const lines = (await metrics.text()).split("\n");
  expect(lines).toContain(`exec_server_audit_head{hash="${opened?.["hash"] as string}"} 1`);
  expect(lines).toContain("exec_server_audit_lines_lost_total 0");
});

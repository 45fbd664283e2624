import { createHash } from "node:crypto";
import { execFileSync } from "node:child_process";
import {
  appendFileSync,
  linkSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { createServer as createHttpServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { WebSocket } from "ws";
import { type LogFields, silentLogger } from "../../base/logger.ts";
import type { Link } from "../../rpc/link.ts";
import { serve } from "../serve.ts";
import { createServer, type Server } from "../server.ts";
import type { ServerOptions } from "../server-options.ts";
import { AuditLog } from "./audit-log.ts";
import { formatHead } from "./chain.ts";
import { rotatedNumbers } from "./rotated-files.ts";
import { verifyAudit, type AuditPart, type AuditVerdict, type KnownHead } from "./verify.ts";

const DEADLINE_MS = 20_000;
vi.setConfig({ testTimeout: 2 * DEADLINE_MS });

const eventually = <T>(reached: () => T | Promise<T>): Promise<T> =>
  vi.waitFor(reached, { timeout: DEADLINE_MS });

let directory: string;
let file: string;
let server: Server | undefined;
let heads: string[];
let warnings: string[];

const logger = {
  ...silentLogger,
  warn: (message: string) => {
    warnings.push(message);
  },
  info: (_: string, fields?: LogFields) => {
    if (typeof fields?.["head"] === "string") heads.push(fields["head"]);
  },
};

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "exec-server-audit-"));
  file = join(directory, "audit.jsonl");
  heads = [];
  warnings = [];
  server = undefined;
});

afterEach(async () => {
  await server?.close();
  rmSync(directory, { recursive: true, force: true });
});

async function linked(options: Partial<ServerOptions> = {}): Promise<Link> {
  server = createServer({ logger, audit: { file }, ...options });
  return await linkTo(server);
}

async function linkTo(to: Server): Promise<Link> {
  const link = to.link({ notification: () => {}, closed: () => {} });
  await link.request("initialize", { clientName: "tester" });
  link.notify("initialized", {});
  return link;
}

interface Line extends Readonly<Record<string, unknown>> {
  readonly event: string;
}

const linesOf = (path: string): Line[] =>
  readFileSync(path, "utf8")
    .split("\n")
    .filter((text) => text !== "")
    .map((text) => JSON.parse(text) as Line);

/** Every line of the log, in order. */
const allLines = (): Line[] =>
  [...rotatedNumbers(file).map((number) => `${file}.${number}`), file].flatMap(linesOf);

async function verdict(known?: KnownHead): Promise<AuditVerdict> {
  const parts = async function* (): AsyncGenerator<AuditPart> {
    for (const name of [...rotatedNumbers(file).map((number) => `${file}.${number}`), file]) {
      const bytes = readFileSync(name);
      yield {
        name,
        content: (async function* () {
          yield bytes;
        })(),
      };
    }
  };
  return await verifyAudit(parts(), known);
}

const started = (processId: string, argv: readonly string[], more: object = {}) => ({
  processId,
  argv,
  cwd: "file:///",
  env: {},
  tty: false,
  ...more,
});

const uri = (name: string): string => `file://${directory}/${name}`;
const base64 = (text: string): string => Buffer.from(text).toString("base64");

it("a log says who connected, started, wrote and read, and ends with a head that is printed", async () => {
  const link = await linked();
  await link.request(
    "process/start",
    started("p", ["/bin/cat"], { pipeStdin: true, env: { KEY: "s3cret", B: "" } }),
  );
  for (const text of ["one", "two", "three"])
    await link.request("process/write", { processId: "p", chunk: base64(text), writeId: text });
  await link.request("process/terminate", { processId: "p" });
  await eventually(() =>
    link
      .request("process/read", { processId: "p" })
      .then((read) => expect(read).toMatchObject({ closed: true })),
  );
  await link.request("fs/writeFile", { path: uri("a"), dataBase64: base64("12345") });
  await link.request("fs/readFile", { path: uri("a") });
  await link.request("fs/open", { handleId: "h", path: uri("a") });
  for (const offset of [0, 2, 4]) await link.request("fs/readBlock", { handleId: "h", offset, len: 2 });
  await link.request("fs/close", { handleId: "h" });
  await expect(link.request("fs/remove", { path: uri("missing"), force: false })).rejects.toThrow();
  await server?.close();

  const lines = allLines();
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
  expect(all("writeFile")).toMatchObject([{ ...who, path: uri("a"), bytes: 5 }]);
  expect(all("readFile")).toMatchObject([{ ...who, path: uri("a"), bytes: 5 }]);
  expect(all("readBlocks")).toMatchObject([
    { handle: "h", requests: 1, bytes: 2 },
    { handle: "h", requests: 2, bytes: 3 },
  ]);
  const remove = all("remove")[0];
  expect(remove).toMatchObject({ ...who, path: uri("missing") });
  expect(all("failed")).toMatchObject([
    { ...who, request: remove?.["request"], method: "fs/remove", code: "NOT_FOUND" },
  ]);

  const { fault, head } = await verdict();
  expect(fault).toBeUndefined();
  expect(heads.at(-1)).toBe(formatHead(head!));
  expect(statSync(file).mode & 0o777).toBe(0o600);
});

it("no secret is in the log: no token, value of a variable, credential of a URL, header, body or input", async () => {
  const upstream = createHttpServer((_, response) => response.end("s3cret-answer")).listen(0, "127.0.0.1");
  await eventually(() => expect(upstream.listening).toBe(true));
  const { port } = upstream.address() as AddressInfo;
  const token = "s3cret-token-of-the-server";
  const tokenSha256 = createHash("sha256").update(token).digest();
  const listening = await serve({
    logger,
    audit: { file },
    authentication: { mode: "capability-token", tokenSha256 },
  });
  server = listening;
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
    started("p", ["/bin/sh", "-c", "exec cat", "x", "--password=s3cret-argument", "--token", "s3cret-next"], {
      pipeStdin: true,
      env: { API_TOKEN: "s3cret-value", PATH: "s3cret-path" },
    }),
  );
  await ask("process/write", { processId: "p", chunk: base64("s3cret-input"), writeId: "1" });
  await ask("http/request", {
    method: "POST",
    url: `http://user:s3cret-password@127.0.0.1:${port}/path?key=s3cret-query#s3cret-fragment`,
    requestId: "r",
    headers: [{ name: "Authorization", value: "Bearer s3cret-header" }],
    bodyBase64: base64("s3cret-body"),
  });
  await ask("fs/writeFile", { path: uri("a"), dataBase64: base64("s3cret-content") });
  await ask("fs/readFile", { path: uri("a") });
  await ask("process/attach", { sessionId: "s3cret-session", processId: "q" });
  socket.terminate();
  await listening.close();
  upstream.close();
  const text = readFileSync(file, "utf8");
  expect(text).not.toContain("s3cret");
  for (const secret of ["s3cret-input", "s3cret-body", "s3cret-content"])
    expect(text).not.toContain(base64(secret).slice(0, 12));
  const lines = allLines();
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
  const link = await linked();
  await Promise.all(
    ["a", "b", "c"].map((id) => link.request("process/start", started(id, ["/bin/echo", id]))),
  );
  await link.request("command/exec", {
    argv: ["/bin/echo", "v0"],
    cwd: "file:///",
    env: { X: "" },
    tty: false,
  });
  await expect(link.request("process/start", started("a", ["/bin/echo", "again"]))).rejects.toThrow();
  await eventually(() => expect(allLines().filter(({ event }) => event === "ended")).toHaveLength(4));
  await server?.close();
  const lines = allLines();
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

it("a restarted server continues the chain, in a full file's successor too", async () => {
  for (let run = 0; run < 3; run += 1) {
    const link = await linked({ audit: { file, maxBytes: 4_096 } });
    for (let index = 0; index < 20; index += 1)
      await link.request("fs/writeFile", { path: uri("a"), dataBase64: base64("x".repeat(index)) });
    await server?.close();
  }
  const { fault, first, lines, head } = await verdict();
  expect(fault).toBeUndefined();
  expect(first).toBe(1);
  expect(rotatedNumbers(file).length).toBeGreaterThan(2);
  expect(lines).toBe(head?.line);
  for (const number of rotatedNumbers(file)) {
    const [opened] = linesOf(`${file}.${number}`);
    expect(opened?.event).toBe("opened");
    expect(opened?.["continues"]).toBe(`${(opened?.["n"] as number) - 1}:${opened?.["prev"] as string}`);
    expect(statSync(`${file}.${number}`).size).toBeLessThan(6_000);
  }
  expect(allLines().filter(({ event, reason }) => event === "opened" && reason === "started")).toHaveLength(
    3,
  );
});

it("a last line that a crash has torn is removed and recorded", async () => {
  await linked();
  await server?.close();
  const before = (await verdict()).head;
  appendFileSync(file, '{"n":99,"prev":"half a li');
  await linked();
  await server?.close();
  expect((await verdict(before)).fault).toBeUndefined();
  expect(allLines().find(({ torn }) => torn !== undefined)).toMatchObject({
    event: "opened",
    continues: formatHead(before!),
    torn: { bytes: 25, text: '{"n":99,"prev":"half a li' },
  });
});

it("a file that is no log, ends with a changed line, is a link, a FIFO or in use is refused with one line", async () => {
  const open = (path: string): Server => createServer({ audit: { file: path } });
  await linked();
  const isUsed = (path: string): string =>
    `another server writes the audit log ${path}: give each its own file`;
  expect(() => open(file)).toThrow(isUsed(file));
  const [lock, otherName] = [`${file}.lock`, join(directory, "other name")];
  rmSync(lock);
  expect(() => open(file)).toThrow(isUsed(file));
  linkSync(file, otherName);
  expect(() => open(otherName)).toThrow(isUsed(otherName));
  await server?.close();
  writeFileSync(file, readFileSync(file, "utf8").replace("stopped", "changed"));
  expect(() => open(file)).toThrow(/last line of the audit log .* does not fit: .*audit verify/);
  writeFileSync(file, "a text\n");
  expect(() => open(file)).toThrow("does not fit");
  writeFileSync(file, "x".repeat(3_000_000));
  expect(() => open(file)).toThrow(`${file} is no audit log: move it away`);
  expect(readFileSync(file, "utf8")).toHaveLength(3_000_000);
  const link = join(directory, "link");
  symlinkSync(file, link);
  expect(() => open(link)).toThrow(
    `cannot write the audit log ${link}: it is a symbolic link, which is not followed`,
  );
  const fifo = join(directory, "fifo");
  execFileSync("mkfifo", [fifo]);
  expect(() => open(fifo)).toThrow(`the audit log ${fifo} is not a regular file`);
  expect(() => open(directory)).toThrow("Is a directory");
  expect(() => open(join(directory, "no/such/file"))).toThrow("No such file or directory");
});

it("a file that is moved away is followed by a new one, which continues it", async () => {
  const link = await linked();
  const write = (): Promise<unknown> => link.request("fs/writeFile", { path: uri("a"), dataBase64: "" });
  await write();
  await eventually(() => expect(allLines().at(-1)?.event).toBe("writeFile"));
  renameSync(file, `${file}.1`);
  await write();
  await eventually(() => expect(allLines().at(-1)?.event).toBe("writeFile"));
  await server?.close();
  expect(linesOf(file)[0]).toMatchObject({ event: "opened", reason: "gone" });
  expect(warnings).toEqual(["the audit log was moved away or deleted by somebody else"]);
  expect((await verdict()).fault).toBeUndefined();
});

it.each([
  ["emptied", () => truncateSync(file, 0)],
  ["cut", () => truncateSync(file, statSync(file).size - 10)],
  ["written", () => appendFileSync(file, "a line\n")],
])(
  "a file that somebody else has %s is put aside, and the next one continues the chain",
  async (_, change) => {
    const link = await linked();
    const write = (): Promise<unknown> => link.request("fs/writeFile", { path: uri("a"), dataBase64: "" });
    await write();
    await eventually(() => expect(allLines().at(-1)?.event).toBe("writeFile"));
    const { hash } = linesOf(file).at(-1)!;
    change();
    const changed = readFileSync(file, "utf8");
    await write();
    await eventually(() => expect(readFileSync(`${file}.1`, "utf8")).toBe(changed));
    await server?.close();
    expect(linesOf(file)[0]).toMatchObject({ event: "opened", reason: "changed", prev: hash });
    expect(warnings).toEqual(["the audit log was cut or written by somebody else"]);
  },
);

it("a full file takes no name that is in use, and its new name is told", () => {
  const log = new AuditLog({ file, maxBytes: 4_096, logger, version: undefined });
  const names: string[] = [];
  log.rotated = (path) => names.push(path);
  writeFileSync(`${file}.1`, "foreign");
  log.add("event", { text: "x".repeat(4_096) });
  return eventually(() => {
    log.add("event", {});
    expect(names).toEqual([`${file}.2`]);
  }).then(() => log.close());
});

it("names of any kind and length become one line each", async () => {
  const link = await linked();
  const odd = "a\nb\u0000\u001b]0;x\u0007\ud800\u2028é";
  await expect(
    link.request(
      "process/start",
      started(odd, ["/no/such", odd, "y".repeat(5_000_000)], { env: { [odd]: "v" } }),
    ),
  ).rejects.toThrow();
  await link.request("tcp/close", { tcpId: odd.slice(0, 5) });
  await server?.close();
  const text = readFileSync(file, "utf8");
  expect(text).not.toMatch(/[^\P{Cc}\n]/u);
  expect(text.length).toBeLessThan(100_000);
  expect(allLines().find(({ event }) => event === "failed")).toMatchObject({
    process: odd,
    method: "process/start",
    code: "SPAWN_FAILED",
  });
  expect((await verdict()).fault).toBeUndefined();
});

it("a clock that goes backwards does not matter", async () => {
  vi.useFakeTimers({ toFake: ["Date"], now: new Date("2026-01-02") });
  try {
    const link = await linked();
    await link.request("fs/writeFile", { path: uri("a"), dataBase64: "" });
    vi.setSystemTime(new Date("2001-01-01"));
    await link.request("fs/writeFile", { path: uri("a"), dataBase64: "" });
    await server?.close();
  } finally {
    vi.useRealTimers();
  }
  expect((await verdict()).fault).toBeUndefined();
  expect(
    allLines()
      .filter(({ event }) => event === "writeFile")
      .map(({ time }) => time),
  ).toEqual(["2026-01-02T00:00:00.000Z", "2001-01-01T00:00:00.000Z"]);
});

it("a thousand connections at once are all recorded", async () => {
  await linked({ limits: { maxConnections: 2_000, maxSessions: 2_000 } });
  const links = await Promise.all(Array.from({ length: 1_000 }, () => linkTo(server!)));
  for (const link of links) link.close();
  await eventually(() =>
    expect(allLines().filter(({ event }) => event === "disconnect")).toHaveLength(1_000),
  );
  await server?.close();
  const lines = allLines();
  const numbers = lines.filter(({ event }) => event === "connect").map(({ connection }) => connection);
  expect(new Set(numbers).size).toBe(1_001);
  expect((await verdict()).fault).toBeUndefined();
});

it("strangers who are refused do not fill the log", async () => {
  const listening = await serve({ audit: { file }, logger });
  server = listening;
  const attempts = Array.from({ length: 100 }, async () => {
    const socket = new WebSocket(listening.url, { origin: "https://evil.example" });
    await new Promise((resolve) => socket.once("error", resolve));
  });
  await Promise.all(attempts);
  await listening.close();
  const refused = allLines().filter(({ event }) => event === "refused");
  expect(refused).toHaveLength(61);
  expect(refused[0]).toMatchObject({ cause: "origin", from: expect.stringMatching(/^127\.0\.0\.1:/) });
  expect(refused.at(-1)).toMatchObject({ more: 40 });
});

it("the head is in the log of the server and in its metrics as soon as the server has begun", async () => {
  await using listening = await serve({ logger, audit: { file }, metrics: true });
  await eventually(() => expect(heads).toHaveLength(1));
  const [opened] = linesOf(file);
  expect(heads).toEqual([`1:${opened?.["hash"] as string}`]);
  const metrics = await fetch(new URL("/metrics", listening.url.replace("ws:", "http:")));
  const lines = (await metrics.text()).split("\n");
  expect(lines).toContain(`exec_server_audit_head{hash="${opened?.["hash"] as string}"} 1`);
  expect(lines).toContain("exec_server_audit_lines_lost_total 0");
});

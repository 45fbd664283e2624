import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import http from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { withDeadline } from "../fault/deadline.ts";
import { frame } from "../fault/raw-websocket.ts";
import type { SeededRandom } from "../fault/seeded-random.ts";
import { builtCli } from "../fault/server-under-test.ts";
import { AttackedServer } from "./attacked-server.ts";
import { framesOf, HostileConnection } from "./hostile-connection.ts";
import { hostileRounds, logUniform, randomOf, withSeed } from "./hostile-run.ts";

const MIB = 1024 * 1024;
const WEBSOCKET_ROUNDS = 150;
const STDIO_ROUNDS = 8;
const MAX_LINE_BYTES = 64 * MIB;
const DEADLINE_MS = 60_000;

const asked: string[] = [];
const upstream = http.createServer((request, response) => {
  asked.push(request.url ?? "");
  response.end();
});
let base = "";
/** Must stay empty: everything that is asked for behind a violation would leave something here. */
let traces = "";
/** Must stay as it is. */
let kept = "";

beforeAll(async () => {
  upstream.listen(0, "127.0.0.1");
  await once(upstream, "listening");
});

afterAll(() => {
  upstream.close();
  upstream.closeAllConnections();
});

beforeEach(() => {
  base = mkdtempSync("/var/tmp/exec-server-hostile-");
  traces = join(base, "traces");
  kept = join(base, "kept");
  mkdirSync(traces);
  writeFileSync(kept, "kept");
  asked.length = 0;
});

afterEach(() => rmSync(base, { recursive: true, force: true }));

/** A request that would be seen if it ran. */
function effect(random: SeededRandom, index: number): string {
  const trace = join(traces, `${index}-${random.between(0, 2 ** 31)}`);
  const path = `file://${trace}`;
  const start = { argv: ["touch", trace], cwd: "file:///", env: { PATH: "/usr/bin:/bin" }, tty: false };
  const port = (upstream.address() as AddressInfo).port;
  const [method, params] = random.pick<[string, object]>([
    [
      "fs/writeFile",
      { path, dataBase64: Buffer.alloc(logUniform(random, 1, 300_000), "x").toString("base64") },
    ],
    ["fs/createDirectory", { path }],
    ["fs/open", { handleId: "h", path, mode: "replace" }],
    ["fs/copy", { sourcePath: `file://${kept}`, destinationPath: path, recursive: false }],
    ["fs/rename", { from: `file://${kept}`, to: path }],
    ["fs/symlink", { target: "anything", path }],
    ["fs/remove", { path: `file://${kept}` }],
    ["process/start", { processId: "p", ...start, tty: random.pick([true, false]) }],
    ["command/exec", start],
    ["http/request", { method: "GET", url: `http://127.0.0.1:${port}/`, requestId: "r" }],
  ]);
  const padding = random.next() < 0.3 ? { ignored: "x".repeat(logUniform(random, 1, 200_000)) } : {};
  return JSON.stringify({ id: index, method, params, ...padding });
}

const harmless = (index: number): string => JSON.stringify({ id: index, method: "environment/status" });

/** A message that ends a connection, on whatever carrier. */
function fatalMessage(random: SeededRandom): string {
  const padding = random.next() < 0.3 ? { padding: "x".repeat(logUniform(random, 1, 200_000)) } : {};
  return JSON.stringify({
    ...random.pick<object>([
      { method: "no/such/notification", params: padding },
      { method: "process/output", params: padding },
      { id: random.between(0, 1000), result: padding },
      { id: "never asked", error: { code: -32000, message: "no" }, ...padding },
    ]),
  });
}

/** Bytes at which a connection must end. */
function violation(random: SeededRandom): Buffer[] {
  const payload = Buffer.from(harmless(0));
  const broken = Buffer.from(payload);
  broken[random.between(0, broken.length - 1)] = random.between(0x80, 0xff);
  return random.pick<() => Buffer[]>([
    () => framesOf(Buffer.from(fatalMessage(random)), random),
    () => framesOf(Buffer.from(fatalMessage(random)), random),
    () => [frame(payload, { opcode: random.pick([3, 4, 5, 6, 7, 11, 12, 13, 14, 15]) })],
    () => [frame(payload, { reservedBits: random.between(1, 7) })],
    () => [frame(payload, { masked: false })],
    () => [frame("", { opcode: random.pick([9, 10]), fin: false })],
    () => [frame("x".repeat(random.between(126, 70_000)), { opcode: random.pick([9, 10]) })],
    () => [frame(payload, { opcode: 0 })],
    () => [frame(payload, { fin: false }), frame(payload)],
    () => [frame("", { claimedLength: BigInt(16 * MIB + random.between(1, MIB)) })],
    () => [frame("", { claimedLength: 2n ** BigInt(random.between(32, 63)) })],
    () => [frame("x", { opcode: 8 })],
    () => [frame(Buffer.from([0x03, 0xe8]), { opcode: 8 })],
    () => [frame("", { opcode: 8 })],
    () => [frame(broken)],
  ])();
}

function expectNoTrace(what: string): void {
  expect(readdirSync(traces), what).toEqual([]);
  expect(existsSync(kept), what).toBe(true);
  expect(asked, what).toEqual([]);
}

describe("requests behind a violation of the protocol, in the same bytes", () => {
  it("are not run, over WebSockets", () =>
    withSeed(async () => {
      await using target = await AttackedServer.start();
      const random = randomOf("violations");
      for (let round = 0; round < WEBSOCKET_ROUNDS * hostileRounds; round++) {
        const connection = await HostileConnection.open(target.server);
        const before = Array.from({ length: random.between(0, 3) }, (_, index) => harmless(10 + index));
        const behind = Array.from({ length: random.between(1, 4) }, (_, index) => effect(random, 20 + index));
        const wrong = violation(random);
        const bytes = Buffer.concat([
          ...before.flatMap((text) => framesOf(Buffer.from(text), random)),
          ...wrong,
          ...behind.flatMap((text) => framesOf(Buffer.from(text), random)),
        ]);
        const cut = random.next() < 0.7 ? bytes.length : random.between(1, bytes.length);
        connection.raw.write(bytes.subarray(0, cut));
        connection.raw.write(bytes.subarray(cut));
        await connection.raw.endedByServer();
        expectNoTrace(
          `round ${round}: ${behind.join(" ").slice(0, 300)} behind ${wrong.map((piece) => piece.toString("latin1", 0, 200)).join(" ")}`,
        );
      }
      await target.expectUnharmed("afterwards");
      expectNoTrace("afterwards");
    }));

  it("are not run, over stdio", () =>
    withSeed(async () => {
      const random = randomOf("violations over stdio");
      for (let round = 0; round < STDIO_ROUNDS * hostileRounds; round++) {
        const behind = Array.from({ length: random.between(1, 4) }, (_, index) => effect(random, 20 + index));
        const wrong =
          random.next() < 0.9 ? fatalMessage(random) : "x".repeat(MAX_LINE_BYTES + random.between(1, 1000));
        const child = spawn(process.execPath, [builtCli, "--stdio"], {
          stdio: ["pipe", "pipe", "inherit"],
          env: { PATH: process.env["PATH"], HOME: base, CODEX_HOME: base },
        });
        child.stdin.on("error", () => {}); // it has left, as it should
        const exited = once(child, "exit");
        try {
          child.stdin.write('{"id":1,"method":"initialize","params":{"clientName":"hostile"}}\n');
          await withDeadline(once(child.stdout, "data"), DEADLINE_MS, () => "the session");
          child.stdin.write(['{"method":"initialized"}', harmless(2), wrong, ...behind, ""].join("\n"));
          const [code] = await withDeadline(exited, DEADLINE_MS, () => "the end of the server");
          expect(code).toBe(0);
        } finally {
          child.kill("SIGKILL");
        }
        expectNoTrace(`round ${round}: ${behind.join(" ").slice(0, 300)} behind ${wrong.slice(0, 200)}`);
      }
    }));
});

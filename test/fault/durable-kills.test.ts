import { setTimeout as delay } from "node:timers/promises";
import { existsSync, mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { connect } from "../../src/client/host/connect.ts";
import type { Host } from "../../src/client/host/host.ts";
import { DurableServer } from "./durable-server.ts";
import { runSeed, SeededRandom } from "./seeded-random.ts";

// DURABLE_KILLS=40 DURABLE_CLIENTS=10 DURABLE_PROCESSES=20 is the long form.
const KILLS = Number(process.env["DURABLE_KILLS"] ?? 5);
const CLIENTS = Number(process.env["DURABLE_CLIENTS"] ?? 4);
const PROCESSES = Number(process.env["DURABLE_PROCESSES"] ?? 3);
const LONGEST_LIFE_MS = 700;
const LONG_FORM_MS = 20 * 60_000;
const LINES = 50 * KILLS;

type Kind = "pipes" | "terminal" | "sandbox";
const KINDS: readonly Kind[] = ["pipes", "terminal", "sandbox"];

/** Numbered lines for as long as servers are killed, from bash, whose `read` waits without another process. */
const script = (status: number): string =>
  `exec 9<> <(:); for ((n = 1; n <= ${LINES}; n += 1)); do echo "$n ${"x".repeat(40)}"; read -rt 0.02 -u 9; done; exit ${status}`;

/** Exactly these lines, and this status. */
async function checkProcess(host: Host, kind: Kind, status: number): Promise<void> {
  const argv = ["bash", "-c", script(status)];
  const process = await (kind === "terminal"
    ? host.terminal(argv)
    : host.start(argv, kind === "sandbox" ? { sandbox: "read-only" } : {}));
  let text = "";
  const decoder = new TextDecoder();
  for await (const { bytes } of process.output()) text += decoder.decode(bytes, { stream: true });
  const { exitCode } = await process.exited;
  const lines = text.replaceAll("\r\n", "\n").split("\n");
  const expected = Array.from({ length: LINES }, (_, at) => `${at + 1} ${"x".repeat(40)}`);
  expect(lines).toEqual([...expected, ""]);
  expect(exitCode).toBe(status);
}

/** Makes one directory after another, which cannot be repeated. Each is made, or its error says that nobody knows. */
async function makeDirectories(host: Host, home: string, isOver: () => boolean): Promise<number> {
  let unknown = 0;
  for (let at = 0; !isOver(); at += 1) {
    const path = join(home, `${at}`);
    try {
      await host.files.mkdir(path, { recursive: false });
      expect(existsSync(path)).toBe(true);
    } catch (error) {
      expect(error).toMatchObject({ code: "EFFECT_UNKNOWN" });
      unknown += 1;
    }
    await delay(1);
  }
  return unknown;
}

interface AuditLine {
  readonly event: string;
  readonly process?: string;
  readonly connection?: number;
  readonly record?: string;
}

it(
  `processes go on through ${KILLS} kills of their server, and every byte and status comes once`,
  async () => {
    await using server = await DurableServer.start("--detached-session-ttl-ms", "600000");
    const random = new SeededRandom(runSeed);
    const hosts = await Promise.all(
      Array.from({ length: CLIENTS }, () => connect(server.url, { recoveryTimeoutMs: 120_000 })),
    );
    const keeper = await server.keeper();
    const checks = hosts.flatMap((host, client) =>
      Array.from({ length: PROCESSES }, (_, at) =>
        checkProcess(host, KINDS[(client + at) % KINDS.length]!, (client * PROCESSES + at) % 200),
      ),
    );
    const backMs: number[] = [];
    const kills = (async () => {
      for (let kill = 0; kill < KILLS; kill += 1) {
        await delay(random.between(50, LONGEST_LIFE_MS));
        await server.kill("SIGKILL");
        await server.start();
        const since = performance.now();
        await Promise.all(hosts.map((host) => host.request("server/status", null)));
        backMs.push(performance.now() - since);
      }
    })();
    let isOver = false;
    const over = kills.finally(() => (isOver = true));
    const making = hosts.map(async (host, client) => {
      const home = join(server.home, `made-${client}`);
      mkdirSync(home);
      return makeDirectories(host, home, () => isOver);
    });
    await Promise.all([...checks, ...making, over]);
    expect(await server.keeper()).toBe(keeper);
    if (process.env["DURABLE_KILLS"] !== undefined)
      process.stdout.write(`all clients are back after ${backMs.map((ms) => Math.round(ms)).join()} ms\n`);
    await Promise.all(hosts.map((host) => host.close()));
    await server.kill("SIGTERM");
    const verified = await server.command("audit", "verify", server.audit);
    expect(verified).toMatchObject({ code: 0 });
    const lines = readFileSync(server.audit, "utf8")
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as AuditLine);
    const count = (event: string): number => lines.filter((line) => line.event === event).length;
    expect([count("start"), count("ended")]).toEqual([CLIENTS * PROCESSES, CLIENTS * PROCESSES]);
    const numbers = lines.flatMap(({ record }) => (record === undefined ? [] : Number(record.split(":")[1])));
    expect(numbers).toEqual(Array.from(numbers, (_, at) => at + 1));
  },
  LONG_FORM_MS,
);

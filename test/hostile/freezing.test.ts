import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import http from "node:http";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { SeededRandom } from "../fault/seeded-random.ts";
import { AttackedServer, MAX_LATENCY_MS } from "./attacked-server.ts";
import { HostileConnection, framesOf } from "./hostile-connection.ts";
import { hostileRounds, logUniform, randomOf, withSeed } from "./hostile-run.ts";
import { repeatedMessage } from "./repeated-messages.ts";
import type { Hint, Json } from "./wire-samples.ts";

const MIB = 1024 * 1024;
const NOBODY = 65_534;
const SMALL_MESSAGES = 200;
const LARGE_MESSAGES = 6;
/** The text around the repetition must fit too. */
const MAX_BYTES = 64 * MIB - 64 * 1024;
const DEPTH = 400;
/** How much V8 leaves uncollected depends on the machine's memory. With a small heap, only what is needed counts. */
const HEAP_MIB = 256;

const upstream = http.createServer((_, response) => response.end("ok"));
let base = "";
let deep = "";

beforeAll(async () => {
  base = mkdtempSync("/var/tmp/exec-server-hostile-");
  deep = join(base, ...Array.from({ length: DEPTH }, () => "d"));
  mkdirSync(deep, { recursive: true });
  upstream.listen(0, "127.0.0.1");
  await once(upstream, "listening");
});

afterAll(() => {
  upstream.close();
  upstream.closeAllConnections();
  rmSync(base, { recursive: true, force: true });
});

/** Values that pass the first checks, and do no harm if the request is served. */
const hint: Hint = (field, random): Json | undefined => {
  switch (field) {
    case "path":
    case "cwd":
    case "from":
    case "to":
    case "sourcePath":
    case "destinationPath":
    case "missing":
    case "present":
      return random.pick([
        `file://${base}/x`,
        `file://${base}/d/d/`,
        `file://${deep}/`,
        `${base}/y`,
        "file:///x",
      ]);
    case "argv":
      return ["true"];
    case "url":
      return `http://127.0.0.1:${(upstream.address() as AddressInfo).port}/`;
    case "sandbox":
      return null;
    case "waitMs":
    case "timeoutMs":
      return random.between(0, 100);
    default:
      return undefined;
  }
};

/**
 * How long a large message may take. Half of that is copying, which takes longer while others use the machine's memory: so it is measured
 * with one that has nothing to it.
 */
async function allowanceMs(target: AttackedServer, random: SeededRandom): Promise<number> {
  const plain = JSON.stringify({ id: 1, method: "environment/status", more: "x".repeat(MAX_BYTES) });
  const connection = await HostileConnection.open(target.server);
  let worstMs = 0;
  for (let times = 3; times > 0; times--) {
    for (const piece of framesOf(Buffer.from(plain), random)) connection.raw.write(piece);
    expect(await connection.answer("a large message")).toMatchObject({ result: { status: "ready" } });
    worstMs = Math.max(worstMs, await target.slowestMs());
  }
  connection.raw.cut();
  expect(worstMs).toBeLessThan(2 * MAX_LATENCY_MS);
  return Math.max(MAX_LATENCY_MS, 1.5 * worstMs);
}

async function attack(
  target: AttackedServer,
  random: SeededRandom,
  { bytes, mostMs }: { bytes: number; mostMs: number },
): Promise<void> {
  const { text, name } = repeatedMessage(random, hint, bytes);
  const what = name.slice(0, 400);
  const connection = await HostileConnection.open(target.server);
  for (const piece of framesOf(Buffer.from(text), random)) connection.raw.write(piece);
  await connection.answer(what);
  connection.raw.cut();
  await target.expectPrompt(what, mostMs);
  target.expectModest(what);
}

describe.each(["anywhere", "below roots"])("one message that repeats something, files %s", (where) => {
  it("delays no other client and takes little memory", () =>
    withSeed(async () => {
      const args = where === "anywhere" ? [] : ["--fs-roots", base];
      // Whatever a path turns out to name, there is nothing that this user could destroy.
      await using target = await AttackedServer.start({
        args,
        user: NOBODY,
        through: ["env", `NODE_OPTIONS=--max-old-space-size=${HEAP_MIB}`],
      });
      const random = randomOf(`repeated ${where}`);
      for (let round = 0; round < hostileRounds; round++) {
        for (let left = SMALL_MESSAGES; left > 0; left--)
          await attack(target, random, {
            bytes: logUniform(random, 100, MIB - 1024),
            mostMs: MAX_LATENCY_MS,
          });
        const mostMs = await allowanceMs(target, random);
        for (let left = LARGE_MESSAGES; left > 0; left--)
          await attack(target, random, { bytes: logUniform(random, MIB, MAX_BYTES), mostMs });
      }
      await target.expectUnharmed("afterwards");
    }));
});

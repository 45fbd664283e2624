import { mkdtempSync, rmSync } from "node:fs";
import http from "node:http";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, expect, it } from "vitest";
import { frame } from "../fault/raw-websocket.ts";
import type { SeededRandom } from "../fault/seeded-random.ts";
import { AttackedServer } from "./attacked-server.ts";
import { HostileConnection, framesOf } from "./hostile-connection.ts";
import { hostileRounds, randomOf, withSeed } from "./hostile-run.ts";
import { type LargestParams, largestParams } from "./largest-params.ts";
import { type Hint, type Json, METHOD_NAMES, sampleParams } from "./wire-samples.ts";

// The freezing test repeats anything anywhere; this one sends what passes every check of the wire and is as large as it
// can be, and many small requests at once.

const NOBODY = 65_534;
const PICKED = { many: 12, long: 4, extreme: 30 } as const;
const BURSTS = 12;
const BURST_REQUESTS = 1_500;

const upstream = http.createServer((_, response) => response.end("ok"));
let base = "";

beforeAll(async () => {
  base = mkdtempSync("/var/tmp/exec-server-hostile-");
  upstream.listen(0, "127.0.0.1");
  await once(upstream, "listening");
});

afterAll(() => {
  upstream.close();
  upstream.closeAllConnections();
  rmSync(base, { recursive: true, force: true });
});

let lastId = 0;

/** Values that pass the first checks, and do no harm if the request is served. */
const hint: Hint = (field, random): Json | undefined => {
  switch (field) {
    case "path":
    case "from":
    case "to":
    case "sourcePath":
    case "destinationPath":
    case "missing":
    case "present":
    case "workspaceRoots":
    case "temporaryDirectories":
      return `file://${base}/x${random.between(0, 3)}`;
    case "cwd":
      return "file:///";
    case "pattern":
      return `${base}/**/x`;
    case "argv":
      return ["true"];
    case "url":
      return `http://127.0.0.1:${(upstream.address() as AddressInfo).port}/`;
    case "method":
      return "GET";
    case "name":
      return "x";
    case "valueEnvVar":
      return "PATH";
    case "waitMs":
    case "timeoutMs":
      return 10;
    case "bodyBase64":
    case "chunk":
    case "dataBase64":
      return "AAAA";
    default:
      return undefined;
  }
};

/** The same for many requests side by side, each about something different. */
const hintOfBurst: Hint = (field, random) => {
  switch (field) {
    case "processId":
    case "requestId":
    case "handleId":
      lastId += 1;
      return `p${lastId}`;
    case "env":
      return { PATH: "/usr/bin:/bin" };
    case "sandbox":
    case "networkProxy":
    case "managedNetwork":
    case "shellSnapshot":
    case "metadata":
    case "limits":
    case "keep":
    case "secrets":
    case "envPolicy":
    case "idempotencyKey":
      return null;
    case "followScreen":
    case "contain":
    case "enforceManagedNetwork":
      return false;
    default:
      return hint(field, random);
  }
};

function startTarget(): Promise<AttackedServer> {
  return AttackedServer.start({ user: NOBODY });
}

/** Different ones; what every sandbox may have is picked for one method at most. */
function pick(all: readonly LargestParams[], count: number, random: SeededRandom): LargestParams[] {
  const left = [...all];
  const picked: LargestParams[] = [];
  while (picked.length < count && left.length > 0) {
    const [one] = left.splice(random.between(0, left.length - 1), 1);
    const isCommon = one!.name.includes(".sandbox") && picked.some(({ name }) => name === one!.name);
    if (!isCommon) picked.push(one!);
  }
  return picked;
}

async function send(
  target: AttackedServer,
  { method, name, make }: LargestParams,
  random: SeededRandom,
): Promise<string | undefined> {
  const what = `${method} ${name}`;
  const connection = await HostileConnection.open(target.server);
  const text = JSON.stringify({ id: "largest", method, params: make() });
  for (const piece of framesOf(Buffer.from(text), random)) connection.raw.write(piece);
  const answer = await connection.answer(what);
  connection.raw.cut();
  // Whatever is wrong with it, the server knows.
  expect(answer?.error?.message ?? "", what).not.toContain("internal error");
  await target.expectPrompt(what);
  return answer?.error?.message;
}

it("the largest legal message of any method delays no other client", () =>
  withSeed(async () => {
    await using target = await startTarget();
    const random = randomOf("largest");
    const all = largestParams({ random, hint });
    for (let round = 0; round < hostileRounds; round++)
      for (const [kind, count] of Object.entries(PICKED))
        for (const params of pick(
          all.filter((one) => one.kind === kind),
          count,
          random,
        ))
          await send(target, params, random);
    await target.expectUnharmed("afterwards");
  }));

it("more text than a request may have delays no other client", () =>
  withSeed(async () => {
    await using target = await startTarget();
    const random = randomOf("text");
    const long = "x/".repeat(16 * 1024 * 1024);
    const pieces = Array.from({ length: 32 }, () => long.slice(0, 1024 * 1024));
    for (const [name, names] of Object.entries({ "one name": [long], "many names": pieces })) {
      const params = { method: "fs/hash", name, make: () => ({ path: `file://${base}`, names }) } as const;
      expect(await send(target, { kind: "long", ...params }, random), name).toContain("characters");
    }
  }));

/** Each of these has delayed others before. */
const KNOWN = [
  ["process/start", ".env: ", undefined],
  ["process/start", ".envPolicy.set: ", undefined],
  ["process/start", ".networkProxy.proxy.domains: ", undefined],
  ["process/start", ".sandbox.workspaceRoots: ", "at most 10000 paths"],
  ["fs/readFile", ".sandbox.policyContext.workspaceRoots: ", "at most 10000 paths"],
  ["command/exec", ".env: ", undefined],
  ["http/request", ".headers: ", "at most 4096 headers"],
] as const;

it("the most variables, rules, roots and headers delay no other client", () =>
  withSeed(async () => {
    await using target = await startTarget();
    const random = randomOf("largest known");
    const all = largestParams({ random, hint });
    for (const [method, place, refusal] of KNOWN) {
      const known = all.filter((one) => one.method === method && one.name.startsWith(place));
      expect(known.length, `${method} ${place}`).toBeGreaterThan(0);
      for (const params of known) {
        const answered = await send(target, params, random);
        if (refusal === undefined) expect(answered, `${method} ${place}`).toBeUndefined();
        else expect(answered).toContain(refusal);
      }
    }
  }));

/** As many different keys as values are allowed, in objects of that many members. */
function differentKeys(perObject: number): string {
  const objects = Array.from({ length: Math.floor(262_000 / (perObject + 1)) }, (_, object) => {
    const members = Array.from(
      { length: perObject },
      (_member, index) => `"k${object * perObject + index}":0`,
    );
    return `{${members.join(",")}}`;
  });
  return `{"id":1,"method":"environment/status","params":null,"more":[${objects.join(",")}]}`;
}

it("keys that no other object has delay no other client", () =>
  withSeed(async () => {
    await using target = await startTarget();
    for (const perObject of [1, 20, 120, 1_000, 260_000]) {
      const what = `objects of ${perObject} different keys`;
      const connection = await HostileConnection.open(target.server);
      const message = Buffer.from(differentKeys(perObject));
      for (const piece of framesOf(message, randomOf("keys"))) connection.raw.write(piece);
      expect((await connection.answer(what))?.error?.message, what).toContain("different keys");
      connection.raw.cut();
      await target.expectPrompt(what);
    }
  }));

const BURST_METHODS = METHOD_NAMES.filter((method) => method !== "initialize");

async function burst(
  target: AttackedServer,
  method: (typeof METHOD_NAMES)[number],
  random: SeededRandom,
): Promise<void> {
  const connection = await HostileConnection.open(target.server);
  const frames = Array.from({ length: BURST_REQUESTS }, (_, id) =>
    frame(JSON.stringify({ id, method, params: sampleParams(method, random, hintOfBurst) })),
  );
  connection.raw.write(Buffer.concat(frames));
  for (let left = BURST_REQUESTS; left > 0; left--)
    if ((await connection.answer(`${BURST_REQUESTS} × ${method}`)) === undefined) break;
  connection.raw.cut();
  await target.expectPrompt(`${BURST_REQUESTS} × ${method}`);
}

it("many small requests at once, of any method, delay no other client", () =>
  withSeed(async () => {
    await using target = await startTarget();
    const random = randomOf("bursts");
    for (let round = 0; round < hostileRounds; round++)
      for (let left = BURSTS; left > 0; left--) await burst(target, random.pick(BURST_METHODS), random);
  }));

// Each of these has delayed others before.
it.each(["process/start", "fs/writeFile"] as const)(
  "many small %s requests at once delay no other client",
  (method) =>
    withSeed(async () => {
      await using target = await startTarget();
      await burst(target, method, randomOf(`burst of ${method}`));
    }),
);

import { createHash } from "node:crypto";
import { createReadStream, mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { once } from "node:events";
import http from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { pollUntil } from "../fault/deadline.ts";
import { residentBytes, transferredBytes } from "../fault/proc-fs.ts";
import { AttackedServer } from "./attacked-server.ts";
import { hostileRounds, logUniform, randomOf, withSeed } from "./hostile-run.ts";
import { UnreadingClient } from "./unreading-client.ts";

const MIB = 1024 * 1024;
const CLIENTS = 4;
const LARGEST = 48 * MIB;
const LARGE_FILES = 2;
/** The server has given out all it will when nothing moves for so long. */
const STILL_MS = 500;
const STILL_DEADLINE_MS = 90_000;

let base = "";
/** Large files and their hashes; an upstream server serves the same. */
const files: { readonly name: string; readonly bytes: number; readonly hash: string }[] = [];
const upstream = http.createServer((request, response) => {
  const path = join(base, request.url ?? "");
  response.setHeader("Content-Length", statSync(path).size);
  createReadStream(path).pipe(response);
});

beforeAll(async () => {
  base = mkdtempSync("/var/tmp/exec-server-hostile-");
  const random = randomOf("unread files");
  for (let index = 0; index < 6; index++) {
    const size = index < LARGE_FILES ? LARGEST : logUniform(random, 64 * 1024, LARGEST);
    const block = random.bytes(64 * 1024);
    const contents = Buffer.alloc(size, block);
    const hash = createHash("sha256").update(contents).digest("hex");
    files.push({ name: `f${index}`, bytes: size, hash });
    writeFileSync(join(base, `f${index}`), contents);
  }
  upstream.listen(0, "127.0.0.1");
  await once(upstream, "listening");
});

afterAll(() => {
  upstream.close();
  upstream.closeAllConnections();
  rmSync(base, { recursive: true, force: true });
});

interface Wanted {
  readonly id: string;
  readonly path: string;
  readonly url: string;
}

/** Ways to request something large; each resolves with the hash of the result. */
const WAYS: Readonly<Record<string, (client: UnreadingClient, wanted: Wanted) => Promise<string>>> = {
  "fs/readFile": (client, { path }) => client.hashOf("fs/readFile", { path: `file://${path}` }),
  "buffered http/request": (client, { id, url }) =>
    client.hashOf("http/request", { method: "GET", url, requestId: id }),
  "streamed http/request": (client, { id, url }) =>
    client.hashOfStream(id, "http/request", { method: "GET", url, requestId: id, streamResponse: true }),
  "output of process/start": (client, { id, path }) =>
    client.hashOfStream(id, "process/start", {
      processId: id,
      argv: ["cat", path],
      cwd: "file:///",
      env: { PATH: "/usr/bin:/bin" },
      tty: false,
    }),
};
const WAY_NAMES = Object.keys(WAYS);

/** Asks for a file in one of the ways; resolves when it has come, and is what it should be. */
async function take(
  client: UnreadingClient,
  id: string,
  { name, hash }: (typeof files)[number],
  way: string,
): Promise<void> {
  const path = join(base, name);
  const url = `http://127.0.0.1:${(upstream.address() as AddressInfo).port}/${name}`;
  expect(await WAYS[way]?.(client, { id, path, url }), `${name} by ${way}`).toBe(hash);
}

/** Resolves when the server neither reads nor writes any more, apart from the bystander's small requests. */
async function stands(pid: number): Promise<void> {
  let [seen, since] = [-1, 0];
  await pollUntil(
    async () => {
      await delay(50);
      const now = Math.floor(transferredBytes(pid) / 65_536);
      const grown = now !== seen;
      if (grown) [seen, since] = [now, performance.now()];
      return performance.now() - since > STILL_MS;
    },
    STILL_DEADLINE_MS,
    () => `a server with ${residentBytes(pid)} bytes to come to rest`,
  );
}

describe("clients that ask for much and read nothing", () => {
  it("make the server wait, not grow; what they read at last is whole", () =>
    withSeed(async () => {
      await using target = await AttackedServer.start();
      const random = randomOf("unread");
      for (let round = 0; round < hostileRounds; round++) {
        const clients: UnreadingClient[] = [];
        const taking: Promise<void>[] = [];
        for (let index = 0; index < CLIENTS; index++) {
          const client = await UnreadingClient.open(target.server.url);
          client.stopReading();
          clients.push(client);
          for (let left = random.between(2, 4); left > 0; left--)
            taking.push(take(client, `${index}-${left}`, random.pick(files), random.pick(WAY_NAMES)));
        }
        const all = Promise.all(taking);
        all.catch(() => {}); // told below
        await stands(target.server.pid);
        await target.expectPrompt("while nobody reads");
        target.expectModest("while nobody reads");
        // Some never come back; the others read, each at its own pace.
        for (const client of clients) client.startReading(random.pick([0, 0, 5, 20]));
        await all;
        await target.expectPrompt("while all is read");
        target.expectModest("while all is read");
        for (const client of clients) client.cut();
      }
      upstream.closeIdleConnections();
      await target.expectUnharmed("afterwards");
    }));

  // Each way separately: a limit for one does not limit the others.
  it.each(WAY_NAMES)("leave nothing behind when they go, and nothing grows until then: %s", (way) =>
    withSeed(async () => {
      await using target = await AttackedServer.start();
      const random = randomOf(`unread and gone ${way}`);
      const clients: UnreadingClient[] = [];
      for (let left = CLIENTS * hostileRounds; left > 0; left--) {
        const client = await UnreadingClient.open(target.server.url);
        client.stopReading();
        clients.push(client);
      }
      // Again when nothing moves any more: what begins then must wait as well.
      for (const wave of ["first", "second"]) {
        for (const client of clients)
          for (let times = random.between(4, 7); times > 0; times--)
            take(client, `${wave}-${times}`, random.pick(files.slice(0, LARGE_FILES)), way).catch(() => {}); // nobody reads it
        await stands(target.server.pid);
      }
      target.expectModest("while nobody reads");
      for (const client of clients) client.cut();
      upstream.closeIdleConnections();
      await target.expectUnharmed("afterwards");
    }),
  );
});

import { execFileSync } from "node:child_process";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { RawPeer } from "../conformance/raw-peer.ts";
import { limitedServer, type LimitedServer } from "./limited-server.ts";
import { ROOTS_REQUESTS } from "./roots-requests.ts";

/**
 * CPU time that one message may take without a break. The requirement is 50 ms for messages of up to 1 MiB; broken code
 * takes seconds. Time that other programs take does not count.
 */
const MAX_HOLD_MS = 250;
/** For messages of 10 MB, most of it to read them. */
const MAX_LARGE_HOLD_MS = 1500;
const ANSWER_MS = 100_000;
const DEPTH = 1990;
const LESS_DEPTH = 300;
const LINKS = 4_000;
const FILES = 30_000;

const WALK = { maxDepth: 64, maxDirectories: 10_000, maxEntries: 50_000, followDirectorySymlinks: true };

let lastId = 1_000_000;
const nextId = (): number => (lastId += 1);
let base: string;
let root: string;
let deep: string;

beforeAll(() => {
  base = realpathSync(mkdtempSync(join(tmpdir(), "freeze-")));
  root = join(base, "r");
  deep = join(root, "d/".repeat(DEPTH)).slice(0, -1);
  mkdirSync(deep, { recursive: true });
  // Each step back takes a walk from the top.
  symlinkSync("d/../".repeat(200), join(root, "d/".repeat(DEPTH / 2), "back"));
  symlinkSync("../".repeat(1300), join(deep, "up"));
  mkdirSync(join(root, "links"));
  for (let index = 0; index < LINKS; index += 1)
    symlinkSync(index % 2 ? "../f" : "nowhere", join(root, `links/${index}`));
  // Where requests find what they need besides.
  mkdirSync(join(root, "small/d"), { recursive: true });
});

// Node's own way to remove a tree calls itself for every level.
afterAll(() => execFileSync("rm", ["-rf", base]));

/** Milliseconds that the thread of all this has been running. */
function threadTime(): number {
  return Number(readFileSync(`/proc/self/task/${process.pid}/schedstat`, "utf8").split(" ", 1)[0]) / 1e6;
}

/** The longest that nothing else could happen. */
async function holdOf(work: () => Promise<unknown>): Promise<number> {
  let longest = 0;
  let last = threadTime();
  let running = true;
  const tick = (): void => {
    const now = threadTime();
    longest = Math.max(longest, now - last);
    last = now;
    // Not at once: this thread must leave the processor to those that do the work.
    if (running) setTimeout(tick, 1);
  };
  setTimeout(tick, 1);
  await work();
  running = false;
  return Math.max(longest, threadTime() - last);
}

async function expectNoFreeze(
  peer: RawPeer,
  method: string,
  params: object,
  { what, maxHoldMs = MAX_HOLD_MS }: { what: string; maxHoldMs?: number },
): Promise<void> {
  const hold = await holdOf(() => peer.call(method, params, { timeoutMs: ANSWER_MS }));
  expect(hold, `${method}: ${what}`).toBeLessThan(maxHoldMs);
}

for (const isConfined of [false, true]) {
  describe(isConfined ? "with fsRoots" : "without fsRoots", () => {
    let server: LimitedServer;
    let peer: RawPeer;
    beforeEach(async () => {
      writeFileSync(join(root, "f"), "contents");
      writeFileSync(join(root, "small/f"), "contents");
      server = limitedServer(isConfined ? { fsRoots: [root] } : {});
      peer = await server.session();
    });
    afterEach(() => server[Symbol.asyncDispose]());

    it("no text of a path holds anybody up, in no method", async () => {
      const texts = {
        "slashes before a name": `file://${root}/x${"/".repeat(1_000_000)}y`,
        "fewer slashes": `file://${root}${"/".repeat(250_000)}f`,
        escapes: `file://${root}/${"%41".repeat(300_000)}`,
        "fewer escapes": `file://${root}/${"%41".repeat(80_000)}`,
        "escaped dots": `file://${root}${"%2Fd%2F..".repeat(28_000)}%2Ff`,
        bytes: `file://${root}/${"%FF".repeat(80_000)}`,
        "a host": `file://a${"\u0301\u0327".repeat(100_000)}/x`,
        "plain dots": `${root}${"/d/..".repeat(50_000)}/f`,
      };
      for (const [what, path] of Object.entries(texts))
        for (const request of ROOTS_REQUESTS)
          await expectNoFreeze(peer, request.method, request.params(path, `${root}/small/free`), { what });
      rmSync(join(root, "small/free"), { recursive: true, force: true });
      rmSync(join(root, "f"), { recursive: true, force: true });
    });

    it("no list of paths does", async () => {
      const many = Array.from({ length: 200_000 }, (_, index) => `file://${root}/missing/${index}`);
      const long = Array.from({ length: 64 }, (_, index) => `file://${root}${"/".repeat(250_000)}${index}`);
      const below = Array.from({ length: 64 }, (_, index) => `file://${deep}/${index}`);
      const maxHoldMs = MAX_LARGE_HOLD_MS;
      for (const missing of [many, long])
        await expectNoFreeze(
          peer,
          "fs/watchMissing",
          { watchId: nextId(), missing },
          { what: "large", maxHoldMs },
        );
      await expectNoFreeze(peer, "fs/watchMissing", { watchId: nextId(), missing: below }, { what: "deep" });
      const roots = Array.from({ length: 128 }, (_, index) => ({ id: `${index}`, path: long[index % 64]! }));
      await expectNoFreeze(peer, "capabilityRoots/discoverV1", { roots }, { what: "long", maxHoldMs });
      const configPaths = Array.from({ length: 50_000 }, (_, index) => [`key${index}`]);
      const read = { cwd: `file://${deep}`, configPaths, requirementsPaths: [] };
      await expectNoFreeze(peer, "environmentConfig/read", read, { what: "keys", maxHoldMs });
    });

    it("no deep directory does, nor links that lead to and fro in it", async () => {
      const middle = join(root, "d/".repeat(DEPTH / 2));
      for (const path of [`${deep}/x`, `${deep}/up/f`, `${middle}back/x`])
        for (const request of ROOTS_REQUESTS) {
          const params = request.params(path, `${root}/small/free`);
          // These would take the tree away from the others, or go through all of it more than once.
          if (/rename|remove|walk|discover/.test(request.method)) continue;
          await expectNoFreeze(peer, request.method, params, { what: path.slice(-8) });
        }
      const lessDeep = join(root, "d/".repeat(LESS_DEPTH));
      const roots = [{ id: "x", path: lessDeep }];
      await expectNoFreeze(peer, "capabilityRoots/discoverV1", { roots }, { what: "deep" });
      await expectNoFreeze(peer, "fs/walk", { path: lessDeep, options: WALK }, { what: "deep" });
      const fresh = join(root, "n/".repeat(DEPTH));
      await expectNoFreeze(peer, "fs/createDirectory", { path: fresh }, { what: "fresh" });
      await expectNoFreeze(peer, "fs/remove", { path: join(root, "n") }, { what: "fresh" });
    });

    it("no large directory does", async () => {
      const path = join(root, "links");
      await expectNoFreeze(peer, "fs/readDirectory", { path }, { what: "links" });
      await expectNoFreeze(peer, "fs/walk", { path, options: WALK }, { what: "links" });
      const copied = { sourcePath: path, destinationPath: join(root, "copied"), recursive: true };
      await expectNoFreeze(peer, "fs/copy", copied, { what: "links" });
      await expectNoFreeze(peer, "fs/remove", { path: join(root, "copied") }, { what: "links" });
      const full = join(root, "full");
      mkdirSync(full);
      for (let index = 0; index < FILES; index += 1) writeFileSync(join(full, `${index}`), "");
      await expectNoFreeze(peer, "fs/remove", { path: full }, { what: "files" });
      expect(existsSync(full)).toBe(false);
    });
  });
}

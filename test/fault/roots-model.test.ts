import {
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import * as fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createServer, type Server } from "../../src/server/index.ts";
import { createMemoryPair } from "../../src/transport/memory.ts";
import { type Message, openMemoryPeer, type RawPeer } from "../conformance/raw-peer.ts";
import { base64 } from "./limited-server.ts";
import { ROOTS_REQUESTS, type RootsRequest, TRACES } from "./roots-requests.ts";
import { HIDDEN, type Location, locate, meaningOf, MINE, RootsWorld } from "./roots-world.ts";
import { faultRounds, runSeed } from "./seeded-random.ts";

const RUNS = 120;
const REQUESTS_PER_RUN = 40;
const FREE_NAME = "free-name";

let home: string;
let world: RootsWorld;
let server: Server;

beforeAll(() => {
  home = realpathSync(mkdtempSync(join(tmpdir(), "exec-server-roots-model-")));
  world = new RootsWorld(join(home, "base"));
  mkdirSync(world.base);
  world.build({});
  mkdirSync(join(home, "codex"));
  const trusted = [world.base, world.root, world.outside, join(world.root, "d"), home];
  writeFileSync(
    join(home, "codex/config.toml"),
    trusted.map((path) => `[projects."${path}"]\ntrust_level = "trusted"\n`).join(""),
  );
  server = createServer({
    environment: { HOME: home, CODEX_HOME: join(home, "codex") },
    limits: { fsRoots: [world.root] },
  });
});

afterAll(async () => {
  await server.close();
  rmSync(home, { recursive: true, force: true });
});

async function connect(): Promise<RawPeer> {
  const [ours, theirs] = createMemoryPair();
  const peer = openMemoryPeer(ours);
  server.accept(theirs);
  await peer.handshake();
  return peer;
}

/** Links in the root: in, out, to nothing in and out, in loops, through other links. */
const linkTarget = fc.constantFrom(
  "d",
  "f",
  "d/e",
  "BASE/root/d",
  "../root/d/../f",
  "new",
  "d/new",
  "..",
  "../outside",
  "../outside/f",
  "../outside/d/e",
  "../outside/new",
  "../outside/back",
  "../rootbeside",
  "d/../../outside",
  "BASE/outside",
  "BASE/wayin/d",
  "/",
  "/proc/self/root",
  "/proc/self/environ",
  "l0",
  "l1/e",
  "l2/..",
  "l3",
);
const links = fc.record({
  l0: linkTarget,
  l1: linkTarget,
  l2: linkTarget,
  l3: linkTarget,
  ".codex/l": linkTarget,
});

const name = fc.constantFrom(
  "d",
  "e",
  "f",
  "g",
  "l0",
  "l1",
  "l2",
  "l3",
  "new",
  FREE_NAME,
  "outside",
  "root",
  "back",
  ".codex",
);
const dots = fc.constantFrom("..", "..", "..", ".");
const escapedDots = fc.constantFrom("..", "%2e%2e", ".%2E", "%2E.", ".", "%2e");
const start = fc.constantFrom("root", "root", "root", "root", "wayin", "outside", "rootbeside", "");
const uriPath = fc
  .tuple(
    start,
    fc.array(
      fc.tuple(
        fc.constantFrom("/", "%2F", "%2f", "//", "/%2F"),
        fc.oneof({ weight: 3, arbitrary: name }, { weight: 1, arbitrary: escapedDots }),
      ),
      { maxLength: 7, size: "max" },
    ),
    fc.constantFrom("", "", "/", "%2F", "%2F.", "/."),
  )
  .map(([first, rest, last]) => `file://BASE/${first}${rest.flat().join("")}${last}`);
const plainPath = fc
  .tuple(
    start,
    fc.array(
      fc.tuple(
        fc.constantFrom("/", "//"),
        fc.oneof({ weight: 3, arbitrary: name }, { weight: 1, arbitrary: dots }),
      ),
      { maxLength: 7, size: "max" },
    ),
  )
  .map(([first, rest]) => `BASE/${first}${rest.flat().join("")}`);
const attempt = fc.record({
  request: fc.nat({ max: ROOTS_REQUESTS.length - 1 }),
  path: fc.oneof(uriPath, plainPath),
});

describe("with fsRoots", () => {
  it("every method reaches what a model of the roots says, and nothing else", async () => {
    const seen = { served: 0, refused: 0, watched: 0 };
    await fc.assert(
      fc.asyncProperty(
        links,
        fc.array(attempt, { minLength: 1, maxLength: REQUESTS_PER_RUN, size: "max" }),
        async (targets, attempts) => {
          world.build(targets);
          const peer = await connect();
          const before = world.around();
          try {
            for (const { request: index, path } of attempts) {
              const request = ROOTS_REQUESTS[index]!;
              const text = path.replace("BASE", world.base);
              const expectation = expectationOf(request, text);
              const params = request.params(text, `file://${world.root}/${FREE_NAME}`);
              const what = `${request.method} ${JSON.stringify(params)}`;
              const answer = await peer.call(request.method, params);
              if (answer.error === undefined) seen.served += 1;
              else seen.refused += 1;
              expectation(answer, what);
              expectNoTrace(JSON.stringify(answer), text, what);
              await readThrough(peer, params, answer, what);
              expect(world.around(), what).toEqual(before);
              seen.watched += expectNothingWatchedOutside(what);
              if (lstatSync(world.root, { throwIfNoEntry: false }) === undefined)
                throw new Error(`${what}: no root`);
            }
            expectNoTrace(JSON.stringify(peer.notifications), "", "notifications");
          } finally {
            peer.drop();
          }
        },
      ),
      { numRuns: RUNS * faultRounds, seed: runSeed },
    );
    // So much must have been reached, or the test shows nothing.
    expect(seen.served).toBeGreaterThan((RUNS * REQUESTS_PER_RUN) / 20);
    expect(seen.refused).toBeGreaterThan((RUNS * REQUESTS_PER_RUN) / 20);
    expect(seen.watched).toBeGreaterThan(100);
  });
});

type Check = (answer: Message, what: string) => void;

/** The required result of a request, determined before it is sent. */
function expectationOf({ method, use, params }: RootsRequest, text: string): Check {
  const path = meaningOf(text);
  const location = locate(path, { followLast: use === "target" });
  if (method.startsWith("capabilities/")) return () => {};
  if (method === "environmentConfig/read") return expectConfig(location);
  const isInside = world.contains(use === "no link" ? path : location.path);
  if (method === "capabilityRoots/discoverV1") return expectDiscovery(location, isInside);
  // Where a loop or a way through nothing was left is not where it leads.
  if (location.astray)
    return isForcedRemoval(method, params(text, "")) ? expectNothingRemoved() : expectRefusal;
  if (!isInside) {
    const { from, sourcePath } = params(text, `${world.root}/${FREE_NAME}`) as Record<
      string,
      string | undefined
    >;
    const source = from ?? sourcePath;
    // The source was removed by an earlier request.
    if (source !== undefined && source !== text && !locate(meaningOf(source), { followLast: false }).exists)
      return expectRefusal;
    if (use === "no link" && location.linked) return expectRefusal;
    return (answer, what) =>
      expect(answer.error?.message, what).toMatch(
        / is outside the roots that this server serves \(fsRoots\)$/,
      );
  }
  if (use === "no link" && location.linked) return expectRefusal;
  return expectServed(method, params(text, ""), location);
}

const expectRefusal: Check = (answer, what) => {
  // A watch is not refused, it is not there.
  if (answer.error === undefined) expect(answer.result, what).toEqual({ watching: false });
};

function isForcedRemoval(method: string, { force }: Record<string, unknown>): boolean {
  return method === "fs/remove" && force !== false;
}

/** As `rm -f`: where a path leads to nothing there is nothing to remove, and that may be a success. */
function expectNothingRemoved(): Check {
  const before = world.inside();
  return (answer, what) => {
    if (answer.error === undefined) expect(answer.result, what).toEqual({});
    expect(world.inside(), what).toEqual(before);
  };
}

function expectServed(method: string, params: Record<string, unknown>, { path, exists }: Location): Check {
  const stat = exists ? lstatSync(path) : undefined;
  const succeeds = (check: (result: Message["result"]) => void = () => {}): Check => {
    return (answer, what) => {
      expect(answer.error, what).toBeUndefined();
      check(answer.result);
    };
  };
  const contents = stat?.isFile() ? readFileSync(path) : undefined;
  switch (method) {
    case "fs/readFile":
      if (contents === undefined) return expectRefusal;
      return succeeds((result) => expect(result).toEqual({ dataBase64: base64(contents) }));
    case "fs/getMetadata":
      if (stat === undefined) return expectRefusal;
      return succeeds((result) =>
        expect(result).toMatchObject({ isFile: stat.isFile(), isDirectory: stat.isDirectory() }),
      );
    case "fs/canonicalize":
      return stat === undefined
        ? expectRefusal
        : succeeds((result) => expect(result).toEqual({ path: `file://${path}` }));
    case "fs/chmod":
      if (stat === undefined || path === world.root) return expectRefusal;
      return succeeds(() => expect(lstatSync(path).mode & 0o7777).toBe(0o700));
    case "fs/readLink": {
      if (!stat?.isSymbolicLink()) return expectRefusal;
      const target = readlinkSync(path);
      return succeeds((result) => expect(result).toEqual({ target }));
    }
    case "fs/symlink": {
      const parent = lstatSync(dirname(path), { throwIfNoEntry: false });
      const isFree = stat === undefined || (params["replace"] === true && !stat.isDirectory());
      if (!isFree || !parent?.isDirectory()) return expectRefusal;
      return succeeds(() => expect(readlinkSync(path)).toBe(params["target"]));
    }
    case "fs/readDirectory":
      if (!stat?.isDirectory()) return expectRefusal;
      if (params["detailed"] === true)
        return succeeds(({ entries }: { entries: { fileName: string }[] }) =>
          expect(entries.map(({ fileName }) => fileName).toSorted()).toEqual(readdirSync(path).toSorted()),
        );
      return succeeds(({ entries }: { entries: { fileName: string }[] }) =>
        expect(entries.map(({ fileName }) => fileName).toSorted()).toEqual(listed(path)),
      );
    case "fs/watch":
      return stat?.isDirectory() ? succeeds() : () => {};
    case "fs/writeFile": {
      const parent = lstatSync(dirname(path), { throwIfNoEntry: false });
      if (stat?.isDirectory() || !parent?.isDirectory()) return expectRefusal;
      return succeeds(() => expect(readFileSync(path, "utf8")).toBe("written"));
    }
    case "fs/remove": {
      if (world.root === path) return expectRefusal;
      const isEmpty = !stat?.isDirectory() || readdirSync(path).length === 0;
      if (stat === undefined || (params["recursive"] === false && !isEmpty)) return () => {};
      return succeeds(() => expect(lstatSync(path, { throwIfNoEntry: false })).toBeUndefined());
    }
    case "fs/rename":
      return path === world.root ? expectRefusal : () => {};
    default:
      return () => {};
  }
}

function listed(directory: string): string[] {
  return readdirSync(directory)
    .filter((entry) => {
      const { path, exists, astray } = locate(join(directory, entry), { followLast: true });
      return exists && !astray && world.contains(path);
    })
    .toSorted();
}

function expectDiscovery({ astray, exists, path }: Location, isInside: boolean): Check {
  const isDirectory = exists && !astray && isInside && statSync(path).isDirectory();
  return ({ result }, what) => {
    const [root] = result.roots;
    expect(root.error === null, what).toBe(isDirectory);
    expect(root.namespaceManifests, what).toEqual([]);
  };
}

/** Only what is in the root has the project's settings. */
function expectConfig({ astray, exists, path }: Location): Check {
  const isInside = !astray && exists && world.contains(path) && statSync(path).isDirectory();
  const settings = join(world.root, ".codex/config.toml");
  const hasSettings =
    lstatSync(settings, { throwIfNoEntry: false })?.isFile() && readFileSync(settings, "utf8").includes(MINE);
  return ({ result, error }, what) => {
    if (error !== undefined) return;
    const text = JSON.stringify(result.config);
    if (!isInside) expect(text, what).not.toContain("project");
    else if (hasSettings && path === world.root) expect(text, what).toContain(MINE);
  };
}

/** The answer may repeat the request. */
function expectNoTrace(text: string, asked: string, what: string): void {
  for (const trace of [...TRACES, HIDDEN])
    expect(text.includes(trace) && !asked.includes(trace), what).toBe(false);
}

async function readThrough(
  peer: RawPeer,
  params: Record<string, unknown>,
  { error }: Message,
  what: string,
): Promise<void> {
  const { handleId } = params;
  if (handleId === undefined || error !== undefined) return;
  if (params["mode"] === "replace")
    await peer.call("fs/writeBlock", { handleId, offset: 0, chunk: base64("replaced") });
  const block = await peer.call("fs/readBlock", { handleId, offset: 0, len: 1000 });
  expectNoTrace(JSON.stringify(block), "", what);
  await peer.request("fs/close", { handleId });
}

/** The kernel reports which inodes a program watches. Returns their number. */
function expectNothingWatchedOutside(what: string): number {
  const forbidden = world.forbiddenInodes();
  let count = 0;
  for (const fd of readdirSync("/proc/self/fdinfo")) {
    let info: string;
    try {
      info = readFileSync(`/proc/self/fdinfo/${fd}`, "utf8");
    } catch {
      continue; // It was that of the directory itself.
    }
    for (const [, inode = ""] of info.matchAll(/^inotify wd:\S+ ino:(\S+)/gm)) {
      expect(forbidden.has(inode), `${what} watches outside`).toBe(false);
      count += 1;
    }
  }
  return count;
}

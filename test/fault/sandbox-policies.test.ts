import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import * as fc from "fast-check";
import { afterAll, beforeAll, expect, it } from "vitest";
import { createServer, type Server } from "../../src/server/index.ts";
import { createMemoryPair } from "../../src/transport/memory.ts";
import { openMemoryPeer, type RawPeer } from "../conformance/raw-peer.ts";
import { accessOf, MINIMAL, pathEntry, sandboxOf } from "../conformance/sandbox-probe.ts";
import { faultRounds, runSeed } from "./seeded-random.ts";

type Access = "read" | "write" | "deny";
type Rule = readonly [path: string, access: Access];

const RUNS = 30;
const PROTECTED = [".git", ".agents", ".codex", ".aws"];
const FILES = ["f", "a/f", "a/.git/f", "a/.git/hooks/f", "a/b/f", "a/b/.codex/f", "a/b/c/f", "d/f", "d/.git"];
const DIRECTORIES = ["", "a", "a/.git", "a/.git/hooks", "a/b", "a/b/.codex", "a/b/c", "d"];

let root: string;
let server: Server;
let connection: RawPeer;

beforeAll(async () => {
  root = realpathSync(mkdtempSync(join(tmpdir(), "exec-server-policies-")));
  for (const file of FILES) {
    mkdirSync(dirname(join(root, file)), { recursive: true });
    writeFileSync(join(root, file), "text");
  }
  server = createServer({ environment: { ...process.env } });
  const [ours, theirs] = createMemoryPair();
  connection = openMemoryPeer(ours);
  server.accept(theirs);
  await connection.handshake();
});

afterAll(async () => {
  await server.close();
  rmSync(root, { recursive: true, force: true });
});

/** What the rules say about a file: the most specific one wins, and protected names are read-only. */
function expected(rules: readonly Rule[], file: string): string {
  const implied = rules
    .filter(
      ([path, access]) =>
        access === "write" && DIRECTORIES.includes(path) && strongest(rules, path) === "write",
    )
    .flatMap(([path]) => PROTECTED.map((name): Rule => [path === "" ? name : `${path}/${name}`, "read"]))
    .filter(([path]) => strongest(rules, path) === undefined);
  const all = [...rules, ...implied];
  for (let at = file; ; at = at.includes("/") ? dirname(at) : "") {
    const access = strongest(all, at);
    if (access !== undefined) return access;
    if (at === "") return "none";
  }
}

function strongest(rules: readonly Rule[], path: string): Access | undefined {
  const found = rules.filter(([each]) => each === path).map(([, access]) => access);
  return (["deny", "write", "read"] as const).find((access) => found.includes(access));
}

function meaning(state: string): string {
  if (state === "rw") return "write";
  if (state === "r-") return "read";
  return state === "" || state === "--" ? "hidden" : state;
}

it("random policies allow what their rules say, and nothing else", async () => {
  const rule = fc.tuple(
    fc.constantFrom(...FILES, ...DIRECTORIES, ...DIRECTORIES),
    fc.constantFrom<Access>("read", "write", "deny"),
  );
  await fc.assert(
    fc.asyncProperty(fc.uniqueArray(rule, { maxLength: 7 }), async (rules) => {
      const entries = rules.map(([path, access]) => pathEntry(pathToFileURL(join(root, path)).href, access));
      const tree = { path: (name: string) => join(root, name) };
      const states = await accessOf({ connection, tree }, sandboxOf([MINIMAL, ...entries]), FILES);
      const found = Object.fromEntries(FILES.map((file) => [file, meaning(states[file]!)]));
      const wanted = FILES.map((file) => {
        const access = expected(rules, file);
        return [file, access === "deny" || access === "none" ? "hidden" : access];
      });
      expect(found).toEqual(Object.fromEntries(wanted));
    }),
    { numRuns: RUNS * faultRounds, seed: runSeed },
  );
});

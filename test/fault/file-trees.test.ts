import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import fc from "fast-check";
import { afterAll, beforeAll, describe, it } from "vitest";
import { type BytePath, fromText, joinPath } from "./byte-path.ts";
import { type Operation, type Place, randomOperation, runOperation } from "./file-operations.ts";
import { buildTree, type Entry, MAX_TREE_DEPTH, type NamedEntry, randomTree } from "./random-tree.ts";
import { faultRounds, runSeed } from "./seeded-random.ts";
import { type ServerUnderTest, startServer, targetIsCodex } from "./server-under-test.ts";
import { openSession, type SessionClient } from "./session-client.ts";

const TREES = 100;
const MAX_OPERATIONS = 16;
const LONG_FORM_MS = 20 * 60_000;
// The time limit is there for the search for a small example after a failure.
const SEARCH = {
  seed: runSeed,
  numRuns: TREES * faultRounds,
  interruptAfterTimeLimit: 300_000 * faultRounds,
  markInterruptAsFailure: true,
};
// A relative link that is copied to a higher directory leads out of the tree. It must not lead out of what belongs to
// the test.
const PADDING = "/p".repeat(2 * MAX_TREE_DEPTH + 2);

const directory: Entry = { kind: "directory", mode: 0o755, entries: [] };
const link = (target: "nothing" | "itself"): Entry => ({ kind: "link", absolute: false, target, index: 0 });

/** A copy of the directory `from` (the root when it is empty) to `b`. Chance brings these too seldom. */
function copyToB(
  from: "" | "a",
  b: Entry,
  below: "itself" | "missing" = "itself",
): [NamedEntry[], Operation[]] {
  const spot = (path: string) => ({ index: ["", "a", "b"].indexOf(path), namesake: 0 });
  return [
    [
      { name: "a", entry: directory },
      { name: "b", entry: b },
    ],
    [
      {
        method: "fs/copy",
        at: { ...spot(from), below: "itself" },
        to: { ...spot("b"), below },
        recursive: true,
      },
    ],
  ];
}

const EXAMPLES = [
  copyToB("a", link("nothing")),
  copyToB("a", link("nothing"), "missing"),
  copyToB("a", link("itself")),
  copyToB("a", { kind: "fifo" }),
  copyToB("", link("itself")),
  copyToB("", { kind: "fifo" }, "missing"),
];

describe("files of a random tree", () => {
  let base: BytePath;
  let ours: ServerUnderTest;
  let codex: ServerUnderTest;
  let run = 0;

  beforeAll(async () => {
    base = fromText(mkdtempSync("/var/tmp/exec-server-trees-"));
    [ours, codex] = await Promise.all([startServer(), startServer({ codex: true })]);
  });

  afterAll(async () => {
    await Promise.all([ours?.[Symbol.asyncDispose](), codex?.[Symbol.asyncDispose]()]);
    rmSync(base, { recursive: true, force: true });
  });

  /** Another copy of the same tree. */
  function makePlace(name: string, tree: readonly NamedEntry[]): Place {
    const home = joinPath(base, `${run}/${name}`);
    const root = `${home}${PADDING}`;
    mkdirSync(root, { recursive: true });
    buildTree(root, tree);
    return { home, root };
  }

  async function compare(
    servers: readonly SessionClient[],
    tree: readonly NamedEntry[],
    operations: readonly Operation[],
  ): Promise<void> {
    run += 1;
    const model = makePlace("m", tree);
    const sides = servers.map((server, index) => ({
      server,
      place: makePlace(String(index), tree),
      isCodex: index > 0 || targetIsCodex,
    }));
    try {
      for (const operation of operations) {
        if ((await runOperation(operation, model, sides)) === "over") return;
      }
    } finally {
      rmSync(joinPath(base, String(run)), { recursive: true });
    }
  }

  it(
    "are what the file system says and what the real server says",
    async () => {
      const servers = [await openSession(ours.url), await openSession(codex.url)];
      await fc.assert(
        fc.asyncProperty(
          randomTree({ raw: false }),
          fc.array(randomOperation, { minLength: 1, maxLength: MAX_OPERATIONS, size: "max" }),
          (tree, operations) => compare(servers, tree, operations),
        ),
        { ...SEARCH, examples: EXAMPLES },
      );
    },
    LONG_FORM_MS,
  );

  it(
    "are what the file system says where names are not UTF-8",
    async () => {
      const servers = [await openSession(ours.url)];
      await fc.assert(
        fc.asyncProperty(
          randomTree({ raw: true }),
          fc.array(randomOperation, { minLength: 1, maxLength: MAX_OPERATIONS, size: "max" }),
          (tree, operations) => compare(servers, tree, operations),
        ),
        { ...SEARCH, examples: EXAMPLES },
      );
    },
    LONG_FORM_MS,
  );
});

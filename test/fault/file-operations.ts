import { existsSync } from "node:fs";
import { inspect, isDeepStrictEqual } from "node:util";
import fc from "fast-check";
import { type BytePath, fromUri, joinPath, onDisk, toUri } from "./byte-path.ts";
import { isOverlapping } from "./copy-overlap.ts";
import * as model from "./file-model.ts";
import { RpcFailure, type SessionClient } from "./session-client.ts";
import { takeSnapshot, type TreeSnapshot } from "./tree-snapshot.ts";

/**
 * A tree on disk. `home` is the directory that belongs to it alone; links may lead out of `root`, but not out of
 * `home`.
 */
export interface Place {
  home: BytePath;
  root: BytePath;
}

/** A path of the tree, chosen when the operation runs: what is there depends on the operations before. */
interface Spot {
  index: number;
  below: "itself" | "missing" | "namesake";
  namesake: number;
}

export type Operation =
  | { method: "fs/walk"; at: Spot; options: model.WalkOptions }
  | { method: "fs/readDirectory" | "fs/canonicalize"; at: Spot }
  | { method: "fs/getMetadata"; at: Spot; followSymlinks: boolean }
  | { method: "fs/copy"; at: Spot; to: Spot; recursive: boolean }
  | { method: "fs/remove"; at: Spot; options: model.RemoveOptions };

const randomSpot: fc.Arbitrary<Spot> = fc.record({
  index: fc.nat(1000),
  below: fc.oneof(
    { weight: 5, arbitrary: fc.constant("itself" as const) },
    { weight: 1, arbitrary: fc.constant("missing" as const) },
    { weight: 2, arbitrary: fc.constant("namesake" as const) },
  ),
  namesake: fc.nat(1000),
});

const walkOptions: fc.Arbitrary<model.WalkOptions> = fc.record({
  maxDepth: fc.oneof(fc.constant(64), fc.nat(3)),
  maxDirectories: fc.oneof(fc.constant(10_000), fc.integer({ min: 1, max: 6 })),
  maxEntries: fc.oneof(fc.constant(50_000), fc.integer({ min: 1, max: 20 })),
  followDirectorySymlinks: fc.boolean(),
  pruneHiddenDirectories: fc.boolean(),
});

export const randomOperation: fc.Arbitrary<Operation> = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record({ method: fc.constant("fs/walk" as const), at: randomSpot, options: walkOptions }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      method: fc.constantFrom("fs/readDirectory" as const, "fs/canonicalize" as const),
      at: randomSpot,
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      method: fc.constant("fs/getMetadata" as const),
      at: randomSpot,
      followSymlinks: fc.boolean(),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      method: fc.constant("fs/copy" as const),
      at: randomSpot,
      to: randomSpot,
      recursive: fc.oneof({ weight: 4, arbitrary: fc.constant(true) }, fc.constant(false)),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      method: fc.constant("fs/remove" as const),
      at: randomSpot,
      options: fc.record({ recursive: fc.boolean(), force: fc.boolean(), followSymlinks: fc.boolean() }),
    }),
  },
);

export interface Side {
  server: SessionClient;
  place: Place;
  isCodex: boolean;
}

/** The real server drops these characters from the paths it walks, and then does not find them. */
const LOST_BY_CODEX = /[\t\n\r]/;

/**
 * Asks every server about its own copy of the tree, and compares with the model. "over" if the trees are no longer the
 * same.
 */
export async function runOperation(
  operation: Operation,
  modelPlace: Place,
  sides: readonly Side[],
): Promise<"over" | undefined> {
  const paths = existsSync(onDisk(modelPlace.root)) ? [...takeSnapshot(modelPlace.root).keys()] : [];
  const at = choose(operation.at, paths);
  if (operation.method === "fs/copy")
    return runCopy(at, choose(operation.to, paths), operation.recursive, modelPlace, sides);
  if (operation.method === "fs/remove") {
    const { options } = operation;
    const expected = attempt(() => model.remove(joinPath(modelPlace.root, at), options));
    await eachSide(sides, async ({ server, place }) => {
      const params = { path: toUri(joinPath(place.root, at)), ...options };
      demand(await answer(server, "fs/remove", params), expected ?? {}, () => `fs/remove ${inspect(params)}`);
      demandTree(snapshotOf(place), snapshotOf(modelPlace), () => `fs/remove ${inspect(params)}`);
    });
    return undefined;
  }
  const isLost = operation.method === "fs/walk" && paths.some((path) => LOST_BY_CODEX.test(path));
  const targets = await eachSide(
    sides.filter(({ isCodex }) => !isCodex || !isLost),
    async ({ server, place }) => {
      const answered = await runLook(operation, joinPath(place.root, at), server);
      // The names only: the real server keeps the spelling of the path it was asked about.
      return urisIn(answered).map((uri) => uri.slice(uri.lastIndexOf("/")));
    },
  );
  for (const spelling of targets) demand(spelling, targets.at(-1), () => "the spelling of URIs");
  return undefined;
}

type Look = Exclude<Operation, { method: "fs/copy" | "fs/remove" }>;

/** Requests that change nothing are compared with the model of the same tree, including times. */
async function runLook(operation: Look, path: BytePath, server: SessionClient): Promise<LookResult> {
  const { at: _, method, ...more } = operation;
  const params = { path: toUri(path), ...more };
  const actual = await answer(server, method, params);
  const expected = attempt(() => lookUp(operation, path));
  demand(readable(actual), expected, () => `${method} ${inspect(params)}`);
  return actual;
}

function lookUp(operation: Look, path: BytePath): unknown {
  switch (operation.method) {
    case "fs/walk":
      return { ...model.walk(path, operation.options), errors: [] };
    case "fs/readDirectory":
      return { entries: inOrder(model.readDirectory(path)) };
    case "fs/canonicalize":
      return { path: model.canonicalize(path) };
    case "fs/getMetadata":
      return model.getMetadata(path, operation.followSymlinks);
  }
}

interface LookResult {
  path?: string;
  entries?: { path?: string; fileName?: string }[];
  createdAtMs?: number;
  code?: number;
}

const urisIn = ({ path, entries = [] }: LookResult): string[] =>
  [path, ...entries.map((entry) => entry.path)].filter((uri) => uri !== undefined);

/** An answer in the terms of the model: paths instead of URIs, listings in order. */
function readable(actual: LookResult): unknown {
  const { createdAtMs: _, ...rest } = actual;
  if (actual.path !== undefined) return { ...rest, path: fromUri(actual.path) };
  if (actual.entries === undefined) return rest;
  const isListing = actual.entries.some(({ fileName }) => fileName !== undefined);
  if (isListing) return { ...rest, entries: inOrder(actual.entries) };
  return {
    ...rest,
    entries: actual.entries.map((entry) => ({ ...entry, path: fromUri(entry.path ?? "") })),
  };
}

/** A directory is listed in any order. */
const inOrder = (entries: readonly object[]): object[] =>
  [...entries].sort((left, right) =>
    inspect(left, { sorted: true }) < inspect(right, { sorted: true }) ? -1 : 1,
  );

async function runCopy(
  at: BytePath,
  to: BytePath,
  recursive: boolean,
  modelPlace: Place,
  sides: readonly Side[],
): Promise<"over" | undefined> {
  const source = joinPath(modelPlace.root, at);
  const destination = joinPath(modelPlace.root, to);
  const before = snapshotOf(modelPlace);
  let failures: ReadonlySet<number>;
  try {
    model.checkCopy(source, destination, recursive);
    if (isOverlapping(source, destination)) return undefined;
    failures = model.copy(source, destination);
  } catch (error) {
    failures = new Set([model.codeOf(error)]);
  }
  const after = snapshotOf(modelPlace);
  await eachSide(sides, async ({ server, place }) => {
    const params = {
      sourcePath: toUri(joinPath(place.root, at)),
      destinationPath: toUri(joinPath(place.root, to)),
      recursive,
    };
    const what = () => `fs/copy ${inspect(params)}`;
    const result = await answer(server, "fs/copy", params);
    if (failures.size === 0) {
      demand(result, {}, what);
      demandTree(snapshotOf(place), after, what);
    } else {
      if (!failures.has(result.code ?? 0)) demand(result, { code: failures }, what);
      demandBetween(before, snapshotOf(place), after, what);
    }
  });
  return failures.size > 0 && !isDeepStrictEqual(before, after) ? "over" : undefined;
}

const snapshotOf = ({ home }: Place): TreeSnapshot => takeSnapshot(home, home);

/** Like `toEqual`, but shows everything: the trees that fail are small. */
function demand(actual: unknown, expected: unknown, what: () => string): void {
  if (isDeepStrictEqual(actual, expected)) return;
  const show = (value: unknown): string => inspect(value, { depth: null, sorted: true });
  throw new Error(`${what()}\nanswered ${show(actual)}\ninstead of ${show(expected)}`);
}

function demandTree(actual: TreeSnapshot, expected: TreeSnapshot, what: () => string): void {
  const differences = [...new Set([...actual.keys(), ...expected.keys()])]
    .filter((path) => actual.get(path) !== expected.get(path))
    .map((path) => ({ path, actual: actual.get(path), expected: expected.get(path) }));
  demand(differences, [], () => `${what()} left a different tree`);
}

/** A copy that failed has done a part of it: nothing is gone, and each entry is as before or as it would be after. */
function demandBetween(
  before: TreeSnapshot,
  actual: TreeSnapshot,
  after: TreeSnapshot,
  what: () => string,
): void {
  const expected = new Map(
    [...before, ...actual].map(([path, entry]) => [
      path,
      actual.get(path) === before.get(path) ? entry : (after.get(path) ?? "nothing"),
    ]),
  );
  demandTree(actual, expected, what);
}

function choose({ index, below, namesake }: Spot, paths: readonly BytePath[]): BytePath {
  const path = paths[index % paths.length] ?? "";
  if (below === "itself") return path;
  const other = paths[namesake % paths.length] ?? "";
  const name = below === "missing" ? "missing" : other.slice(other.lastIndexOf("/") + 1);
  if (name === "") return path;
  return path === "" ? name : joinPath(path, name);
}

function attempt(work: () => unknown): unknown {
  try {
    return work();
  } catch (error) {
    return { code: model.codeOf(error) };
  }
}

async function answer(server: SessionClient, method: string, params: object): Promise<LookResult> {
  try {
    return await server.request<LookResult>(method, params);
  } catch (error) {
    if (!(error instanceof RpcFailure)) throw error;
    return { code: error.code };
  }
}

/** Which server it was belongs into the message. */
async function eachSide<T>(sides: readonly Side[], work: (side: Side) => Promise<T>): Promise<T[]> {
  const outcomes = await Promise.allSettled(sides.map((side) => work(side)));
  const failures = outcomes.flatMap((outcome, index) =>
    outcome.status === "rejected" ? [`server ${index}: ${(outcome.reason as Error).message}`] : [],
  );
  if (failures.length > 0) throw new Error(failures.join("\n"));
  return outcomes.flatMap((outcome) => (outcome.status === "fulfilled" ? [outcome.value] : []));
}

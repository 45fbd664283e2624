import { base64 } from "./verifies.ts";
import type { TempTree } from "./temp-tree.ts";

/** A walk of everything. */
export const WALK_OPTIONS = {
  maxDepth: 64,
  maxDirectories: 10_000,
  maxEntries: 50_000,
  followDirectorySymlinks: false,
};

/** Params that each method accepts: the required members, in the order in which a missing one is noticed. */
export function paramsOf(tree: TempTree): Record<string, Record<string, unknown>> {
  return {
    "fs/readFile": { path: tree.uri("f") },
    "fs/open": { handleId: "h", path: tree.uri("f") },
    "fs/readBlock": { handleId: "h", offset: 0, len: 1 },
    "fs/writeBlock": { handleId: "w", offset: 0, chunk: base64("x") },
    "fs/close": { handleId: "h" },
    "fs/writeFile": { path: tree.uri("written"), dataBase64: base64("x") },
    "fs/createDirectory": { path: tree.uri("made") },
    "fs/getMetadata": { path: tree.uri("f") },
    "fs/canonicalize": { path: tree.uri("f") },
    "fs/readDirectory": { path: tree.uri("d") },
    "fs/walk": { path: tree.uri("d"), options: WALK_OPTIONS },
    "fs/remove": { path: tree.uri("missing") },
    "fs/copy": { sourcePath: tree.uri("f"), destinationPath: tree.uri("copy"), recursive: false },
    "fs/watchMissing": { watchId: 1, missing: [tree.uri("new")] },
  };
}

/** The tree that the params are about. */
export const PARAMS_TREE = { f: "contents", d: {} };
const HANDLE_METHODS = ["fs/readBlock", "fs/writeBlock", "fs/close", "fs/watchMissing"];

/** The methods that take a path and a sandbox. */
export function pathParamsOf(tree: TempTree): [method: string, params: Record<string, unknown>][] {
  return Object.entries(paramsOf(tree)).filter(([method]) => !HANDLE_METHODS.includes(method));
}

/** For each method and each of its paths: the params with another path there. */
export function withPath(tree: TempTree, path: unknown): [method: string, params: Record<string, unknown>][] {
  return pathParamsOf(tree).flatMap(([method, params]) =>
    Object.keys(params)
      .filter((member) => member.toLowerCase().endsWith("path"))
      .map((member): [string, Record<string, unknown>] => [method, { ...params, [member]: path }]),
  );
}

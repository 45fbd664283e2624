import { writeFile } from "node:fs/promises";
import { expect } from "vitest";
import type { RawPeer } from "./raw-peer.ts";
import type { TempTree, TreeContext } from "./temp-tree.ts";

/** The paths of a watch, as names of a tree. */
export interface Watch {
  missing: readonly string[];
  present?: string;
}

/** Asks to watch names of the tree; whether the server does. */
export async function watch(
  peer: RawPeer,
  tree: TempTree,
  watchId: number,
  { missing, present }: Watch,
): Promise<boolean> {
  const result = await peer.request("fs/watchMissing", {
    watchId,
    missing: missing.map((name) => tree.uri(name)),
    ...(present !== undefined && { present: tree.uri(present) }),
  });
  expect(Object.keys(result)).toEqual(["watching"]);
  return result.watching;
}

/** The next notification that a watch has fired. */
export const fired = (peer: RawPeer) => peer.nextNotification("fs/missingChanged");

/** The ids of all watches that have fired, in order. */
export function firedIds(peer: RawPeer): number[] {
  return peer.notifications
    .filter(({ method }) => method === "fs/missingChanged")
    .map(({ params }) => params.watchId);
}

export const touch = (tree: TempTree, name: string) => writeFile(tree.path(name), "");

/** Each change must fire a watch that was made right before it. */
export async function eachFires(
  { connection, tree }: TreeContext,
  changes: readonly (Watch & { change: () => Promise<unknown> })[],
): Promise<void> {
  for (const [index, { change, ...watched }] of changes.entries()) {
    const watchId = index + 1;
    expect(await watch(connection, tree, watchId, watched), `watch ${watchId}`).toBe(true);
    await change();
    expect((await fired(connection)).params).toEqual({ watchId });
  }
}

/**
 * None of the changes may fire the watch. That the server has seen them is shown by the watch of another connection: it waits
 * for a name that is made after them.
 */
export async function noneFires(
  { connection, peer, tree }: TreeContext,
  { change, ...watched }: Watch & { change: () => Promise<unknown> },
): Promise<void> {
  const witness = await peer();
  expect(await watch(connection, tree, 1, watched)).toBe(true);
  expect(await watch(witness, tree, 1, { missing: ["witness"] })).toBe(true);
  await change();
  await touch(tree, "witness");
  await fired(witness);
  await connection.request("environment/status");
  expect(firedIds(connection)).toEqual([]);
  await touch(tree, watched.missing[0] ?? "");
  expect((await fired(connection)).params).toEqual({ watchId: 1 });
}

import { mkdir, rename, rm, writeFile } from "node:fs/promises";
import { expect } from "vitest";
import { run } from "./process-events.ts";
import type { RawPeer } from "./raw-peer.ts";
import { onTree, type TempTree } from "./temp-tree.ts";
import { expectError, verifies } from "./verifies.ts";

interface Change {
  watchId: string;
  paths: string[];
  overflow: boolean;
  ended: boolean;
}

async function nextChange(peer: RawPeer): Promise<Change> {
  return (await peer.next(({ method }) => method === "fs/watch/changed")).params;
}

/** Waits until exactly these names have been reported. Those of `before` may be repeated: a change is several events. */
async function expectTold(
  peer: RawPeer,
  tree: TempTree,
  names: readonly string[],
  before: readonly string[] = [],
): Promise<void> {
  const wanted = names.map((name) => tree.uri(name)).toSorted();
  const repeated = new Set(before.map((name) => tree.uri(name)).filter((path) => !wanted.includes(path)));
  const told = new Set<string>();
  while (told.size < wanted.length)
    for (const path of (await nextChange(peer)).paths) if (!repeated.has(path)) told.add(path);
  expect([...told].toSorted()).toEqual(wanted);
}

function changes(peer: RawPeer): Change[] {
  return peer.notifications.filter(({ method }) => method === "fs/watch/changed").map(({ params }) => params);
}

verifies(
  "files.watch:directory",
  onTree({ changed: "a", removed: "b", deep: {} }, async ({ connection, on, tree }) => {
    expect(await on("fs/watch", "", { watchId: "w" })).toEqual({});
    await writeFile(tree.path("deep/inner"), "");
    await writeFile(tree.path("created"), "");
    await writeFile(tree.path("changed"), "more");
    await rm(tree.path("removed"));
    await expectTold(connection, tree, ["created", "changed", "removed"]);
    expect(
      changes(connection).every(({ watchId, overflow, ended }) => watchId === "w" && !overflow && !ended),
    ).toBe(true);
  }),
);

verifies(
  "files.watch:recursive",
  onTree({ old: {} }, async ({ connection, on, tree }) => {
    await on("fs/watch", "", { watchId: "w", recursive: true });
    await writeFile(tree.path("old/inner"), "");
    await expectTold(connection, tree, ["old/inner"]);
    await mkdir(tree.path("new/deeper"), { recursive: true });
    await expectTold(connection, tree, ["new", "new/deeper"], ["old/inner"]);
    await writeFile(tree.path("new/deeper/file"), "");
    await expectTold(connection, tree, ["new/deeper/file"], ["new", "new/deeper"]);
    await rename(tree.path("new"), tree.path("moved"));
    const moved = ["new", "moved", "moved/deeper", "moved/deeper/file"];
    await expectTold(connection, tree, moved, ["new/deeper/file"]);
    await writeFile(tree.path("moved/deeper/file"), "text");
    await expectTold(connection, tree, ["moved/deeper/file"], moved);
  }),
);

verifies(
  "files.watch:file",
  onTree({ file: "one", other: "" }, async ({ connection, on, tree }) => {
    await on("fs/watch", "file", { watchId: "w", recursive: true });
    for (let round = 0; round < 2; round += 1) {
      await writeFile(tree.path("other"), `${round}`);
      await writeFile(tree.path("next"), "two");
      await rename(tree.path("next"), tree.path("file"));
      expect(await nextChange(connection)).toEqual({
        watchId: "w",
        paths: [tree.uri("file")],
        overflow: false,
        ended: false,
      });
    }
  }),
);

verifies(
  "files.watch:burst",
  onTree({}, async ({ connection, on, tree }) => {
    await on("fs/watch", "", { watchId: "w" });
    const script = "i=0; while [ $i -lt 3000 ]; do : > file$i; i=$((i+1)); done";
    await run(connection, "p", ["/bin/sh", "-c", script], { cwd: tree.uri() });
    const told = new Set<string>();
    let overflow = false;
    while (!overflow && told.size < 3000) {
      const change = await nextChange(connection);
      expect(change.paths.length).toBeLessThanOrEqual(1024);
      for (const path of change.paths) told.add(path);
      overflow ||= change.overflow;
    }
    expect(overflow || told.size === 3000).toBe(true);
  }),
);

verifies(
  "files.watch:ended",
  onTree({ directory: { inner: {} } }, async ({ connection, on, tree }) => {
    for (let round = 0; round < 2; round += 1) {
      await on("fs/watch", "directory", { watchId: "w", recursive: true });
      await rm(tree.path("directory"), { recursive: true });
      const told: Change[] = [];
      while (told.at(-1)?.ended !== true) told.push(await nextChange(connection));
      expect(told.at(-1)?.paths).toContain(tree.uri("directory"));
      await mkdir(tree.path("directory/inner"), { recursive: true });
    }
  }),
);

verifies(
  "files.watch:unwatch",
  onTree({}, async ({ connection, on, tree }) => {
    await on("fs/watch", "", { watchId: "first" });
    await on("fs/watch", "", { watchId: "second" });
    expect(await connection.request("fs/unwatch", { watchId: "first" })).toEqual({});
    expect(await connection.request("fs/unwatch", { watchId: "first" })).toEqual({});
    await writeFile(tree.path("file"), "");
    await expectTold(connection, tree, ["file"]);
    expect(changes(connection).map(({ watchId }) => watchId)).not.toContain("first");
  }),
);

verifies(
  "files.watch:refuses",
  onTree({}, async ({ connection, on }) => {
    await expectError(on("fs/watch", "missing", { watchId: "w" }), -32004);
    await on("fs/watch", "", { watchId: "w" });
    await expectError(on("fs/watch", "", { watchId: "w" }), -32600, "fs/watch: the watch id w is in use");
    await expectError(
      connection.request("fs/watch", { watchId: "proc", path: "file:///proc" }),
      -32603,
      "/proc: this file system does not report changes",
    );
    await expectError(connection.request("fs/watch", { watchId: "x", path: "relative" }), -32602);
  }),
);

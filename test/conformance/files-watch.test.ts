import { unlink } from "node:fs/promises";
import { expect } from "vitest";
import { eachFires, fired, firedIds, touch, watch } from "./missing-watch.ts";
import { resume } from "./session-peers.ts";
import { fifo, LONG_NAME, link, onTree } from "./temp-tree.ts";
import { expectError, verifies } from "./verifies.ts";

verifies(
  "fs.watchMissing:watching",
  onTree({ d: {} }, async ({ connection, tree }) => {
    expect(await watch(connection, tree, 1, { missing: ["new"] })).toBe(true);
    expect(await watch(connection, tree, 2, { missing: ["a/b/c/d", "d/new", "new"] })).toBe(true);
    expect(await watch(connection, tree, 3, { missing: ["new", "new"] })).toBe(true);
    expect(await watch(connection, tree, Number.MAX_SAFE_INTEGER, { missing: ["new"] })).toBe(true);
    expect(firedIds(connection)).toEqual([]);
  }),
);

verifies("fs.watchMissing:nothing", async ({ peer }) => {
  const result = await (await peer()).request("fs/watchMissing", { watchId: 1, missing: [] });
  expect(result).toEqual({ watching: false });
});

verifies(
  "fs.watchMissing:exists",
  onTree({ f: "", d: {}, lf: link("f"), broken: link("nowhere"), fifo }, async ({ connection, tree }) => {
    for (const [index, name] of ["f", "d", "lf", "broken", "fifo", ""].entries()) {
      expect(await watch(connection, tree, index + 1, { missing: ["new", name] }), name).toBe(false);
    }
  }),
);

verifies(
  "fs.watchMissing:count",
  onTree({}, async ({ connection, tree }) => {
    const paths = Array.from({ length: 65 }, (_, index) => `new${index}`);
    expect(await watch(connection, tree, 1, { missing: paths })).toBe(false);
    expect(await watch(connection, tree, 2, { missing: paths.map(() => "new") })).toBe(false);
    expect(await watch(connection, tree, 3, { missing: paths.slice(0, 64) })).toBe(true);
    await touch(tree, "new63");
    expect((await fired(connection)).params).toEqual({ watchId: 3 });
  }),
);

verifies(
  "fs.watchMissing:below-file",
  onTree({ f: "", d: {}, ld: link("d"), broken: link("nowhere") }, async ({ connection, tree }) => {
    for (const [index, name] of ["f/x", "ld/x", "broken/x", LONG_NAME].entries()) {
      expect(await watch(connection, tree, index + 1, { missing: [name] }), name).toBe(false);
    }
  }),
);

verifies(
  "fs.watchMissing:no-events",
  onTree({}, async ({ connection, tree }) => {
    const ask = (params: object) => connection.request("fs/watchMissing", params);
    const missing = [tree.uri("new")];
    expect(await ask({ watchId: 1, missing: ["file:///proc/missing"] })).toEqual({ watching: false });
    expect(await ask({ watchId: 2, missing: ["file:///sys/missing"] })).toEqual({ watching: false });
    expect(await ask({ watchId: 3, missing, present: "file:///proc/version" })).toEqual({ watching: false });
    expect(await ask({ watchId: 4, missing })).toEqual({ watching: true });
  }),
);

verifies(
  "fs.watchMissing:present",
  onTree(
    { f: "", d: {}, lf: link("f"), ld: link("d"), broken: link("nowhere") },
    async ({ connection, tree }) => {
      for (const [index, [present, watching]] of (
        [
          ["f", true],
          ["d", true],
          ["missing", false],
          ["lf", false],
          ["ld", false],
          ["broken", false],
        ] as const
      ).entries()) {
        const result = await watch(connection, tree, index + 1, { missing: ["new"], present });
        expect(result, present).toBe(watching);
      }
      const none = { watchId: 99, missing: [tree.uri("new")], present: null };
      expect(await connection.request("fs/watchMissing", none)).toEqual({ watching: true });
    },
  ),
);

verifies(
  "fs.watchMissing:foreign",
  onTree({}, async ({ connection, tree }) => {
    const ask = (params: object) => connection.request("fs/watchMissing", params);
    const missing = [tree.uri("new")];
    expect(await ask({ watchId: 1, missing: [...missing, "file:///C:/x"] })).toEqual({ watching: false });
    expect(await ask({ watchId: 2, missing: ["file://host/x"] })).toEqual({ watching: false });
    expect(await ask({ watchId: 3, missing, present: "file:///C:/x" })).toEqual({ watching: false });
  }),
);

verifies(
  "fs.watchMissing:params",
  onTree({}, async ({ connection, tree }) => {
    const missing = [tree.uri("new")];
    const ask = (params?: object) => connection.request("fs/watchMissing", params);
    await expectError(ask({}), -32602, "missing field `watchId`");
    await expectError(ask({ missing }), -32602, "missing field `watchId`");
    await expectError(ask({ watchId: 1 }), -32602, "missing field `missing`");
    await expectError(ask({ watchId: 1, missing: null }), -32602, "invalid type: null, expected a sequence");
    await expectError(ask({ watchId: 1, missing: [1] }), -32602, "invalid type: number, expected a string");
    for (const watchId of [-1, 1.5]) await expectError(ask({ watchId, missing }), -32602, "invalid number");
    for (const watchId of ["1", null]) await expectError(ask({ watchId, missing }), -32602);
    const relative = "invalid URI: relative URL without a base";
    await expectError(ask({ watchId: 1, missing: [...missing, "new"] }), -32602, relative);
    await expectError(ask({ watchId: 1, missing, present: "tmp" }), -32602, relative);
    await expectError(ask({ watchId: 1, missing, present: 1 }), -32602);
    await expectError(ask(), -32602);
  }),
);

verifies(
  "fs.watchMissing:replaced",
  onTree({}, async ({ connection, tree }) => {
    expect(await watch(connection, tree, 1, { missing: ["one"] })).toBe(true);
    expect(await watch(connection, tree, 2, { missing: ["two"] })).toBe(true);
    await touch(tree, "one");
    await touch(tree, "two");
    await fired(connection);
    expect(firedIds(connection)).toEqual([2]);
  }),
);

verifies(
  "fs.watchMissing:replaced-by-nothing",
  onTree({ f: "" }, async ({ connection, tree }) => {
    const foreign = { watchId: 8, missing: ["file:///C:/x"] };
    const invalid = { watchId: 12, missing: ["new"] };
    const many = Array.from({ length: 65 }, () => "many");
    for (const [id, end] of [
      [1, () => watch(connection, tree, 2, { missing: [] })],
      [3, () => watch(connection, tree, 4, { missing: ["f"] })],
      [5, () => watch(connection, tree, 6, { missing: many })],
      [7, () => connection.request("fs/watchMissing", foreign)],
      [9, () => watch(connection, tree, 10, { missing: ["new"], present: "missing" })],
    ] as const) {
      expect(await watch(connection, tree, id, { missing: [`new${id}`] })).toBe(true);
      await end();
      await touch(tree, `new${id}`);
    }
    expect(await watch(connection, tree, 11, { missing: ["last"] })).toBe(true);
    await expectError(connection.request("fs/watchMissing", invalid), -32602);
    await touch(tree, "last");
    await fired(connection);
    expect(firedIds(connection)).toEqual([11]);
  }),
);

verifies(
  "fs.watchMissing:stale-id",
  onTree({}, async ({ connection, tree }) => {
    expect(await watch(connection, tree, 5, { missing: ["five"] })).toBe(true);
    for (const id of [5, 4, 1]) expect(await watch(connection, tree, id, { missing: ["other"] })).toBe(false);
    await touch(tree, "other");
    await touch(tree, "five");
    await fired(connection);
    expect(firedIds(connection)).toEqual([5]);
  }),
);

verifies(
  "fs.watchMissing:used-ids",
  onTree({ f: "" }, async ({ connection, tree }) => {
    expect(await watch(connection, tree, 0, { missing: ["new"] })).toBe(false);
    expect(await watch(connection, tree, 9, { missing: ["f"] })).toBe(false);
    expect(await watch(connection, tree, 8, { missing: ["new"] })).toBe(false);
    expect(await watch(connection, tree, 9, { missing: ["new"] })).toBe(false);
    expect(await watch(connection, tree, 10, { missing: ["new"] })).toBe(true);
    await touch(tree, "new");
    await fired(connection);
    expect(await watch(connection, tree, 10, { missing: ["more"] })).toBe(false);
  }),
);

verifies(
  "fs.watchMissing:again",
  onTree({}, async (context) => {
    const { tree } = context;
    const watched = { missing: ["new"], change: () => touch(tree, "new") };
    await eachFires(context, [watched]);
    await unlink(tree.path("new"));
    expect(await watch(context.connection, tree, 7, { missing: ["new"] })).toBe(true);
    await touch(tree, "new");
    expect((await fired(context.connection)).params).toEqual({ watchId: 7 });
  }),
);

verifies(
  "fs.watchMissing:per-connection",
  onTree({}, async ({ connection, peer, tree }) => {
    const other = await peer();
    expect(await watch(connection, tree, 7, { missing: ["both", "mine"] })).toBe(true);
    expect(await watch(other, tree, 3, { missing: ["both"] })).toBe(true);
    await touch(tree, "mine");
    await fired(connection);
    await touch(tree, "both");
    await fired(other);
    expect([firedIds(connection), firedIds(other)]).toEqual([[7], [3]]);
  }),
);

verifies(
  "fs.watchMissing:disconnect",
  onTree({}, async ({ connect, tree }) => {
    const first = await connect();
    const { sessionId } = await first.handshake();
    expect(await watch(first, tree, 5, { missing: ["old"] })).toBe(true);
    first.drop();
    await first.closed;
    const second = await connect();
    await resume(second, sessionId);
    second.notify("initialized");
    expect(await watch(second, tree, 1, { missing: ["new"] })).toBe(true);
    await touch(tree, "old");
    await touch(tree, "new");
    await fired(second);
    expect(firedIds(second)).toEqual([1]);
  }),
);

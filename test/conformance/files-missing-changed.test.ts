import { chmod, link as hardLink, mkdir, rename, rmdir, symlink, unlink, writeFile } from "node:fs/promises";
import { expect } from "vitest";
import { eachFires, fired, firedIds, noneFires, touch, watch } from "./missing-watch.ts";
import { fifo, onTree } from "./temp-tree.ts";
import { base64, verifies } from "./verifies.ts";

verifies(
  "fs.missingChanged:message",
  onTree({}, async ({ connection, tree }) => {
    await watch(connection, tree, 12_345_678_901, { missing: ["new"] });
    await touch(tree, "new");
    expect(await fired(connection)).toEqual({
      method: "fs/missingChanged",
      params: { watchId: 12_345_678_901 },
    });
    expect(await connection.request("environment/status")).toEqual({ status: "ready" });
  }),
);

verifies(
  "fs.missingChanged:appears",
  onTree({ f: "" }, async (context) => {
    const { tree } = context;
    await eachFires(context, [
      { missing: ["file"], change: () => touch(tree, "file") },
      { missing: ["directory"], change: () => mkdir(tree.path("directory")) },
      { missing: ["link"], change: () => symlink("f", tree.path("link")) },
      { missing: ["broken"], change: () => symlink("nowhere", tree.path("broken")) },
      { missing: ["fifo"], change: () => fifo(tree.path("fifo")) },
      { missing: ["hard"], change: () => hardLink(tree.path("f"), tree.path("hard")) },
    ]);
  }),
);

verifies(
  "fs.missingChanged:renamed",
  onTree({ f: "", d: {}, inner: { g: "" } }, async (context) => {
    const { tree } = context;
    await eachFires(context, [
      { missing: ["new"], change: () => rename(tree.path("f"), tree.path("new")) },
      { missing: ["d/new"], change: () => rename(tree.path("new"), tree.path("d/new")) },
      { missing: ["moved/g"], change: () => rename(tree.path("inner"), tree.path("moved")) },
    ]);
  }),
);

verifies(
  "fs.missingChanged:parent-appears",
  onTree({}, async (context) => {
    const { tree } = context;
    await eachFires(context, [
      { missing: ["a/b/c"], change: () => mkdir(tree.path("a")) },
      { missing: ["a/b/c"], change: () => mkdir(tree.path("a/b")) },
      { missing: ["a/b/c"], change: () => touch(tree, "a/b/c") },
      {
        missing: ["x/y/z"],
        change: async () => {
          await mkdir(tree.path("x/y"), { recursive: true });
          await touch(tree, "x/y/z");
        },
      },
    ]);
  }),
);

verifies(
  "fs.missingChanged:parent-goes",
  onTree({ removed: {}, renamed: {}, above: { parent: {} } }, async (context) => {
    const { tree } = context;
    await eachFires(context, [
      { missing: ["removed/new"], change: () => rmdir(tree.path("removed")) },
      { missing: ["renamed/new"], change: () => rename(tree.path("renamed"), tree.path("other")) },
      { missing: ["above/parent/new"], change: () => rename(tree.path("above"), tree.path("elsewhere")) },
    ]);
  }),
);

verifies(
  "fs.missingChanged:any-path",
  onTree({ d: {} }, async (context) => {
    const { tree } = context;
    await eachFires(context, [
      { missing: ["one", "two", "d/three"], change: () => touch(tree, "d/three") },
      { missing: ["one", "two", "d/four"], change: () => touch(tree, "one") },
    ]);
  }),
);

verifies(
  "fs.missingChanged:short-lived",
  onTree({}, async (context) => {
    const { tree } = context;
    const change = async () => {
      await touch(tree, "new");
      await unlink(tree.path("new"));
    };
    await eachFires(context, [{ missing: ["new"], change }]);
  }),
);

verifies(
  "fs.missingChanged:own-request",
  onTree({}, async ({ connection, on, tree }) => {
    const [watching] = await Promise.all([
      watch(connection, tree, 1, { missing: ["new"] }),
      on("fs/writeFile", "new", { dataBase64: base64("x") }),
    ]);
    expect(watching).toBe(true);
    expect((await fired(connection)).params).toEqual({ watchId: 1 });
  }),
);

verifies(
  "fs.missingChanged:siblings",
  onTree({ f: "", going: "" }, async (context) => {
    const { tree } = context;
    await noneFires(context, {
      missing: ["new", "new2/x"],
      change: async () => {
        await touch(tree, "new1");
        await touch(tree, "ne");
        await mkdir(tree.path("sub"));
        await touch(tree, "sub/new");
        await writeFile(tree.path("f"), "changed");
        await chmod(tree.path("f"), 0o600);
        await rename(tree.path("f"), tree.path("g"));
        await unlink(tree.path("going"));
      },
    });
  }),
);

verifies(
  "fs.missingChanged:once",
  onTree({}, async ({ connection, tree }) => {
    await watch(connection, tree, 1, { missing: ["one", "two"] });
    await touch(tree, "one");
    await fired(connection);
    await unlink(tree.path("one"));
    await touch(tree, "one");
    await touch(tree, "two");
    // The next watch fires after whatever the first could still say.
    await watch(connection, tree, 2, { missing: ["three"] });
    await touch(tree, "three");
    await fired(connection);
    expect(firedIds(connection)).toEqual([1, 2]);
  }),
);

verifies(
  "fs.missingChanged:present-goes",
  onTree({ f: "", g: "", h: "", next: "", d: {}, above: { x: "" } }, async (context) => {
    const { tree } = context;
    const missing = ["new"];
    await eachFires(context, [
      { missing, present: "f", change: () => unlink(tree.path("f")) },
      { missing, present: "g", change: () => rename(tree.path("g"), tree.path("other")) },
      { missing, present: "h", change: () => rename(tree.path("next"), tree.path("h")) },
      { missing, present: "d", change: () => rmdir(tree.path("d")) },
      { missing, present: "above/x", change: () => rename(tree.path("above"), tree.path("elsewhere")) },
    ]);
  }),
);

verifies(
  "fs.missingChanged:present-changes",
  onTree({ f: "" }, async (context) => {
    const change = () => writeFile(context.tree.path("f"), "changed");
    await eachFires(context, [{ missing: ["new"], present: "f", change }]);
  }),
);

verifies(
  "fs.missingChanged:present-contents",
  onTree({ d: { e: {} } }, async (context) => {
    const change = async () => {
      await touch(context.tree, "d/x");
      await touch(context.tree, "d/e/x");
    };
    await noneFires(context, { missing: ["new"], present: "d", change });
  }),
);

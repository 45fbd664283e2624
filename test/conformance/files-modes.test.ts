import { lstatSync } from "node:fs";
import { lstat, readFile, stat, truncate } from "node:fs/promises";
import { expect } from "vitest";
import { policy, special } from "./file-policies.ts";
import {
  CONTAINS_LINK,
  fifo,
  fileOfMode,
  link,
  linkedTo,
  NOT_FOUND,
  notAFile,
  onTree,
  type TreeContext,
} from "./temp-tree.ts";
import { base64, expectError, verifies } from "./verifies.ts";

const CHMOD = "fs/chmod";
/** Invalid modes. */
const NO_MODES = [-1, 0o10000, 1.5, "0644", null, 2 ** 40];

async function modeOf({ tree }: TreeContext, name: string): Promise<number> {
  return (await lstat(tree.path(name))).mode & 0o7777;
}

verifies(
  "files.chmod:sets",
  onTree({ f: "text", d: {}, lf: link("f"), ld: link("d") }, async (context) => {
    const { on } = context;
    for (const mode of [0, 0o777, 0o4755, 0o644]) {
      expect(await on(CHMOD, "f", { mode })).toEqual({});
      expect(await modeOf(context, "f")).toBe(mode);
    }
    await on(CHMOD, "d", { mode: 0o1777 });
    expect(await modeOf(context, "d")).toBe(0o1777);
    await on(CHMOD, "lf", { mode: 0o600 });
    expect(await modeOf(context, "f")).toBe(0o600);
    await on(CHMOD, "ld", { mode: 0o700 });
    expect(await modeOf(context, "d")).toBe(0o700);
    expect(await readFile(context.tree.path("f"), "utf8")).toBe("text");
  }),
);

verifies(
  "files.chmod:refuses",
  onTree({ f: fileOfMode("", 0o640), broken: link("nowhere") }, async (context) => {
    const { on } = context;
    for (const name of ["missing", "missing/x", "broken"])
      await expectError(on(CHMOD, name, { mode: 0o600 }), ...NOT_FOUND);
    for (const mode of NO_MODES) await expectError(on(CHMOD, "f", { mode }), -32602);
    await expectError(on(CHMOD, "f"), -32602);
    expect(await modeOf(context, "f")).toBe(0o640);
  }),
);

verifies(
  "files.write:mode",
  onTree(
    {
      old: fileOfMode("old", 0o644),
      hard: fileOfMode("old", 0o644),
      name: linkedTo("hard"),
      target: fileOfMode("old", 0o644),
      lf: link("target"),
    },
    async (context) => {
      const { on, tree } = context;
      const write = (name: string, mode: number, more = {}, data = "new") =>
        on("fs/writeFile", name, { dataBase64: base64(data), mode, ...more });
      for (const [name, shown] of [
        ["new", "new"],
        ["old", "old"],
        ["hard", "hard"],
        ["lf", "target"],
      ] as const) {
        for (const mode of [0o600, 0o777, 0o4711, 0o640]) {
          expect(await write(name, mode)).toEqual({});
          expect(await modeOf(context, shown), `${name} ${mode.toString(8)}`).toBe(mode);
          expect(await readFile(tree.path(shown), "utf8")).toBe("new");
        }
      }
      // Without following links, and with more than is written at once.
      await write("old", 0o604, { followSymlinks: false });
      expect(await modeOf(context, "old")).toBe(0o604);
      await write("large", 0o4700, {}, "x".repeat(300_000));
      expect(await modeOf(context, "large")).toBe(0o4700);
      await write("large", 0o4701, { followSymlinks: false }, "x".repeat(300_000));
      expect(await modeOf(context, "large")).toBe(0o4701);
      expect((await lstat(tree.path("lf"))).isSymbolicLink()).toBe(true);
      expect((await stat(tree.path("name"))).nlink).toBe(2);
      // What is not a regular file keeps its own.
      const { mode } = await stat("/dev/null");
      await context.connection.request("fs/writeFile", {
        path: "file:///dev/null",
        dataBase64: base64("x"),
        mode: 0o600,
      });
      expect((await stat("/dev/null")).mode).toBe(mode);
      // Without a mode all is as it was.
      await on("fs/writeFile", "old", { dataBase64: base64("again"), mode: null });
      expect(await modeOf(context, "old")).toBe(0o604);
    },
  ),
);

verifies(
  "files.write:mode-refuses",
  onTree({ f: fileOfMode("old", 0o640) }, async (context) => {
    const { on, tree } = context;
    for (const mode of NO_MODES.filter((value) => value !== null)) {
      await expectError(on("fs/writeFile", "f", { dataBase64: base64("new"), mode }), -32602);
      await expectError(on("fs/writeFile", "new", { dataBase64: base64("new"), mode }), -32602);
    }
    expect(await readFile(tree.path("f"), "utf8")).toBe("old");
    expect(await modeOf(context, "f")).toBe(0o640);
    await expect(stat(tree.path("new"))).rejects.toThrow();
  }),
);

verifies(
  "files.read:limit",
  onTree({ f: "four", empty: "", lf: link("f"), d: {} }, async ({ on, tree }) => {
    const READ = "fs/readFile";
    for (const confined of [{}, policy(null, special("root", "read"))]) {
      for (const maxBytes of [4, 5, 2 ** 40, null])
        expect(await on(READ, "f", { maxBytes, ...confined })).toEqual({ dataBase64: base64("four") });
      for (const maxBytes of [0, 3])
        expect(await on(READ, "f", { maxBytes, ...confined })).toEqual({ dataBase64: "", size: 4 });
      expect(await on(READ, "lf", { maxBytes: 3, ...confined })).toEqual({ dataBase64: "", size: 4 });
      expect(await on(READ, "empty", { maxBytes: 0, ...confined })).toEqual({ dataBase64: "" });
      for (const maxBytes of [-1, 1.5, "1"])
        await expectError(on(READ, "f", { maxBytes, ...confined }), -32602);
    }
    await truncate(tree.path("f"), 2 ** 40);
    expect(await on(READ, "f", { maxBytes: 2 ** 30 })).toEqual({ dataBase64: "", size: 2 ** 40 });
    await expectError(on(READ, "d", { maxBytes: 0 }), ...notAFile(tree.path("d")));
  }),
);

verifies(
  "files.metadata:mode",
  onTree({ f: fileOfMode("", 0o4751), lf: link("f"), d: {} }, async (context) => {
    const { on } = context;
    const META = "fs/getMetadata";
    const asked = { includeMode: true };
    expect(await on(META, "f", asked)).toMatchObject({ isFile: true, mode: 0o4751 });
    expect(await on(META, "f", { ...asked, followSymlinks: false })).toMatchObject({ mode: 0o4751 });
    expect(await on(META, "lf", asked)).toMatchObject({ isSymlink: true, mode: 0o4751 });
    expect(await on(META, "d", asked)).toMatchObject({ mode: await modeOf(context, "d") });
    await expectError(on(META, "lf", { ...asked, followSymlinks: false }), ...CONTAINS_LINK);
    for (const more of [{}, { includeMode: false }, { includeMode: null }])
      expect(await on(META, "f", more)).not.toHaveProperty("mode");
  }),
);

verifies(
  "files.list:detailed",
  onTree(
    {
      f: fileOfMode("four", 0o640),
      d: { x: "" },
      lf: link("f"),
      ld: link("d"),
      broken: link("nowhere"),
      self: link("self"),
      fifo,
    },
    async (context) => {
      const LIST = "fs/readDirectory";
      const { entries } = await context.on(LIST, "", { detailed: true });
      const none = { isDirectory: false, isFile: false, isSymlink: false };
      const linked = (fileName: string, text: string) => ({
        fileName,
        ...none,
        isSymlink: true,
        mode: 0o777,
        size: text.length,
      });
      const { size } = await lstat(context.tree.path("d"));
      const modified = (name: string): number => Math.trunc(lstatSync(context.tree.path(name)).mtimeMs);
      expect(
        entries.toSorted((a: { fileName: string }, b: { fileName: string }) =>
          a.fileName < b.fileName ? -1 : 1,
        ),
      ).toEqual(
        [
          linked("broken", "nowhere"),
          { fileName: "d", ...none, isDirectory: true, mode: await modeOf(context, "d"), size },
          { fileName: "f", ...none, isFile: true, mode: 0o640, size: 4 },
          { fileName: "fifo", ...none, mode: await modeOf(context, "fifo"), size: 0, special: "pipe" },
          linked("ld", "d"),
          linked("lf", "f"),
          linked("self", "self"),
        ].map((entry) => ({ ...entry, modifiedAtMs: modified(entry.fileName) })),
      );
      expect(await context.on(LIST, "ld", { detailed: true })).toMatchObject({
        entries: [{ fileName: "x" }],
      });
      for (const more of [{}, { detailed: false }, { detailed: null }])
        expect(await context.on(LIST, "d", more)).toEqual({
          entries: [{ fileName: "x", isDirectory: false, isFile: true }],
        });
    },
  ),
);

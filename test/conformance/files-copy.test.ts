import { lstat, readdir, readFile, readlink, stat, writeFile } from "node:fs/promises";
import { expect } from "vitest";
import {
  AT_ONCE_MS,
  EXISTS,
  fifo,
  fileOfMode,
  IS_A_DIRECTORY,
  LONG_NAME,
  link,
  linkedTo,
  NAME_TOO_LONG,
  NO_DEVICE,
  NOT_A_DIRECTORY,
  NOT_FOUND,
  onTree,
  releaseWriters,
  type TreeContext,
} from "./temp-tree.ts";
import { expectError, verifies } from "./verifies.ts";

function copy({ connection, tree }: TreeContext, source: string, destination: string, recursive = false) {
  const params = { sourcePath: tree.uri(source), destinationPath: tree.uri(destination), recursive };
  return connection.request("fs/copy", params);
}

const contents = ({ tree }: TreeContext, name: string) => readFile(tree.path(name), "utf8");
const linkText = ({ tree }: TreeContext, name: string) => readlink(tree.path(name));
const namesOf = async ({ tree }: TreeContext, name = "") => (await readdir(tree.path(name))).toSorted();

async function modeOf({ tree }: TreeContext, name: string): Promise<number> {
  return (await stat(tree.path(name))).mode & 0o777;
}

verifies(
  "fs.copy:file",
  onTree({ f: fileOfMode("contents", 0o741), ro: fileOfMode("read only", 0o444) }, async (context) => {
    expect(await copy(context, "f", "single")).toEqual({});
    expect(await copy(context, "f", "recursive", true)).toEqual({});
    expect(await copy(context, "ro", "ro2")).toEqual({});
    for (const name of ["f", "single", "recursive"]) {
      expect(await contents(context, name)).toBe("contents");
      expect(await modeOf(context, name)).toBe(0o741);
    }
    expect(await contents(context, "ro2")).toBe("read only");
    expect(await modeOf(context, "ro2")).toBe(0o444);
  }),
);

verifies(
  "fs.copy:overwrite",
  onTree(
    { f: fileOfMode("new", 0o641), old: fileOfMode("longer contents", 0o600), hard: linkedTo("old") },
    async (context) => {
      await copy(context, "f", "old");
      expect(await contents(context, "old")).toBe("new");
      expect(await contents(context, "hard")).toBe("new");
      expect(await modeOf(context, "old")).toBe(0o641);
    },
  ),
);

verifies(
  "fs.copy:onto-itself",
  onTree({ f: "contents", hard: linkedTo("f"), lf: link("f") }, async (context) => {
    for (const name of ["f", "hard", "lf"]) {
      // Success and refusal are both fine.
      await context.connection.call("fs/copy", {
        sourcePath: context.tree.uri("f"),
        destinationPath: context.tree.uri(name),
        recursive: false,
      });
      expect(await contents(context, "f")).toBe("contents");
    }
  }),
);

verifies(
  "fs.copy:no-size",
  onTree({}, async (context) => {
    await context.connection.request("fs/copy", {
      sourcePath: "file:///proc/version",
      destinationPath: context.tree.uri("copy"),
      recursive: false,
    });
    expect(await contents(context, "copy")).toBe(await readFile("/proc/version", "utf8"));
  }),
);

verifies(
  "fs.copy:large",
  onTree({}, async (context) => {
    const bytes = Buffer.alloc(8 * 1024 * 1024, "0123456789abcdef!");
    await writeFile(context.tree.path("f"), bytes);
    await copy(context, "f", "copy");
    expect((await readFile(context.tree.path("copy"))).equals(bytes)).toBe(true);
  }),
);

verifies(
  "fs.copy:to-link",
  onTree({ f: "new", old: "old", lf: link("old"), broken: link("made") }, async (context) => {
    await copy(context, "f", "lf");
    await copy(context, "f", "broken");
    expect(await contents(context, "old")).toBe("new");
    expect(await contents(context, "made")).toBe("new");
    expect([await linkText(context, "lf"), await linkText(context, "broken")]).toEqual(["old", "made"]);
  }),
);

verifies(
  "fs.copy:to-fifo",
  onTree({ f: "contents", fifo }, async ({ connection, tree }) => {
    const params = { sourcePath: tree.uri("f"), destinationPath: tree.uri("fifo"), recursive: false };
    const copied = connection.request("fs/copy", params, { timeoutMs: AT_ONCE_MS });
    try {
      await expectError(copied, ...NO_DEVICE);
    } finally {
      await releaseWriters(tree.path("fifo"));
    }
  }),
);

verifies(
  "fs.copy:from-link",
  onTree(
    { f: "", d: {}, file: link("f"), directory: link("./d/"), nothing: link("no where"), self: link("self") },
    async (context) => {
      for (const [name, text] of [
        ["file", "f"],
        ["directory", "./d/"],
        ["nothing", "no where"],
        ["self", "self"],
      ] as const) {
        expect(await copy(context, name, `d/${name}`)).toEqual({});
        expect(await copy(context, name, `d/${name}-recursive`, true)).toEqual({});
        expect(await linkText(context, `d/${name}`)).toBe(text);
        expect(await linkText(context, `d/${name}-recursive`)).toBe(text);
      }
    },
  ),
);

verifies(
  "fs.copy:link-exists",
  onTree({ lf: link("f"), f: "kept", d: {}, other: link("elsewhere") }, async (context) => {
    for (const name of ["f", "d", "other", "lf"]) {
      await expectError(copy(context, "lf", name), ...EXISTS);
    }
    expect(await contents(context, "f")).toBe("kept");
    expect(await linkText(context, "other")).toBe("elsewhere");
  }),
);

verifies(
  "fs.copy:through-link",
  onTree({ d: { x: "below" }, e: {}, ld: link("d"), le: link("e") }, async (context) => {
    await copy(context, "ld/x", "le/y");
    expect(await contents(context, "e/y")).toBe("below");
  }),
);

verifies(
  "fs.copy:missing-source",
  onTree({}, async (context) => {
    for (const name of ["missing", "missing/x"]) {
      await expectError(copy(context, name, "new"), ...NOT_FOUND);
      await expectError(copy(context, name, "new", true), ...NOT_FOUND);
    }
    expect(await namesOf(context)).toEqual([]);
  }),
);

verifies(
  "fs.copy:missing-parent",
  onTree({ f: "", lf: link("f") }, async (context) => {
    await expectError(copy(context, "f", "missing/x"), ...NOT_FOUND);
    await expectError(copy(context, "lf", "missing/x", true), ...NOT_FOUND);
    expect(await namesOf(context)).toEqual(["f", "lf"]);
  }),
);

verifies(
  "fs.copy:errors",
  onTree({ f: "", d: {} }, async (context) => {
    await expectError(copy(context, "f", "d"), ...IS_A_DIRECTORY);
    await expectError(copy(context, "f", "f/x"), ...NOT_A_DIRECTORY);
    await expectError(copy(context, "f/x", "new"), ...NOT_A_DIRECTORY);
    await expectError(copy(context, "f", LONG_NAME), ...NAME_TOO_LONG);
    expect(await namesOf(context, "d")).toEqual([]);
  }),
);

verifies(
  "fs.copy:special",
  onTree({ fifo }, async (context) => {
    const failure = [-32600, "fs/copy only supports regular files, directories, and symlinks"] as const;
    await expectError(copy(context, "fifo", "new"), ...failure);
    await expectError(copy(context, "fifo", "new", true), ...failure);
    const device = {
      sourcePath: "file:///dev/null",
      destinationPath: context.tree.uri("new"),
      recursive: false,
    };
    await expectError(context.connection.request("fs/copy", device), ...failure);
    expect(await namesOf(context)).toEqual(["fifo"]);
  }),
);

verifies(
  "fs.copy:directory",
  onTree(
    {
      d: {
        ".x": fileOfMode("one", 0o640),
        e: { y: "two", empty: {} },
        up: link("../f"),
        not: link("nowhere"),
      },
    },
    async (context) => {
      expect(await copy(context, "d", "new", true)).toEqual({});
      expect(await namesOf(context, "new")).toEqual([".x", "e", "not", "up"]);
      expect(await namesOf(context, "new/e")).toEqual(["empty", "y"]);
      expect(await namesOf(context, "new/e/empty")).toEqual([]);
      expect(await contents(context, "new/.x")).toBe("one");
      expect(await modeOf(context, "new/.x")).toBe(0o640);
      expect(await contents(context, "new/e/y")).toBe("two");
      expect([await linkText(context, "new/up"), await linkText(context, "new/not")]).toEqual([
        "../f",
        "nowhere",
      ]);
    },
  ),
);

verifies(
  "fs.copy:directory-not-recursive",
  onTree({ d: {}, e: {} }, async (context) => {
    const message = "fs/copy requires recursive: true when sourcePath is a directory";
    for (const name of ["new", "e", "d", "missing/x"]) {
      await expectError(copy(context, "d", name), -32600, message);
    }
    expect(await namesOf(context)).toEqual(["d", "e"]);
  }),
);

verifies(
  "fs.copy:directory-parents",
  onTree({ d: { x: "one" } }, async (context) => {
    expect(await copy(context, "d", "a/b/c", true)).toEqual({});
    expect(await contents(context, "a/b/c/x")).toBe("one");
  }),
);

verifies(
  "fs.copy:directory-merge",
  onTree(
    {
      d: { x: "new", e: { y: "new" } },
      there: { x: "old contents", e: { kept: "kept" }, extra: "kept" },
      linked: link("target"),
      target: {},
    },
    async (context) => {
      expect(await copy(context, "d", "there", true)).toEqual({});
      expect(await namesOf(context, "there")).toEqual(["e", "extra", "x"]);
      expect(await namesOf(context, "there/e")).toEqual(["kept", "y"]);
      expect(await contents(context, "there/x")).toBe("new");
      expect(await copy(context, "d", "linked", true)).toEqual({});
      expect(await namesOf(context, "target")).toEqual(["e", "x"]);
      expect((await lstat(context.tree.path("linked"))).isSymbolicLink()).toBe(true);
    },
  ),
);

verifies(
  "fs.copy:directory-into-itself",
  onTree({ d: { e: {} }, ld: link("d"), le: link("d/e") }, async (context) => {
    const message = "fs/copy cannot copy a directory to itself or one of its descendants";
    for (const name of ["d", "d/new", "d/e", "d/e/a/b", "ld", "ld/new", "le/new"]) {
      await expectError(copy(context, "d", name, true), -32600, message);
    }
    expect(await namesOf(context, "d")).toEqual(["e"]);
    expect(await namesOf(context, "d/e")).toEqual([]);
  }),
);

verifies(
  "fs.copy:directory-neighbour",
  onTree({ d: { e: { x: "one" } } }, async (context) => {
    expect(await copy(context, "d/e", "d", true)).toEqual({});
    expect(await namesOf(context, "d")).toEqual(["e", "x"]);
    expect(await copy(context, "d", "dd", true)).toEqual({});
    expect(await namesOf(context, "dd")).toEqual(["e", "x"]);
  }),
);

verifies(
  "fs.copy:directory-link-exists",
  onTree({ d: { l: link("one") }, there: { l: link("two") } }, async (context) => {
    await expectError(copy(context, "d", "there", true), ...EXISTS);
    expect(await linkText(context, "there/l")).toBe("two");
  }),
);

verifies(
  "fs.copy:directory-conflict",
  onTree(
    { d: { x: "file" }, e: { x: { y: "" } }, f: "file", lf: link("f"), onto: { x: {} }, under: { x: "" } },
    async (context) => {
      await expectError(copy(context, "d", "f", true), ...EXISTS);
      await expectError(copy(context, "d", "lf", true), ...EXISTS);
      await expectError(copy(context, "d", "onto", true), ...IS_A_DIRECTORY);
      await expectError(copy(context, "e", "under", true), ...EXISTS);
      expect(await contents(context, "f")).toBe("file");
    },
  ),
);

verifies(
  "fs.copy:directory-special",
  onTree({ d: { a: "one", fifo, z: "two" } }, async (context) => {
    expect(await copy(context, "d", "new", true)).toEqual({});
    expect(await namesOf(context, "new")).toEqual(["a", "z"]);
  }),
);

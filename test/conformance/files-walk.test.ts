import { mkdir, rename, writeFile } from "node:fs/promises";
import { expect } from "vitest";
import {
  type Entry,
  fifo,
  LINK_LOOP,
  link,
  NAME_TOO_LONG,
  NOT_A_DIRECTORY,
  NOT_FOUND,
  onTree,
  socket,
  type TempTree,
  type TreeContext,
} from "./temp-tree.ts";
import { expectError, verifies } from "./verifies.ts";

const MAX_WALK = { maxDepth: 64, maxDirectories: 10_000, maxEntries: 50_000, followDirectorySymlinks: false };
const FOLLOW = { followDirectorySymlinks: true };
const PRUNE = { pruneHiddenDirectories: true };

interface Walk {
  entries: { path: string; kind: string }[];
  errors: { path: string; message: string }[];
  truncated: boolean;
}

function requestWalk({ on }: TreeContext, name: string, options = {}): Promise<Walk> {
  return on("fs/walk", name, { options: { ...MAX_WALK, ...options } });
}

/** Entries by their names below the tree, directories with a slash behind them. */
function names(tree: TempTree, { entries }: Walk): string[] {
  const prefix = `${tree.uri()}/`;
  return entries.map(({ path, kind }) => {
    expect(path.startsWith(prefix), path).toBe(true);
    return path.slice(prefix.length) + (kind === "directory" ? "/" : "");
  });
}

/** Walks without errors: the entries, and whether there were more. */
async function walk(context: TreeContext, name: string, options = {}) {
  const result = await requestWalk(context, name, options);
  expect(result.errors).toEqual([]);
  return { names: names(context.tree, result), truncated: result.truncated };
}

const whole = (...entries: string[]) => ({ names: entries, truncated: false });
const cut = (...entries: string[]) => ({ names: entries, truncated: true });

verifies(
  "fs.walk:shape",
  onTree({ r: { d: {}, f: "" } }, async (context) => {
    expect(await requestWalk(context, "r")).toEqual({
      entries: [
        { path: context.tree.uri("r/d"), kind: "directory" },
        { path: context.tree.uri("r/f"), kind: "file" },
      ],
      errors: [],
      truncated: false,
    });
  }),
);

/** Two levels, for the order and the limits. */
const LEVELS: Record<string, Entry> = {
  r: { b: { d: { y: "" }, x: "" }, a: { 2: "", 10: "" }, c: {}, z: "" },
};
const LEVEL_0 = ["r/a/", "r/b/", "r/c/", "r/z"];
const LEVEL_1 = [...LEVEL_0, "r/a/10", "r/a/2", "r/b/d/", "r/b/x"];
const LEVEL_2 = [...LEVEL_1, "r/b/d/y"];

verifies(
  "fs.walk:breadth-first",
  onTree(
    { ...LEVELS, o: { Z: "", a: {}, _: "", B: {}, 9: "", 10: "", é: "", ".d": {} } },
    async (context) => {
      expect(await walk(context, "r")).toEqual(whole(...LEVEL_2));
      const order = [".d/", "10", "9", "B/", "Z", "_", "a/", "%C3%A9"];
      expect(await walk(context, "o")).toEqual(whole(...order.map((name) => `o/${name}`)));
    },
  ),
);

verifies(
  "fs.walk:byte-order",
  onTree({ r: { "\u{1f600}": "", "\uff5e": "", z: "" } }, async (context) => {
    expect(await walk(context, "r")).toEqual(whole("r/z", "r/%EF%BD%9E", "r/%F0%9F%98%80"));
  }),
);

verifies(
  "fs.walk:depth",
  onTree(LEVELS, async (context) => {
    expect(await walk(context, "r", { maxDepth: 0 })).toEqual(whole(...LEVEL_0));
    expect(await walk(context, "r", { maxDepth: 1 })).toEqual(whole(...LEVEL_1));
    expect(await walk(context, "r", { maxDepth: 2 })).toEqual(whole(...LEVEL_2));
  }),
);

verifies(
  "fs.walk:depth-maximum",
  onTree({}, async (context) => {
    const levels = Array.from({ length: 65 }, (_, index) => "d/".repeat(index + 1));
    await mkdir(context.tree.path(`${levels.at(-1)}d`), { recursive: true });
    expect(await walk(context, "")).toEqual(whole(...levels));
  }),
);

const HIDDEN: Record<string, Entry> = { ".r": { ".d": { e: { x: "" } }, ".f": "", d: { ".e": { y: "" } } } };
const HIDDEN_TOP = [".r/.d/", ".r/.f", ".r/d/"];

verifies(
  "fs.walk:hidden",
  onTree(HIDDEN, async (context) => {
    const below = [".r/.d/e/", ".r/d/.e/", ".r/.d/e/x", ".r/d/.e/y"];
    expect(await walk(context, ".r")).toEqual(whole(...HIDDEN_TOP, ...below));
    const off = { pruneHiddenDirectories: false };
    expect(await walk(context, ".r", off)).toEqual(whole(...HIDDEN_TOP, ...below));
  }),
);

verifies(
  "fs.walk:prune-hidden",
  onTree(HIDDEN, async (context) => {
    expect(await walk(context, ".r", PRUNE)).toEqual(whole(...HIDDEN_TOP, ".r/d/.e/"));
  }),
);

verifies(
  "fs.walk:prune-hidden-root",
  onTree({ ".r": { d: { x: "" } } }, async (context) => {
    expect(await walk(context, ".r", PRUNE)).toEqual(whole(".r/d/", ".r/d/x"));
  }),
);

verifies(
  "fs.walk:prune-hidden-links",
  onTree(
    { r: { ".hidden": { x: "" }, ".link": link("plain"), plain: { y: "" }, visible: link(".hidden") } },
    async (context) => {
      const top = ["r/.hidden/", "r/.link/", "r/plain/", "r/visible/"];
      const expected = whole(...top, "r/plain/y", "r/visible/x");
      expect(await walk(context, "r", { ...PRUNE, ...FOLLOW })).toEqual(expected);
    },
  ),
);

const LINKS = { ld: link("d"), lf: link("f"), broken: link("nowhere"), self: link("self") };

verifies(
  "fs.walk:skips-links",
  onTree({ r: { d: { x: "" }, f: "", ...LINKS } }, async (context) => {
    expect(await walk(context, "r")).toEqual(whole("r/d/", "r/f", "r/d/x"));
  }),
);

verifies(
  "fs.walk:skips-special",
  onTree({ r: { f: "", fifo, lfifo: link("fifo"), socket } }, async (context) => {
    expect(await walk(context, "r")).toEqual(whole("r/f"));
    expect(await walk(context, "r", FOLLOW)).toEqual(whole("r/f"));
  }),
);

verifies(
  "fs.walk.follow:directories",
  onTree({ r: { a: link("../d"), z: "" }, d: { e: { x: "" } } }, async (context) => {
    expect(await walk(context, "r", FOLLOW)).toEqual(whole("r/a/", "r/z", "r/a/e/", "r/a/e/x"));
  }),
);

verifies(
  "fs.walk.follow:file-links",
  onTree({ r: { f: "", lf: link("f"), broken: link("nowhere"), self: link("self") } }, async (context) => {
    expect(await walk(context, "r", FOLLOW)).toEqual(whole("r/f"));
  }),
);

verifies(
  "fs.walk.follow:once",
  onTree({ r: { a: { x: "" }, l1: link("a"), l2: link("l1"), z: { l3: link("../a") } } }, async (context) => {
    const expected = whole("r/a/", "r/l1/", "r/l2/", "r/z/", "r/a/x", "r/z/l3/");
    expect(await walk(context, "r", FOLLOW)).toEqual(expected);
  }),
);

verifies(
  "fs.walk.follow:cycle",
  onTree({ r: { self: link("."), d: { up: link("../..") } } }, async (context) => {
    const expected = whole("r/d/", "r/self/", "r/d/up/", "r/d/up/r/");
    expect(await walk(context, "r", FOLLOW)).toEqual(expected);
  }),
);

verifies(
  "fs.walk.follow:outside",
  onTree({ r: {}, outside: { x: "" } }, async (context) => {
    await link(context.tree.path("outside"))(context.tree.path("r/out"));
    expect(await walk(context, "r", FOLLOW)).toEqual(whole("r/out/", "r/out/x"));
    expect(await walk(context, "r")).toEqual(whole());
  }),
);

verifies(
  "fs.walk:max-entries",
  onTree(LEVELS, async (context) => {
    for (const maxEntries of [1, 4, 5, 8]) {
      const expected = cut(...LEVEL_2.slice(0, maxEntries));
      expect(await walk(context, "r", { maxEntries })).toEqual(expected);
    }
    expect(await walk(context, "r", { maxEntries: 9 })).toEqual(whole(...LEVEL_2));
    expect(await walk(context, "r/a", { maxEntries: 2 })).toEqual(whole("r/a/10", "r/a/2"));
  }),
);

verifies(
  "fs.walk:max-entries-counts",
  onTree({ r: { a: link("nowhere"), b: fifo, c: link("d"), d: "", e: "" } }, async (context) => {
    expect(await walk(context, "r", { maxEntries: 2 })).toEqual(cut());
    expect(await walk(context, "r", { maxEntries: 3 })).toEqual(cut("r/d"));
    expect(await walk(context, "r", { maxEntries: 4 })).toEqual(whole("r/d", "r/e"));
  }),
);

verifies(
  "fs.walk:max-directories",
  onTree(LEVELS, async (context) => {
    const expected = {
      1: cut(...LEVEL_0),
      2: cut(...LEVEL_0, "r/a/10", "r/a/2"),
      3: cut(...LEVEL_1),
      4: cut(...LEVEL_1),
      5: whole(...LEVEL_2),
    };
    for (const [count, result] of Object.entries(expected)) {
      expect(await walk(context, "r", { maxDirectories: Number(count) }), count).toEqual(result);
    }
  }),
);

verifies(
  "fs.walk:max-directories-counts",
  onTree({ r: { d: {} }, h: { ".d": {} }, l: { self: link(".") } }, async (context) => {
    const one = { maxDirectories: 1 };
    expect(await walk(context, "r", one)).toEqual(cut("r/d/"));
    expect(await walk(context, "r", { ...one, maxDepth: 0 })).toEqual(whole("r/d/"));
    expect(await walk(context, "h", { ...one, ...PRUNE })).toEqual(whole("h/.d/"));
    expect(await walk(context, "l", { ...one, ...FOLLOW })).toEqual(whole("l/self/"));
  }),
);

verifies(
  "fs.walk:max-bytes",
  onTree({}, async (context) => {
    // Escapes in deep directories make long URIs of few files.
    const steps = Array.from({ length: 12 }, () => "é".repeat(120));
    const levels = steps.map((_, index) => steps.slice(0, index + 1).join("/"));
    await mkdir(context.tree.path(levels.at(-1)), { recursive: true });
    const files = Array.from({ length: 500 }, (_, index) => `${levels.at(-1)}/${1000 + index}`);
    await Promise.all(files.map((name) => writeFile(context.tree.path(name), "")));
    const uris = [...levels, ...files].map((name) => context.tree.uri(name));
    let bytes = 0;
    const fitting = uris.filter((uri) => (bytes += uri.length + 64) <= 4_194_304);
    const params = { path: context.tree.uri(), options: MAX_WALK };
    const answer = context.connection.request("fs/walk", params, { timeoutMs: 20_000 });
    const { entries, truncated }: Walk = await answer;
    expect(fitting.length).toBeLessThan(uris.length);
    expect({ count: entries.length, truncated }).toEqual({ count: fitting.length, truncated: true });
  }),
);

verifies(
  "fs.walk:limits",
  onTree({}, async (context) => {
    const message = "filesystem walk limits exceed maximums: depth=64, directories=10000, entries=50000";
    for (const options of [{ maxDepth: 65 }, { maxDirectories: 10_001 }, { maxEntries: 50_001 }]) {
      await expectError(requestWalk(context, "", options), -32600, message);
    }
    expect(await walk(context, "", MAX_WALK)).toEqual(whole());
  }),
);

const MUST_NOT_BE_ZERO = [-32600, "filesystem walk limits must be greater than zero"] as const;

verifies(
  "fs.walk:limits-zero",
  onTree({}, async (context) => {
    for (const options of [{ maxDirectories: 0 }, { maxEntries: 0 }, { maxEntries: 0, maxDepth: 65 }]) {
      await expectError(requestWalk(context, "", options), ...MUST_NOT_BE_ZERO);
    }
  }),
);

verifies(
  "fs.walk:limits-first",
  onTree({}, async (context) => {
    await expectError(requestWalk(context, "missing", { maxEntries: 0 }), ...MUST_NOT_BE_ZERO);
    const foreign = { path: "file:///C:/x", options: { ...MAX_WALK, maxEntries: 0 } };
    await expectError(context.connection.request("fs/walk", foreign), ...MUST_NOT_BE_ZERO);
  }),
);

verifies(
  "fs.walk:root-file",
  onTree({ f: "", lf: link("f"), fifo }, async (context) => {
    for (const name of ["f", "lf", "fifo"]) {
      expect(await walk(context, name)).toEqual(whole());
      expect(await walk(context, name, FOLLOW)).toEqual(whole());
    }
  }),
);

verifies(
  "fs.walk:root-link",
  onTree({ d: { e: { x: "" } }, ld: link("d") }, async (context) => {
    expect(await walk(context, "ld")).toEqual(whole());
    expect(await walk(context, "ld", FOLLOW)).toEqual(whole("ld/e/", "ld/e/x"));
  }),
);

verifies(
  "fs.walk:root-through-link",
  onTree({ d: { e: { x: "" } }, ld: link("d") }, async (context) => {
    expect(await walk(context, "ld/e")).toEqual(whole("ld/e/x"));
  }),
);

verifies(
  "fs.walk:root-missing",
  onTree({ broken: link("nowhere") }, async (context) => {
    for (const name of ["missing", "missing/x", "broken"]) {
      await expectError(requestWalk(context, name), ...NOT_FOUND);
      await expectError(requestWalk(context, name, FOLLOW), ...NOT_FOUND);
    }
  }),
);

verifies(
  "fs.walk:root-errors",
  onTree({ f: "", self: link("self") }, async (context) => {
    await expectError(requestWalk(context, "f/x"), ...NOT_A_DIRECTORY);
    await expectError(requestWalk(context, "self"), ...LINK_LOOP);
    await expectError(requestWalk(context, "self", FOLLOW), ...LINK_LOOP);
  }),
);

verifies(
  "fs.walk:root-spelling",
  onTree({ r: { f: "" } }, async ({ connection, tree }) => {
    for (const path of [`${tree.uri("r")}/`, `${tree.uri("r")}/./`, `${tree.uri("missing")}/../r`]) {
      const result = await connection.request("fs/walk", { path, options: MAX_WALK });
      expect(names(tree, result), path).toEqual(["r/f"]);
    }
  }),
);

verifies(
  "fs.walk:empty",
  onTree({ r: {} }, async (context) => {
    expect(await walk(context, "r", { maxEntries: 1, maxDirectories: 1 })).toEqual(whole());
  }),
);

verifies(
  "fs.walk:escapes",
  onTree({ r: { "sp é": { "a&b=c;d,e$": "", "#%?": "", "[x]": "" } } }, async (context) => {
    const below = ["%23%25%3F", "[x]", "a&b=c;d,e$"].map((name) => `r/sp%20%C3%A9/${name}`);
    expect(await walk(context, "r")).toEqual(whole("r/sp%20%C3%A9/", ...below));
  }),
);

verifies(
  "fs.walk:bytes",
  onTree({ r: {} }, async (context) => {
    const directory = Buffer.concat([Buffer.from(context.tree.path("r/a")), Buffer.from([0xff])]);
    await mkdir(directory);
    await writeFile(Buffer.concat([directory, Buffer.from("/x")]), "");
    expect(await walk(context, "r")).toEqual(whole("r/a%FF/", "r/a%FF/x"));
  }),
);

verifies(
  "fs.walk:unreadable",
  onTree({ r: { z: { x: "" } } }, async (context) => {
    // A path longer than the system takes can be read by no user, not even root.
    const steps = Array.from({ length: 12 }, () => "n".repeat(200)).join("/");
    await mkdir(context.tree.path(`r/${steps}`), { recursive: true });
    await mkdir(context.tree.path(`more/${steps}`), { recursive: true });
    await rename(context.tree.path("more"), context.tree.path(`r/${steps}/more`));
    const result = await requestWalk(context, "r");
    expect(result.truncated).toBe(false);
    expect(result.entries).toContainEqual({ path: context.tree.uri("r/z/x"), kind: "file" });
    expect(result.errors).toEqual([
      { path: expect.stringContaining(`${steps}/more/nnn`), message: NAME_TOO_LONG[1] },
    ]);
  }),
);

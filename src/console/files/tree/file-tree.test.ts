import { signal } from "@preact/signals";
import { expect, onTestFinished, test } from "vitest";
import type { Files } from "../../../client/browser.ts";
import { FileTree, type TreeRow, treeStep } from "./file-tree.ts";

/** Directories with their entries; a name that ends with a slash is a directory. */
type FakeDisk = Readonly<Record<string, readonly string[]>>;

function open(disk: FakeDisk, { showsHidden = signal(false) } = {}) {
  const listed: string[] = [];
  const watched = new Set<string>();
  const files = {
    listDetails: async (path: string) => {
      listed.push(path);
      if (disk[path] === undefined) throw new Error(`list ${path}: permission denied`);
      return disk[path].map((name) =>
        name.endsWith("/") ? { name: name.slice(0, -1), kind: "directory" } : { name, kind: "file" },
      );
    },
    watch: async (path: string, { signal: ended }: { readonly signal: AbortSignal }) => {
      watched.add(path);
      ended.addEventListener("abort", () => watched.delete(path));
      throw new Error("no changes");
    },
  } as unknown as Files;
  const tree = new FileTree(files, "/p", { showsHidden });
  onTestFinished(() => tree.end());
  return { tree, listed, watched };
}

const shown = (tree: FileTree): string[] =>
  tree.rows.value.map(({ name, level, isOpen }) => `${" ".repeat(level - 1)}${name}${isOpen ? "/" : ""}`);

const DISK = {
  "/p": ["src/", "docs/", "a.txt", ".git/"],
  "/p/src": ["deep/", "b.ts"],
  "/p/src/deep": ["c.ts"],
  "/p/docs": [],
};

test("a directory is listed when it is opened, directories first", async () => {
  const { tree, listed } = open(DISK);
  await expect.poll(() => shown(tree)).toEqual(["docs", "src", "a.txt"]);
  expect(listed).toEqual(["/p"]);
  tree.open("/p/src");
  await expect.poll(() => shown(tree)).toEqual(["docs", "src/", " deep", " b.ts", "a.txt"]);
  const [, , deep, second] = tree.rows.value;
  expect(deep).toMatchObject({ level: 2, position: 1, siblings: 2, isOpen: false, path: "/p/src/deep" });
  expect(second).toMatchObject({ level: 2, position: 2, siblings: 2, isOpen: undefined });
  tree.toggle("/p/src");
  expect(shown(tree)).toEqual(["docs", "src", "a.txt"]);
});

test("a file is revealed with every directory on its way; nothing outside the root is listed", async () => {
  const { tree, listed } = open(DISK);
  tree.reveal("/p/src/deep/c.ts");
  await expect.poll(() => shown(tree)).toEqual(["docs", "src/", " deep/", "  c.ts", " b.ts", "a.txt"]);
  tree.reveal("/elsewhere/x");
  expect(listed.every((path) => path === "/p" || path.startsWith("/p/"))).toBe(true);
  expect(tree.openPaths).toEqual(["/p/src", "/p/src/deep"]);
});

test("an empty directory and one that cannot be listed say so", async () => {
  const { tree } = open({ "/p": ["docs/", "secret/"], "/p/docs": [] });
  tree.open("/p/docs");
  tree.open("/p/secret");
  await expect
    .poll(() => shown(tree))
    .toEqual(["docs/", " empty", "secret/", " List /p/secret: permission denied"]);
  expect(tree.rows.value[1]).toMatchObject({ kind: "note", path: undefined });
});

test("hidden files are listed when they are wanted", async () => {
  const showsHidden = signal(true);
  const { tree } = open(DISK, { showsHidden });
  await expect.poll(() => shown(tree)).toEqual([".git", "docs", "src", "a.txt"]);
  showsHidden.value = false;
  expect(shown(tree)).toEqual(["docs", "src", "a.txt"]);
});

test("the entries and the open directories are bounded, and what is not open is not watched", async () => {
  const names = Array.from({ length: 60 }, (_, index) => `d${index}/`);
  const many = Array.from({ length: 1500 }, (_, index) => `f${index}`);
  const inside = Object.fromEntries(names.map((name) => [`/p/${name.slice(0, -1)}`, many]));
  const { tree, watched } = open({ "/p": names, ...inside });
  for (const name of names) tree.open(`/p/${name.slice(0, -1)}`);
  expect(tree.openPaths).toHaveLength(39);
  expect(tree.openPaths.at(-1)).toBe("/p/d59");
  await expect.poll(() => tree.rows.value.length).toBe(60 + 39 * 1001);
  expect(watched.size).toBe(40);
  expect(tree.rows.value.find(({ kind }) => kind === "more")).toMatchObject({
    name: "500 more",
    path: "/p/d21",
    position: 1001,
    siblings: 1001,
  });
  tree.end();
  expect(watched.size).toBe(0);
});

test("keys do what they do in all trees", () => {
  const row = (name: string, level: number, isOpen?: boolean): TreeRow => ({
    key: name,
    path: `/${name}`,
    name,
    kind: isOpen === undefined ? "file" : "directory",
    level,
    position: 1,
    siblings: 1,
    isOpen,
  });
  const rows = [
    row("src", 1, true),
    row("deep", 2, false),
    row("b.ts", 2),
    row("docs", 1, false),
    row("a.txt", 1),
  ];
  const step = (key: string, at: number) => treeStep(key, rows, at, 3);
  const go = (to: number) => ({ kind: "go", to });
  expect([step("ArrowDown", 0), step("ArrowDown", 4), step("ArrowUp", 0)]).toEqual([go(1), go(4), go(0)]);
  expect([step("Home", 3), step("End", 0), step("PageDown", 0), step("PageUp", 4)]).toEqual([
    go(0),
    go(4),
    go(3),
    go(1),
  ]);
  // Right opens, then enters; left closes, then leaves.
  expect([step("ArrowRight", 3), step("ArrowRight", 0), step("ArrowRight", 2)]).toEqual([
    { kind: "toggle" },
    go(1),
    go(2),
  ]);
  expect([step("ArrowLeft", 0), step("ArrowLeft", 2), step("ArrowLeft", 4)]).toEqual([
    { kind: "toggle" },
    go(0),
    go(4),
  ]);
  expect([step("Enter", 0), step("Enter", 2), step(" ", 4)]).toEqual([
    { kind: "toggle" },
    { kind: "open" },
    { kind: "open" },
  ]);
  expect([step("d", 0), step("D", 1), step("d", 3), step("x", 0), step("Tab", 0)]).toEqual([
    go(1),
    go(3),
    go(1),
    undefined,
    undefined,
  ]);
  expect(treeStep("ArrowDown", [], 0, 3)).toBeUndefined();
});

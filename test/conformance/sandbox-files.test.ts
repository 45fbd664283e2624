import { lstat, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { expect } from "vitest";
import { context, path, pattern, policy, seesInside, special, writesInside } from "./file-policies.ts";
import { EXISTS, link, NOT_FOUND, onTree, type TreeContext } from "./temp-tree.ts";
import { base64, expectError, fromBase64, verifies } from "./verifies.ts";

const READ_ONLY = [-32603, "Read-only file system (os error 30)"] as const;
const DENIED = [-32600, "Permission denied (os error 13)"] as const;
const WALK = { maxDepth: 4, maxDirectories: 50, maxEntries: 200, followDirectorySymlinks: false };
const LARGE_BYTES = 3_000_000;

const TREE = {
  in: { f: "inside", d: { g: "deeper" }, ".git": { config: "c" }, out: link("../out"), lf: link("../out/f") },
  out: { f: "outside", d: {} },
};

const text = ({ tree }: TreeContext, name: string) => readFile(tree.path(name), "utf8");

/** Sends a request about two names of the tree. */
function copy({ connection, tree }: TreeContext, from: string, to: string, more: Record<string, unknown>) {
  return connection.request("fs/copy", {
    sourcePath: tree.uri(from),
    destinationPath: tree.uri(to),
    recursive: true,
    ...more,
  });
}

const DATA = { dataBase64: base64("changed") };

verifies("sandbox.files:announced", async ({ peer }) => {
  const { capabilities } = await (await peer()).request("environment/info");
  expect(capabilities).toMatchObject({ sandboxedFileStreaming: true, capabilityDiscoverySandbox: true });
});

verifies(
  "sandbox.files:reads-the-disk",
  onTree(TREE, async (t) => {
    const sandbox = writesInside(t.tree);
    expect(await t.on("fs/readFile", "in/f", sandbox)).toEqual({ dataBase64: base64("inside") });
    expect(await t.on("fs/readFile", "out/f", sandbox)).toEqual({ dataBase64: base64("outside") });
    expect(await t.on("fs/readFile", "in/lf", sandbox)).toEqual({ dataBase64: base64("outside") });
    expect(await t.on("fs/getMetadata", "out/f", sandbox)).toMatchObject({ isFile: true, size: 7 });
    expect(await t.on("fs/canonicalize", "in/lf", sandbox)).toEqual({ path: t.tree.uri("out/f") });
    const { entries } = await t.on("fs/readDirectory", "out", sandbox);
    expect(entries.map(({ fileName }: { fileName: string }) => fileName).sort()).toEqual(["d", "f"]);
    await expectError(t.on("fs/readFile", "out/none", sandbox), ...NOT_FOUND);
  }),
);

verifies(
  "sandbox.files:writes-inside",
  onTree(TREE, async (t) => {
    const sandbox = writesInside(t.tree);
    expect(await t.on("fs/writeFile", "in/f", { ...DATA, ...sandbox })).toEqual({});
    expect(await t.on("fs/writeFile", "in/new", { ...DATA, ...sandbox })).toEqual({});
    expect(await t.on("fs/createDirectory", "in/a/b", sandbox)).toEqual({});
    expect(await copy(t, "out/f", "in/a/b/f", sandbox)).toEqual({});
    expect(await t.on("fs/remove", "in/d", sandbox)).toEqual({});
    expect(await text(t, "in/f")).toBe("changed");
    expect(await text(t, "in/new")).toBe("changed");
    expect(await text(t, "in/a/b/f")).toBe("outside");
    await expect(lstat(t.tree.path("in/d"))).rejects.toThrow("ENOENT");
  }),
);

verifies(
  "sandbox.files:writes-outside",
  onTree(TREE, async (t) => {
    const sandbox = writesInside(t.tree);
    await expectError(t.on("fs/writeFile", "out/f", { ...DATA, ...sandbox }), ...READ_ONLY);
    await expectError(t.on("fs/writeFile", "out/new", { ...DATA, ...sandbox }), ...READ_ONLY);
    await expectError(t.on("fs/createDirectory", "out/a", sandbox), ...READ_ONLY);
    await expectError(copy(t, "in/f", "out/new", sandbox), ...READ_ONLY);
    await expectError(copy(t, "in/d", "out/new", sandbox), ...READ_ONLY);
    await expectError(t.on("fs/remove", "out/f", sandbox), ...READ_ONLY);
    // A mount point; servers differ in how they notice it.
    await expectError(t.on("fs/remove", "in", sandbox), -32603);
    expect((await readdir(t.tree.path("out"))).sort()).toEqual(["d", "f"]);
    expect(await text(t, "out/f")).toBe("outside");
  }),
);

verifies(
  "sandbox.files:missing-parent",
  onTree(TREE, async (t) => {
    const sandbox = writesInside(t.tree);
    await expectError(t.on("fs/writeFile", "in/no/f", { ...DATA, ...sandbox }), ...NOT_FOUND);
    await expectError(t.on("fs/writeFile", "out/no/f", { ...DATA, ...sandbox }), ...NOT_FOUND);
  }),
);

verifies("sandbox.files:shared-memory", async ({ peer }) => {
  const directory = await mkdtemp("/dev/shm/conformance-files-");
  try {
    await mkdir(`${directory}/in`);
    await writeFile(`${directory}/in/f`, "old");
    await writeFile(`${directory}/f`, "outside");
    const connection = await peer();
    const uri = (name: string) => `file://${directory}/${name}`;
    const sandbox = policy(uri("in"), special("root", "read"), path(uri("in"), "write"));
    const write = (name: string) =>
      connection.request("fs/writeFile", { path: uri(name), ...DATA, ...sandbox });
    expect(await write("in/f")).toEqual({});
    expect(await readFile(`${directory}/in/f`, "utf8")).toBe("changed");
    const { entries } = await connection.request("fs/readDirectory", { path: uri("in"), ...sandbox });
    expect(entries).toContainEqual({ fileName: "f", isDirectory: false, isFile: true });
    // It may succeed: what is written there vanishes.
    await write("f").catch(() => {});
    expect(await readFile(`${directory}/f`, "utf8")).toBe("outside");
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
});

verifies(
  "sandbox.files:harmless-outside",
  onTree(TREE, async (t) => {
    const sandbox = writesInside(t.tree);
    expect(await t.on("fs/createDirectory", "out/d", sandbox)).toEqual({});
    expect(await t.on("fs/remove", "out/none", sandbox)).toEqual({});
  }),
);

verifies(
  "sandbox.files:links-out",
  onTree({ ...TREE, in: { ...TREE.in, missing: link("../out/missing") } }, async (t) => {
    const sandbox = writesInside(t.tree);
    for (const name of ["in/lf", "in/out/f", "in/out/new", "in/missing"])
      await expectError(t.on("fs/writeFile", name, { ...DATA, ...sandbox }), ...READ_ONLY);
    await expectError(t.on("fs/remove", "in/out/f", sandbox), ...READ_ONLY);
    // The link itself is inside.
    expect(await t.on("fs/remove", "in/lf", sandbox)).toEqual({});
    expect(await text(t, "out/f")).toBe("outside");
    expect((await readdir(t.tree.path("out"))).sort()).toEqual(["d", "f"]);
  }),
);

verifies(
  "sandbox.files:git",
  onTree(TREE, async (t) => {
    const sandbox = writesInside(t.tree);
    await expectError(t.on("fs/writeFile", "in/.git/config", { ...DATA, ...sandbox }), ...READ_ONLY);
    await expectError(t.on("fs/writeFile", "in/.git/hook", { ...DATA, ...sandbox }), ...READ_ONLY);
    await expectError(t.on("fs/remove", "in/.git", sandbox), -32603);
    expect(await readdir(t.tree.path("in/.git"))).toEqual(["config"]);
    expect(await text(t, "in/.git/config")).toBe("c");
  }),
);

const SECRETS = {
  ...TREE,
  in: { ...TREE.in, secret: { key: "key" }, ls: link("secret"), "x.pem": "key", d: { "y.pem": "key" } },
};

verifies(
  "sandbox.files:denied-directory",
  onTree(SECRETS, async (t) => {
    const sandbox = writesInside(t.tree, path(t.tree.uri("in/secret"), "deny"));
    for (const name of ["in/secret/key", "in/ls/key"]) {
      await expectError(t.on("fs/readFile", name, sandbox), ...DENIED);
      await expectError(t.on("fs/getMetadata", name, sandbox), ...DENIED);
      await expectError(t.on("fs/canonicalize", name, sandbox), ...DENIED);
      await expectError(t.on("fs/writeFile", name, { ...DATA, ...sandbox }), ...DENIED);
    }
    await expectError(t.on("fs/writeFile", "in/secret/new", { ...DATA, ...sandbox }), ...DENIED);
    await expectError(t.on("fs/createDirectory", "in/secret/new", sandbox), ...DENIED);
    await expectError(t.on("fs/readDirectory", "in/secret", sandbox), ...DENIED);
    await expectError(copy(t, "in/secret", "in/stolen", sandbox), ...DENIED);
    expect(await readdir(t.tree.path("in/secret"))).toEqual(["key"]);
    expect(await text(t, "in/secret/key")).toBe("key");
  }),
);

verifies(
  "sandbox.files:denied-name",
  onTree(SECRETS, async (t) => {
    const sandbox = writesInside(t.tree, path(t.tree.uri("in/secret"), "deny"));
    const { entries } = await t.on("fs/readDirectory", "in", sandbox);
    expect(entries).toContainEqual({ fileName: "secret", isDirectory: true, isFile: false });
    expect(await t.on("fs/getMetadata", "in/secret", sandbox)).toMatchObject({ isDirectory: true });
    expect(await t.on("fs/canonicalize", "in/ls", sandbox)).toEqual({ path: t.tree.uri("in/secret") });
    const walk = await t.on("fs/walk", "in", { options: WALK, ...sandbox });
    expect(walk.entries).toContainEqual({ path: t.tree.uri("in/secret"), kind: "directory" });
    expect(walk.errors).toEqual([{ path: t.tree.uri("in/secret"), message: DENIED[1] }]);
    await expectError(t.on("fs/createDirectory", "in/secret", { recursive: false, ...sandbox }), ...EXISTS);
    // The code depends on whether it is entered first.
    await expect(t.on("fs/remove", "in/secret", sandbox)).rejects.toThrow();
    expect(await text(t, "in/secret/key")).toBe("key");
  }),
);

verifies(
  "sandbox.files:denied-pattern",
  onTree(SECRETS, async (t) => {
    const sandbox = writesInside(t.tree, pattern("**/*.pem"));
    for (const name of ["in/x.pem", "in/d/y.pem"]) {
      await expectError(t.on("fs/readFile", name, sandbox), -32600);
      await expectError(copy(t, name, "in/stolen", sandbox), -32600);
      await expectError(t.on("fs/remove", name, sandbox), -32603);
      await expect(t.on("fs/writeFile", name, { ...DATA, ...sandbox })).rejects.toThrow();
      expect(await text(t, name)).toBe("key");
    }
    expect(await t.on("fs/readFile", "in/secret/key", sandbox)).toEqual({ dataBase64: base64("key") });
  }),
);

verifies(
  "sandbox.files:denied-later",
  onTree(TREE, async (t) => {
    const sandbox = writesInside(t.tree, pattern("**/*.pem"));
    expect(await t.on("fs/readFile", "in/f", sandbox)).toEqual({ dataBase64: base64("inside") });
    await writeFile(t.tree.path("in/d/later.pem"), "key");
    await expectError(t.on("fs/readFile", "in/d/later.pem", sandbox), -32600);
    expect(await t.on("fs/writeFile", "in/own.pem", { ...DATA, ...sandbox })).toEqual({});
    await expectError(t.on("fs/readFile", "in/own.pem", sandbox), -32600);
  }),
);

verifies(
  "sandbox.files:hidden",
  onTree(TREE, async (t) => {
    const sandbox = seesInside(t.tree);
    expect(await t.on("fs/readFile", "in/f", sandbox)).toEqual({ dataBase64: base64("inside") });
    for (const name of ["out/f", "in/lf", "in/out/f"]) {
      await expectError(t.on("fs/readFile", name, sandbox), ...NOT_FOUND);
      await expectError(t.on("fs/getMetadata", name, sandbox), ...NOT_FOUND);
      await expectError(t.on("fs/canonicalize", name, sandbox), ...NOT_FOUND);
      await expectError(t.on("fs/writeFile", name, { ...DATA, ...sandbox }), ...NOT_FOUND);
    }
    await expectError(t.on("fs/readDirectory", "out", sandbox), ...NOT_FOUND);
    await expectError(t.on("fs/walk", "out", { options: WALK, ...sandbox }), ...NOT_FOUND);
    await expectError(copy(t, "out/f", "in/stolen", sandbox), ...NOT_FOUND);
    await expectError(copy(t, "in/f", "out/new", sandbox), ...NOT_FOUND);
    expect(await t.on("fs/writeFile", "in/f", { ...DATA, ...sandbox })).toEqual({});
    expect(await text(t, "in/f")).toBe("changed");
    expect(await text(t, "out/f")).toBe("outside");
  }),
);

verifies(
  "sandbox.files:hidden-siblings",
  onTree(TREE, async (t) => {
    const { entries } = await t.on("fs/readDirectory", "", seesInside(t.tree));
    expect(entries).toEqual([{ fileName: "in", isDirectory: true, isFile: false }]);
  }),
);

verifies(
  "sandbox.files:granted-later",
  onTree(TREE, async (t) => {
    const sandbox = seesInside(t.tree, path(t.tree.uri("later"), "read"));
    await expectError(t.on("fs/readFile", "later/f", sandbox), ...NOT_FOUND);
    await mkdir(t.tree.path("later"));
    await writeFile(t.tree.path("later/f"), "later");
    expect(await t.on("fs/readFile", "later/f", sandbox)).toEqual({ dataBase64: base64("later") });
    await expectError(t.on("fs/writeFile", "later/f", { ...DATA, ...sandbox }), ...READ_ONLY);
  }),
);

verifies(
  "sandbox.files:streamed-reads",
  onTree(TREE, async (t) => {
    const { connection } = t;
    expect(await t.on("fs/open", "in/f", { handleId: "a", ...seesInside(t.tree) })).toEqual({
      handleId: "a",
    });
    expect(await t.on("fs/open", "out/f", { handleId: "b", ...writesInside(t.tree) })).toEqual({
      handleId: "b",
    });
    const block = (handleId: string, offset: number) =>
      connection.request("fs/readBlock", { handleId, offset, len: 6 });
    expect(await block("a", 2)).toEqual({ chunk: base64("side"), eof: true });
    expect(await block("b", 0)).toEqual({ chunk: base64("outsid"), eof: false });
    await expectError(
      connection.request("fs/writeBlock", { handleId: "a", offset: 0, chunk: "eA==" }),
      -32603,
    );
    expect(await connection.request("fs/close", { handleId: "a" })).toEqual({});
    await expectError(block("a", 0), -32004, "unknown file handle `a`");
  }),
);

verifies(
  "sandbox.files:streamed-reads-denied",
  onTree(SECRETS, async (t) => {
    const denied = writesInside(t.tree, path(t.tree.uri("in/secret"), "deny"));
    await expectError(t.on("fs/open", "in/secret/key", { handleId: "a", ...denied }), ...DENIED);
    await expectError(t.on("fs/open", "out/f", { handleId: "a", ...seesInside(t.tree) }), ...NOT_FOUND);
    await expectError(t.on("fs/open", "in/none", { handleId: "a", ...seesInside(t.tree) }), ...NOT_FOUND);
    expect(await t.on("fs/open", "in/f", { handleId: "a", ...seesInside(t.tree) })).toEqual({
      handleId: "a",
    });
  }),
);

verifies(
  "sandbox.files:streamed-writes",
  onTree(TREE, async (t) => {
    const { connection } = t;
    await t.on("fs/open", "in/new", { handleId: "a", mode: "replace", ...writesInside(t.tree) });
    const chunk = base64("blocks");
    expect(await connection.request("fs/writeBlock", { handleId: "a", offset: 2, chunk })).toEqual({});
    expect(await text(t, "in/new")).toBe("\0\0blocks");
    await expectError(
      connection.request("fs/readBlock", { handleId: "a", offset: 0, len: 1 }),
      -32603,
      "Bad file descriptor (os error 9)",
    );
    expect(await connection.request("fs/close", { handleId: "a" })).toEqual({});
  }),
);

verifies(
  "sandbox.files:streamed-writes-denied",
  onTree(TREE, async (t) => {
    const replace = { handleId: "a", mode: "replace", ...writesInside(t.tree) };
    for (const name of ["out/f", "out/new", "in/lf", "in/.git/new"])
      await expectError(t.on("fs/open", name, replace), ...READ_ONLY);
    await expectError(t.on("fs/open", "out/no/f", replace), ...NOT_FOUND);
    expect(await text(t, "out/f")).toBe("outside");
  }),
);

verifies(
  "sandbox.files:handle-ids",
  onTree(TREE, async (t) => {
    const open = (handleId: string, more: Record<string, unknown> = {}) =>
      t.on("fs/open", "in/f", { handleId, ...more });
    await open("inside", seesInside(t.tree));
    const taken = [-32600, "file handle `inside` already exists"] as const;
    await expectError(open("inside"), ...taken);
    await expectError(open("inside", seesInside(t.tree)), ...taken);
    await expectError(
      open("n".repeat(33), seesInside(t.tree)),
      -32600,
      "file handle ID must not exceed 32 bytes",
    );
    for (let count = 1; count < 128; count += 1) await open(`h${count}`);
    const full = [-32600, "at most 128 file handles may be open per connection"] as const;
    await expectError(open("one more", seesInside(t.tree)), ...full);
    await t.connection.request("fs/close", { handleId: "inside" });
    expect(await open("inside")).toEqual({ handleId: "inside" });
  }),
);

verifies(
  "sandbox.files:order-of-checks",
  onTree(TREE, async (t) => {
    const needsDirectory = policy(null, special("project_roots", "write"));
    const badContext = [-32602, "file system sandbox context with dynamic permissions requires cwd"] as const;
    const bad = { dataBase64: "*" };
    await expectError(
      t.connection.request("fs/writeFile", { path: "nowhere", ...bad, ...needsDirectory }),
      -32602,
      /^invalid URI/,
    );
    await expectError(t.on("fs/writeFile", "in/f", { ...bad, ...needsDirectory }), ...badContext);
    await expectError(
      t.on("fs/open", "in/f", { handleId: "n".repeat(33), ...needsDirectory }),
      ...badContext,
    );
    await expectError(t.on("fs/readFile", "in/f", needsDirectory), ...badContext);
    await expectError(
      t.on("fs/writeFile", "out/f", { ...bad, ...seesInside(t.tree) }),
      -32600,
      /^fs\/writeFile requires valid base64 dataBase64/,
    );
  }),
);

verifies(
  "sandbox.files:unconfined",
  onTree(TREE, async (t) => {
    const cwd = t.tree.uri("in");
    const managed = { type: "managed", network: "restricted" };
    for (const sandbox of [
      context(cwd, { type: "disabled" }),
      context(cwd, { type: "external", network: "restricted" }),
      context(cwd, { ...managed, file_system: { type: "unrestricted" } }),
      policy(cwd, special("root", "write")),
    ]) {
      await writeFile(t.tree.path("out/f"), "outside");
      expect(await t.on("fs/writeFile", "out/f", { ...DATA, ...sandbox })).toEqual({});
      expect(await text(t, "out/f")).toBe("changed");
    }
  }),
);

verifies(
  "sandbox.files:pipelined",
  onTree(TREE, async (t) => {
    const one = seesInside(t.tree);
    const two = writesInside(t.tree);
    const put = (data: string, more: object) =>
      t.on("fs/writeFile", "in/f", { dataBase64: base64(data), ...more });
    const answers = await Promise.all([
      put("1", one),
      t.on("fs/readFile", "in/f", two),
      put("2", two),
      t.on("fs/readFile", "in/f", one),
      put("3", {}),
      t.on("fs/readFile", "in/f", one),
      put("4", one),
      t.on("fs/readFile", "in/f"),
    ]);
    const reads = answers.filter((answer) => "dataBase64" in answer);
    expect(reads.map(({ dataBase64 }) => fromBase64(dataBase64))).toEqual(["1", "2", "3", "4"]);
  }),
);

verifies(
  "sandbox.files:large",
  onTree(TREE, async (t) => {
    const bytes = Buffer.from(Array.from({ length: LARGE_BYTES }, (_, index) => (index * 7919) >> 5));
    const dataBase64 = base64(bytes);
    await t.on("fs/writeFile", "in/large", { dataBase64, ...seesInside(t.tree) });
    expect((await readFile(t.tree.path("in/large"))).equals(bytes)).toBe(true);
    const read = await t.on("fs/readFile", "in/large", seesInside(t.tree));
    expect(read.dataBase64 === dataBase64).toBe(true);
  }),
);

const SKILL = "---\nname: found\ndescription: d\n---\n";

verifies(
  "sandbox.discovery:roots",
  onTree({ in: { a: { "SKILL.md": SKILL }, b: { "SKILL.md": SKILL } } }, async (t) => {
    const uri = t.tree.uri("in");
    const denied = writesInside(t.tree, path(t.tree.uri("in/b"), "deny"));
    const { roots } = await t.connection.request("capabilityRoots/discoverV1", {
      roots: [
        { id: "all", path: uri, sandbox: null },
        { id: "confined", path: uri, ...denied },
        { id: "hidden", path: t.tree.uri("in/b"), ...denied },
      ],
    });
    const found = roots.map(
      ({ id, skills }: { id: string; skills: { instructions: { path: string } }[] }) => [
        id,
        skills.map(({ instructions }) => instructions.path),
      ],
    );
    expect(found).toEqual([
      ["all", [t.tree.uri("in/a/SKILL.md"), t.tree.uri("in/b/SKILL.md")]],
      ["confined", [t.tree.uri("in/a/SKILL.md")]],
      ["hidden", []],
    ]);
  }),
);

verifies(
  "sandbox.discovery:bad-context",
  onTree(TREE, async (t) => {
    const roots = [
      { id: "good", path: t.tree.uri("in"), sandbox: null },
      { id: "bad", path: t.tree.uri("in"), ...policy(null, special("project_roots", "write")) },
    ];
    await expectError(
      t.connection.request("capabilityRoots/discoverV1", { roots }),
      -32602,
      "file system sandbox context with dynamic permissions requires cwd",
    );
  }),
);

verifies(
  "sandbox.discovery:environment",
  onTree(TREE, async (t) => {
    const { home } = t.target.server!;
    await mkdir(`${home}/skills/found`, { recursive: true });
    await writeFile(`${home}/skills/found/SKILL.md`, SKILL);
    const names = async (more: Record<string, unknown>) => {
      const { skills } = await t.connection.request("capabilities/discoverV2", {
        cwd: t.tree.uri("in"),
        ...more,
      });
      return skills.map(({ name }: { name: string }) => name);
    };
    // The real server may answer from what it found a moment ago.
    await expect.poll(() => names({}), { timeout: 10_000 }).toEqual(["found"]);
    expect(await names(writesInside(t.tree))).toEqual(["found"]);
    expect(await names(seesInside(t.tree))).toEqual([]);
  }),
);

import { mkdir, rm, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect } from "vitest";
import { discoverRoots, inRoot, NOTHING, type RootContext } from "./discovery-tree.ts";
import { withFiles } from "./process-events.ts";
import { expectError, verifies } from "./verifies.ts";

const DISCOVER = "capabilityRoots/discoverV1";
const MAX_ROOTS = 128;
const MAX_FILE_BYTES = 1_048_576;
const MAX_ROOT_FILES = 16;
const MAX_DIRECTORIES = 2000;
const NOT_UTF8 = Buffer.from([0xff, 0xfe]);
const NOT_UTF8_REASON = "invalid utf-8 sequence of 1 bytes from index 0";

/** Paths of the skills below a directory, relative to it, and decoded. */
async function skillPaths({ discover, uri }: RootContext): Promise<string[]> {
  const { skills } = await discover();
  return skills.map(({ instructions }) => decodeURIComponent(instructions.path.slice(uri.length + 1)));
}

verifies("discovery.v1:params", async ({ peer }) => {
  const connection = await peer();
  for (const [params, member] of [
    [{}, "roots"],
    [{ roots: [{}] }, "id"],
    [{ roots: [{ path: "file:///" }] }, "id"],
    [{ roots: [{ id: "r" }] }, "path"],
  ] as const) {
    await expectError(connection.request(DISCOVER, params), -32602, `missing field \`${member}\``);
  }
  await expectError(connection.request(DISCOVER, null), -32602);
});

verifies("discovery.v1:member-types", async ({ peer }) => {
  const connection = await peer();
  for (const roots of [
    null,
    {},
    "r",
    [1],
    [null],
    [{ id: 1, path: "file:///" }],
    [{ id: "r", path: null }],
  ]) {
    await expectError(connection.request(DISCOVER, { roots }), -32602, /^invalid type: /);
  }
});

verifies(
  "discovery.v1:unknown-members",
  inRoot({}, async ({ connection, uri }) => {
    const root = { id: "r", path: uri, sandbox: null, more: 1 };
    expect(await connection.request(DISCOVER, { roots: [root], more: 2 })).toEqual({
      roots: [{ id: "r", path: uri, ...NOTHING }],
    });
  }),
);

verifies("discovery.v1:no-roots", async ({ peer }) => {
  expect(await (await peer()).request(DISCOVER, { roots: [] })).toEqual({ roots: [] });
});

verifies(
  "discovery.v1:empty-root",
  inRoot({}, async ({ discover, uri }) => {
    expect(await discover()).toEqual({ id: "r", path: uri, ...NOTHING });
  }),
);

verifies(
  "discovery.v1:order",
  inRoot({ "z/SKILL.md": "z", "a/SKILL.md": "a" }, async ({ connection, uri }) => {
    const roots = [
      { id: "same", path: `${uri}/z` },
      { id: "", path: `${uri}/none` },
      { id: "same", path: `${uri}/a` },
      { id: "same", path: `${uri}/z` },
    ];
    const found = await discoverRoots(connection, roots);
    expect(found.map(({ id, path }) => ({ id, path }))).toEqual(roots);
    expect(found.map(({ skills }) => skills[0]?.instructions.contents)).toEqual(["z", undefined, "a", "z"]);
  }),
);

verifies(
  "discovery.v1:limit",
  inRoot({}, async ({ connection, uri }) => {
    const roots = Array.from({ length: MAX_ROOTS + 1 }, (_, index) => ({ id: `${index}`, path: uri }));
    const message = "capability root discovery accepts at most 128 roots";
    await expectError(connection.request(DISCOVER, { roots }), -32600, message);
    const most = roots.slice(1);
    const found = await discoverRoots(connection, most);
    expect(found.map(({ id }) => id)).toEqual(most.map(({ id }) => id));
  }),
);

verifies(
  "discovery.v1:path-echo",
  inRoot({ "a/SKILL.md": "a" }, async ({ discover, uri }) => {
    const { path, skills } = await discover("/a/");
    expect(path).toBe(`${uri}/a/`);
    expect(skills.map(({ instructions }) => instructions.path)).toEqual([`${uri}/a/SKILL.md`]);
  }),
);

verifies(
  "discovery.v1:missing-root",
  inRoot({}, async ({ connection, uri }) => {
    const path = `${uri}/none`;
    const error = `failed to inspect capability root ${path}: No such file or directory (os error 2)`;
    const roots = [
      { id: "1", path },
      { id: "2", path: uri },
    ];
    expect(await discoverRoots(connection, roots)).toEqual([
      { id: "1", path, ...NOTHING, error },
      { id: "2", path: uri, ...NOTHING },
    ]);
  }),
);

verifies(
  "discovery.v1:file-root",
  inRoot({ "SKILL.md": "s" }, async ({ discover, uri }) => {
    const path = `${uri}/SKILL.md`;
    const error = `capability root ${path} is not a directory`;
    expect(await discover("/SKILL.md")).toEqual({ id: "r", path, ...NOTHING, error });
  }),
);

verifies(
  "discovery.v1:foreign-root",
  inRoot({}, async ({ connection, uri }) => {
    const path = "file://host/x";
    const error = `failed to inspect capability root ${path}: '${path}' is invalid on 'linux'`;
    const roots = [
      { id: "1", path },
      { id: "2", path: uri },
    ];
    expect(await discoverRoots(connection, roots)).toEqual([
      { id: "1", path, ...NOTHING, error },
      { id: "2", path: uri, ...NOTHING },
    ]);
    const relative = connection.request(DISCOVER, { roots: [...roots, { id: "3", path: "x" }] });
    await expectError(relative, -32602, "invalid URI: relative URL without a base");
  }),
);

verifies(
  "discovery.v1:fresh",
  inRoot({ "SKILL.md": "old" }, async ({ discover, path }) => {
    const contents = async () => (await discover()).skills.map(({ instructions }) => instructions.contents);
    expect(await contents()).toEqual(["old"]);
    await writeFile(join(path, "SKILL.md"), "new");
    expect(await contents()).toEqual(["new"]);
    await rm(join(path, "SKILL.md"));
    expect(await contents()).toEqual([]);
  }),
);

verifies(
  "discovery.v1.skills:found",
  inRoot({ "SKILL.md": "r", "a/SKILL.md": "a", "a/b/c/SKILL.md": "c", "x/y": "" }, async (root) => {
    expect(await skillPaths(root)).toEqual(["SKILL.md", "a/SKILL.md", "a/b/c/SKILL.md"]);
  }),
);

verifies(
  "discovery.v1.skills:contents",
  inRoot(
    { "a/SKILL.md": "", "b/SKILL.md": "\ufeffno front matter\r\né\u0000" },
    async ({ discover, uri }) => {
      expect((await discover()).skills).toEqual([
        { instructions: { path: `${uri}/a/SKILL.md`, contents: "" }, metadata: null },
        {
          instructions: { path: `${uri}/b/SKILL.md`, contents: "\ufeffno front matter\r\né\u0000" },
          metadata: null,
        },
      ]);
    },
  ),
);

verifies("discovery.v1.skills:sorted", async (context) => {
  const names = ["é", "B", "a", "a.b", "a/b", "sp ace", "~", "Z"];
  const files = Object.fromEntries(names.map((name) => [`${name}/SKILL.md`, "s"]));
  await inRoot(files, async (root) => {
    const { skills } = await root.discover();
    const paths = skills.map(({ instructions }) => instructions.path.slice(root.uri.length));
    expect(paths).toHaveLength(names.length);
    expect(paths).toEqual([...paths].sort());
    expect(paths[0]).toBe("/%C3%A9/SKILL.md");
  })(context);
});

verifies(
  "discovery.v1.skills:spelling",
  inRoot(
    { "a/skill.md": "", "b/SKILL.MD": "", "c/SKILL": "", "d/XSKILL.md": "", "e/SKILL.md": "" },
    async (root) => {
      expect(await skillPaths(root)).toEqual(["e/SKILL.md"]);
    },
  ),
);

verifies(
  "discovery.v1.skills:metadata",
  inRoot(
    {
      "a/SKILL.md": "a",
      "a/agents/openai.yaml": "x: 1\n",
      "b/SKILL.md": "b",
      "b/agents/openai.yml": "y: 1\n",
      "c/agents/openai.yaml": "z: 1\n",
    },
    async ({ discover, uri }) => {
      expect((await discover()).skills).toEqual([
        {
          instructions: { path: `${uri}/a/SKILL.md`, contents: "a" },
          metadata: { path: `${uri}/a/agents/openai.yaml`, contents: "x: 1\n" },
        },
        { instructions: { path: `${uri}/b/SKILL.md`, contents: "b" }, metadata: null },
      ]);
    },
  ),
);

verifies(
  "discovery.v1.skills:hidden",
  inRoot(
    { ".h/SKILL.md": "", "a/.h/SKILL.md": "", ".git/SKILL.md": "", "node_modules/x/SKILL.md": "" },
    async (root) => {
      expect(await skillPaths(root)).toEqual([
        ".git/SKILL.md",
        ".h/SKILL.md",
        "a/.h/SKILL.md",
        "node_modules/x/SKILL.md",
      ]);
    },
  ),
);

verifies("discovery.v1.skills:depth", async (context) => {
  const paths = Array.from({ length: 9 }, (_, depth) => `${"d/".repeat(depth)}SKILL.md`);
  await inRoot(Object.fromEntries(paths.map((path) => [path, ""])), async (root) => {
    expect((await skillPaths(root)).sort()).toEqual(paths.slice(0, 7).sort());
    expect((await root.discover()).warnings).toEqual([]);
  })(context);
});

verifies(
  "discovery.v1.skills:links",
  inRoot({ "real/SKILL.md": "real", "other/text.md": "t" }, async (root) => {
    await withFiles({ "SKILL.md": "outside" }, async (outside) => {
      await symlink(join(root.path, "real"), join(root.path, "link"));
      await symlink(outside.path, join(root.path, "outside"));
      await symlink(root.path, join(root.path, "loop"));
      await symlink("none", join(root.path, "broken"));
      await mkdir(join(root.path, "file-link"));
      await symlink("../other/text.md", join(root.path, "file-link/SKILL.md"));
      expect(await skillPaths(root)).toEqual(["link/SKILL.md", "outside/SKILL.md"]);
    });
  }),
);

verifies(
  "discovery.v1.skills:linked-root",
  inRoot({ "real/SKILL.md": "real" }, async ({ discover, path, uri }) => {
    await symlink("real", join(path, "link"));
    const { skills } = await discover("/link");
    expect(skills.map(({ instructions }) => instructions.path)).toEqual([`${uri}/link/SKILL.md`]);
  }),
);

verifies(
  "discovery.v1.skills:not-utf8",
  inRoot({ "a/SKILL.md": "a", "b/SKILL.md": "b" }, async (root) => {
    await writeFile(join(root.path, "a/SKILL.md"), NOT_UTF8);
    const { skills, warnings, error } = await root.discover();
    expect(skills.map(({ instructions }) => instructions.contents)).toEqual(["b"]);
    expect({ warnings, error }).toEqual({
      warnings: [`capability file ${root.uri}/a/SKILL.md is not UTF-8: ${NOT_UTF8_REASON}`],
      error: null,
    });
  }),
);

verifies(
  "discovery.v1.skills:metadata-not-utf8",
  inRoot({ "a/SKILL.md": "a", "a/agents/openai.yaml": "" }, async ({ discover, path, uri }) => {
    await writeFile(join(path, "a/agents/openai.yaml"), NOT_UTF8);
    const { skills, warnings } = await discover();
    expect(skills).toEqual([{ instructions: { path: `${uri}/a/SKILL.md`, contents: "a" }, metadata: null }]);
    expect(warnings).toEqual([
      `capability file ${uri}/a/agents/openai.yaml is not UTF-8: ${NOT_UTF8_REASON}`,
    ]);
  }),
);

verifies("discovery.v1.skills:file-limit", async (context) => {
  const files = { "a/SKILL.md": "x".repeat(MAX_FILE_BYTES), "b/SKILL.md": "x".repeat(MAX_FILE_BYTES + 1) };
  await inRoot({ ...files, "c/SKILL.md": "c" }, async ({ discover, uri }) => {
    const { skills, warnings, error } = await discover();
    expect(skills.map(({ instructions }) => instructions.contents.length)).toEqual([MAX_FILE_BYTES, 1]);
    expect({ warnings, error }).toEqual({
      warnings: [`capability file ${uri}/b/SKILL.md exceeds the 1048576-byte limit`],
      error: null,
    });
  })(context);
});

verifies("discovery.v1.skills:root-limit", async (context) => {
  const names = Array.from({ length: MAX_ROOT_FILES }, (_, index) => `s${index + 10}/SKILL.md`);
  const files = Object.fromEntries(names.map((name) => [name, "x".repeat(MAX_FILE_BYTES)]));
  await inRoot(files, async (root) => {
    expect(await root.discover()).toMatchObject({ warnings: [], error: null });
    await mkdir(join(root.path, "t"));
    await writeFile(join(root.path, "t/SKILL.md"), "one more");
    const { skills, warnings, error } = await root.discover();
    expect(skills).toHaveLength(MAX_ROOT_FILES);
    expect({ warnings, error }).toEqual({
      warnings: ["capability root bundle exceeds the 16777216-byte limit"],
      error: null,
    });
  })(context);
});

verifies(
  "discovery.v1.skills:directory-limit",
  inRoot({ "d0000/SKILL.md": "first" }, async (root) => {
    for (let index = 1; index <= MAX_DIRECTORIES; index += 1) {
      await mkdir(join(root.path, `d${String(index).padStart(4, "0")}`));
    }
    await writeFile(join(root.path, "d2000/SKILL.md"), "last");
    expect(await skillPaths(root)).toEqual(["d0000/SKILL.md"]);
    const { warnings, error } = await root.discover();
    expect({ warnings, error }).toEqual({
      warnings: [`capability scan reached its traversal limit (root: ${root.uri})`],
      error: null,
    });
  }),
);

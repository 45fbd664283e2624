import { readdir, writeFile } from "node:fs/promises";
import { expect } from "vitest";
import { findCodexBinary } from "../../scripts/install-codex.mjs";
import { outputOf, run, shell } from "./process-events.ts";
import {
  accessOf,
  MINIMAL,
  onTree,
  pathEntry,
  pattern,
  READ_ALL,
  sandboxOf,
  scriptIn,
  special,
  type TreeContext,
  WORKSPACE,
} from "./sandbox-probe.ts";
import { fifo, link } from "./temp-tree.ts";
import { expectError, start, verifies } from "./verifies.ts";

const PROTECTED = [".git", ".agents", ".codex", ".aws"];
const INVALID = -32602;

/** The refusal of a start. */
function refused({ connection }: TreeContext, sandbox: Record<string, unknown>, message: string) {
  return expectError(
    connection.request("process/start", start("refused", ["true"], { sandbox })),
    INVALID,
    message,
  );
}

verifies(
  "sandbox.policy:read-all",
  onTree(WORKSPACE, async (t) => {
    const access = await accessOf(t, sandboxOf([READ_ALL]), [
      "ws",
      "ws/f",
      "ws/link",
      "/tmp",
      "/usr",
      "/etc/passwd",
    ]);
    expect(new Set(Object.values(access))).toEqual(new Set(["r-"]));
  }),
);

verifies(
  "sandbox.policy:codex-workspace",
  onTree({ ...WORKSPACE, tmp: {} }, async (t) => {
    const skip = { missing_path_behavior: "skip" };
    const sandbox = sandboxOf(
      [
        READ_ALL,
        special("project_roots", "write"),
        special("slash_tmp", "write"),
        special("tmpdir", "write"),
        ...PROTECTED.map((subpath) => special("project_roots", "read", { subpath }, skip)),
      ],
      { context: { cwd: t.tree.uri("ws"), workspaceRoots: [t.tree.uri("ws")] } },
    );
    const names = ["ws", "ws/f", "ws/sub", "ws/.git", "ws/.codex", "/tmp", "/usr", "/etc/passwd", "/var"];
    expect(await accessOf(t, sandbox, names)).toEqual({
      ws: "rw",
      "ws/f": "rw",
      "ws/sub": "rw",
      "ws/.git": "r-",
      "ws/.codex": "r-",
      "/tmp": "rw",
      "/usr": "r-",
      "/etc/passwd": "r-",
      "/var": "r-",
    });
  }),
);

verifies(
  "sandbox.policy:write-all",
  onTree({ ws: { ".git": { config: "" } } }, async (t) => {
    const unrestricted = sandboxOf([], { fileSystem: { type: "unrestricted" } });
    for (const sandbox of [
      sandboxOf([special("root", "write")]),
      sandboxOf([pathEntry("file:///", "write")]),
      unrestricted,
    ]) {
      expect(await accessOf(t, sandbox, ["ws", "ws/.git", "ws/.git/config"])).toEqual({
        ws: "rw",
        "ws/.git": "rw",
        "ws/.git/config": "rw",
      });
    }
  }),
);

verifies(
  "sandbox.policy:minimal",
  onTree(WORKSPACE, async (t) => {
    // The real server always shows its own program, on writable mount points made for the sandbox.
    const program = t.target.kind === "codex" ? (findCodexBinary() ?? "") : "";
    const hidden = (directory: string) => (program.startsWith(`${directory}/`) ? "rw" : "");
    const names = [
      "/usr",
      "/usr/bin/env",
      "/etc/passwd",
      "/bin/sh",
      "/lib",
      "/home",
      "/tmp",
      "/run",
      "/sys",
      "ws",
    ];
    expect(await accessOf(t, sandboxOf([MINIMAL]), names)).toEqual({
      "/usr": "r-",
      "/usr/bin/env": "r-",
      "/etc/passwd": "r-",
      "/bin/sh": "r-",
      "/lib": "r-",
      "/home": hidden("/home"),
      "/tmp": hidden("/tmp"),
      "/run": hidden("/run"),
      "/sys": hidden("/sys"),
      ws: "",
    });
    const devices = "test -c /dev/null && test -e /proc/self/status && echo both";
    expect(await outputOf(t.connection, "devices", shell(devices), { sandbox: sandboxOf([MINIMAL]) })).toBe(
      "both\n",
    );
  }),
);

verifies(
  "sandbox.policy:invisible",
  onTree(WORKSPACE, async (t) => {
    const sandbox = sandboxOf([
      MINIMAL,
      pathEntry(t.tree.uri("ws/sub"), "read"),
      pathEntry(t.tree.uri("other"), "write"),
    ]);
    expect(await accessOf(t, sandbox, ["ws/sub/b.env", "ws/f", "other", "other/o"])).toEqual({
      "ws/sub/b.env": "r-",
      "ws/f": "",
      other: "rw",
      "other/o": "rw",
    });
  }),
);

verifies(
  "sandbox.policy:specific",
  onTree(WORKSPACE, async (t) => {
    const { uri } = { uri: (name: string) => t.tree.uri(name) };
    const nested = [
      READ_ALL,
      pathEntry(uri("ws/sub/deep"), "deny"),
      pathEntry(uri("ws"), "write"),
      pathEntry(uri("ws/sub"), "read"),
    ];
    expect(
      await accessOf(t, sandboxOf(nested), ["other", "ws", "ws/sub", "ws/sub/b.env", "ws/sub/deep"]),
    ).toEqual({
      other: "r-",
      ws: "rw",
      "ws/sub": "r-",
      "ws/sub/b.env": "r-",
      "ws/sub/deep": "--",
    });
    const innermost = [...nested.slice(0, 1), ...nested.slice(2), pathEntry(uri("ws/sub/deep"), "write")];
    expect(await accessOf(t, sandboxOf(innermost), ["ws", "ws/sub", "ws/sub/deep"])).toEqual({
      ws: "rw",
      "ws/sub": "r-",
      "ws/sub/deep": "rw",
    });
  }),
);

verifies(
  "sandbox.policy:same-path",
  onTree(WORKSPACE, async (t) => {
    const ws = (...accesses: ("read" | "write" | "deny" | "none")[]) =>
      accessOf(t, sandboxOf([READ_ALL, ...accesses.map((access) => pathEntry(t.tree.uri("ws"), access))]), [
        "ws",
      ]);
    expect(await ws("write", "read")).toEqual({ ws: "rw" });
    expect(await ws("read", "write")).toEqual({ ws: "rw" });
    expect(await ws("deny", "write")).toEqual({ ws: "--" });
    expect(await ws("read", "none")).toEqual({ ws: "--" });
  }),
);

verifies(
  "sandbox.policy:denied",
  onTree(WORKSPACE, async (t) => {
    const denied = [pathEntry(t.tree.uri("ws/f"), "deny"), pathEntry(t.tree.uri("ws/sub"), "deny")];
    expect(await accessOf(t, sandboxOf([READ_ALL, ...denied]), ["ws/f", "ws/sub", "ws/a.env"])).toEqual({
      "ws/f": "--",
      "ws/sub": "--",
      "ws/a.env": "r-",
    });
    const inWritable = sandboxOf([READ_ALL, pathEntry(t.tree.uri("ws"), "write"), ...denied]);
    expect(await accessOf(t, inWritable, ["ws/f", "ws/sub", "ws/sub/b.env", "ws/a.env"])).toEqual({
      "ws/f": "--",
      "ws/sub": "--",
      "ws/sub/b.env": "",
      "ws/a.env": "rw",
    });
    expect(await scriptIn(t, inWritable, "rm -rf ws/f ws/sub 2>/dev/null; ls ws | tr '\\n' ' '")).toContain(
      "f link sub",
    );
  }),
);

verifies(
  "sandbox.policy:write-in-denied",
  onTree(WORKSPACE, async (t) => {
    const sandbox = sandboxOf([
      READ_ALL,
      pathEntry(t.tree.uri("ws/sub"), "deny"),
      pathEntry(t.tree.uri("ws/sub/deep"), "write"),
    ]);
    expect(
      await accessOf(t, sandbox, ["ws/sub", "ws/sub/b.env", "ws/sub/deep", "ws/sub/deep/c.env"]),
    ).toEqual({
      "ws/sub": "--",
      "ws/sub/b.env": "",
      "ws/sub/deep": "rw",
      "ws/sub/deep/c.env": "rw",
    });
  }),
);

verifies(
  "sandbox.policy:read-in-denied",
  onTree(WORKSPACE, async (t) => {
    const sandbox = sandboxOf([
      READ_ALL,
      pathEntry(t.tree.uri("ws/sub"), "deny"),
      pathEntry(t.tree.uri("ws/sub/deep"), "read"),
    ]);
    expect(await accessOf(t, sandbox, ["ws/sub", "ws/sub/b.env", "ws/sub/deep"])).toEqual({
      "ws/sub": "--",
      "ws/sub/b.env": "",
      "ws/sub/deep": "r-",
    });
  }),
);

verifies(
  "sandbox.policy:write-file",
  onTree(WORKSPACE, async (t) => {
    const sandbox = sandboxOf([READ_ALL, pathEntry(t.tree.uri("ws/f"), "write")]);
    expect(await accessOf(t, sandbox, ["ws/f", "ws/a.env", "ws"])).toEqual({
      "ws/f": "rw",
      "ws/a.env": "r-",
      ws: "r-",
    });
  }),
);

verifies(
  "sandbox.policy:protected",
  onTree(
    { ws: { ".git": { config: "c" }, ".agents": "a file", ".codex": {}, ".aws": { a: "" } } },
    async (t) => {
      const sandbox = sandboxOf([READ_ALL, pathEntry(t.tree.uri("ws"), "write")]);
      const names = PROTECTED.map((name) => `ws/${name}`);
      expect(await accessOf(t, sandbox, ["ws", ...names, "ws/.git/config"])).toEqual({
        ws: "rw",
        ...Object.fromEntries(names.map((name) => [name, "r-"])),
        "ws/.git/config": "r-",
      });
      const script = `for name in ${PROTECTED.join(" ")}; do mv ws/$name ws/moved; rm -rf ws/$name; done 2>/dev/null`;
      await scriptIn(t, sandbox, script);
      expect((await readdir(t.tree.path("ws"))).sort()).toEqual([...PROTECTED].sort());
      expect(await readdir(t.tree.path("ws/.git"))).toEqual(["config"]);
    },
  ),
);

verifies(
  "sandbox.policy:protected-missing",
  onTree({ ws: {} }, async (t) => {
    const sandbox = sandboxOf([READ_ALL, pathEntry(t.tree.uri("ws"), "write")]);
    const script = `cd ws; mkdir ${PROTECTED.join(" ")}; for n in ${PROTECTED.join(" ")}; do echo > $n; echo > $n/x; done; rm -rf .git; mv .codex c; touch made`;
    await scriptIn(t, sandbox, `(${script}) 2>/dev/null`);
    expect(await readdir(t.tree.path("ws"))).toEqual(["made"]);
    expect(await accessOf(t, sandbox, ["ws/.git", "ws/.codex"])).toEqual({
      "ws/.git": "r-",
      "ws/.codex": "r-",
    });
  }),
);

verifies(
  "sandbox.policy:protected-nested",
  onTree({ ws: { sub: {} } }, async (t) => {
    const sandbox = sandboxOf([READ_ALL, pathEntry(t.tree.uri("ws"), "write")]);
    await scriptIn(t, sandbox, "mkdir ws/sub/.git && touch ws/sub/.git/made");
    expect(await readdir(t.tree.path("ws/sub/.git"))).toEqual(["made"]);
  }),
);

verifies(
  "sandbox.policy:protected-explicit",
  onTree({ ws: { ".git": { config: "" } } }, async (t) => {
    const entries = ["ws", "ws/.git", "ws/.codex"].map((name) => pathEntry(t.tree.uri(name), "write"));
    await scriptIn(
      t,
      sandboxOf([READ_ALL, ...entries]),
      "touch ws/.git/made && mkdir ws/.codex && mkdir ws/.aws",
    );
    expect((await readdir(t.tree.path("ws"))).sort()).toEqual([".codex", ".git"]);
    expect(await readdir(t.tree.path("ws/.git"))).toEqual(["config", "made"]);
  }),
);

function linkedGit(t: TreeContext) {
  const path = t.tree.path("ws/.git");
  const text = `cannot enforce sandbox read-only path ${path} because it crosses writable symlink ${path}`;
  return { text, sandbox: sandboxOf([READ_ALL, pathEntry(t.tree.uri("ws"), "write")]) };
}

const LINKED_GIT = { ws: { ".git": link("../git") }, git: { HEAD: "" } };

verifies(
  "sandbox.policy:protected-link",
  onTree(LINKED_GIT, async (t) => {
    const { text, sandbox } = linkedGit(t);
    await refused(t, sandbox, text);
  }),
);

verifies(
  "sandbox.policy:protected-link-codex",
  onTree(LINKED_GIT, async (t) => {
    const { text, sandbox } = linkedGit(t);
    const { exitCode, stderr } = await run(t.connection, "p", shell("echo ran"), { sandbox });
    expect(exitCode).toBe(1);
    expect(stderr.toString()).toContain(text);
  }),
);

verifies(
  "sandbox.policy:worktree",
  onTree({ ws: {}, repository: { worktrees: { ws: { HEAD: "" } }, f: "" } }, async (t) => {
    await writeFile(t.tree.path("ws/.git"), `gitdir: ${t.tree.path("repository/worktrees/ws")}\n`);
    const sandbox = sandboxOf([
      READ_ALL,
      pathEntry(t.tree.uri("ws"), "write"),
      pathEntry(t.tree.uri("repository/worktrees"), "write"),
    ]);
    const names = [
      "ws/.git",
      "repository/worktrees",
      "repository/worktrees/ws",
      "repository/worktrees/ws/HEAD",
    ];
    expect(await accessOf(t, sandbox, names)).toEqual({
      "ws/.git": "r-",
      "repository/worktrees": "rw",
      "repository/worktrees/ws": "r-",
      "repository/worktrees/ws/HEAD": "r-",
    });
  }),
);

verifies(
  "sandbox.policy:missing-write",
  onTree({ ws: {} }, async (t) => {
    const sandbox = sandboxOf([READ_ALL, pathEntry(t.tree.uri("ws/new"), "write")]);
    await scriptIn(t, sandbox, "mkdir ws/new 2>/dev/null");
    expect(await readdir(t.tree.path("ws"))).toEqual([]);
  }),
);

verifies(
  "sandbox.policy:missing-reserved",
  onTree({ ws: {} }, async (t) => {
    const skip = { missing_path_behavior: "skip" };
    const sandbox = sandboxOf([
      READ_ALL,
      pathEntry(t.tree.uri("ws"), "write"),
      pathEntry(t.tree.uri("ws/read"), "read"),
      pathEntry(t.tree.uri("ws/read-skip"), "read", skip),
      pathEntry(t.tree.uri("ws/deny"), "deny"),
      pathEntry(t.tree.uri("ws/deny-skip"), "deny", skip),
      pathEntry(t.tree.uri("ws/deep/a/b"), "deny"),
    ]);
    const names = "read read-skip deny deny-skip deep";
    await scriptIn(
      t,
      sandbox,
      `(cd ws; mkdir -p ${names} deep/a; for n in ${names}; do echo > $n; echo > $n/x; done; echo > made) 2>/dev/null`,
    );
    expect(await readdir(t.tree.path("ws"))).toEqual(["made"]);
  }),
);

verifies(
  "sandbox.policy:link",
  onTree(WORKSPACE, async (t) => {
    const sandbox = sandboxOf([MINIMAL, pathEntry(t.tree.uri("ws/link"), "read")]);
    expect(await accessOf(t, sandbox, ["ws/link/o"])).toEqual({ "ws/link/o": "r-" });
    const writable = sandboxOf([READ_ALL, pathEntry(t.tree.uri("ws/link"), "write")]);
    expect(await accessOf(t, writable, ["ws/link", "other", "other/o", "ws"])).toEqual({
      "ws/link": "rw",
      other: "rw",
      "other/o": "rw",
      ws: "r-",
    });
  }),
);

verifies(
  "sandbox.policy:link-denied",
  onTree(WORKSPACE, async (t) => {
    const sandbox = sandboxOf([READ_ALL, pathEntry(t.tree.uri("ws/link"), "deny")]);
    expect(await accessOf(t, sandbox, ["other", "other/o", "ws/f"])).toEqual({
      other: "--",
      "other/o": "",
      "ws/f": "r-",
    });
  }),
);

verifies(
  "sandbox.policy:link-writable",
  onTree(WORKSPACE, async (t) => {
    const words = { read: "read-only", deny: "deny-read", write: "writable" } as const;
    for (const access of ["read", "deny", "write"] as const) {
      const entries = [
        READ_ALL,
        pathEntry(t.tree.uri("ws"), "write"),
        pathEntry(t.tree.uri("ws/link"), access),
      ];
      const path = t.tree.path("ws/link");
      await refused(
        t,
        sandboxOf(entries),
        `cannot enforce sandbox ${words[access]} path ${path} because it crosses writable symlink ${path}`,
      );
    }
  }),
);

verifies(
  "sandbox.policy:tmpdir",
  onTree({ mine: {}, other: {} }, async (t) => {
    const sandbox = sandboxOf([READ_ALL, special("tmpdir", "write")], {
      context: { temporaryDirectories: [t.tree.uri("other")] },
    });
    const env = { PATH: "/usr/bin:/bin", TMPDIR: t.tree.path("mine") };
    expect(await accessOf(t, sandbox, ["mine", "other"], { env })).toEqual({ mine: "rw", other: "r-" });
    expect(await accessOf(t, sandbox, ["mine", "other"])).toEqual({ mine: "r-", other: "r-" });
  }),
);

verifies(
  "sandbox.policy:project-roots",
  onTree({ one: { sub: {} }, two: { sub: {} } }, async (t) => {
    const context = { cwd: t.tree.uri("one"), workspaceRoots: [t.tree.uri("one"), t.tree.uri("two")] };
    const names = ["one", "one/sub", "two", "two/sub"];
    for (const kind of ["project_roots", "current_working_directory"]) {
      const sandbox = sandboxOf([READ_ALL, special(kind, "write", { subpath: "sub" })], { context });
      const expected = { one: "r-", "one/sub": "rw", two: "r-", "two/sub": "rw" };
      expect(await accessOf(t, sandbox, names)).toEqual(expected);
    }
    const rootless = sandboxOf([READ_ALL, special("project_roots", "write")], {
      context: { cwd: t.tree.uri("one") },
    });
    expect(await accessOf(t, rootless, ["one"])).toEqual({ one: "r-" });
  }),
);

verifies(
  "sandbox.policy:subpath",
  onTree({ ws: { sub: {} }, other: {} }, async (t) => {
    const subpaths = ["../other", t.tree.path("other"), "./sub", "sub/../sub"];
    const sandbox = sandboxOf(
      [READ_ALL, ...subpaths.map((subpath) => special("project_roots", "write", { subpath }))],
      {
        context: { cwd: t.tree.uri("ws"), workspaceRoots: [t.tree.uri("ws")] },
      },
    );
    expect(await accessOf(t, sandbox, ["ws", "ws/sub", "other"])).toEqual({
      ws: "r-",
      "ws/sub": "r-",
      other: "r-",
    });
  }),
);

verifies(
  "sandbox.policy:policy-context",
  onTree({ ws: { "a.env": "" }, other: { "b.env": "" } }, async (t) => {
    const outer = { cwd: t.tree.uri("ws"), workspaceRoots: [t.tree.uri("ws")] };
    const access = (policyContext: object) =>
      accessOf(
        t,
        sandboxOf([READ_ALL, special("project_roots", "write"), pattern("*.env")], {
          context: { ...outer, policyContext },
        }),
        ["ws", "ws/a.env", "other", "other/b.env"],
      );
    const inner = { cwd: t.tree.uri("other"), workspaceRoots: [t.tree.uri("other")] };
    expect(await access(inner)).toEqual({ ws: "r-", "ws/a.env": "r-", other: "rw", "other/b.env": "--" });
    expect(await access({ cwd: inner.cwd })).toEqual({
      ws: "r-",
      "ws/a.env": "r-",
      other: "r-",
      "other/b.env": "--",
    });
    expect(await access({ workspaceRoots: inner.workspaceRoots })).toEqual({
      ws: "r-",
      "ws/a.env": "--",
      other: "rw",
      "other/b.env": "rw",
    });
  }),
);

verifies(
  "sandbox.policy:unknown",
  onTree(WORKSPACE, async (t) => {
    const unknown = (["write", "deny"] as const).map((access) =>
      special("unknown", access, { path: ":later", subpath: "x" }),
    );
    expect(await accessOf(t, sandboxOf([READ_ALL, ...unknown]), ["ws", "/usr"])).toEqual({
      ws: "r-",
      "/usr": "r-",
    });
  }),
);

verifies(
  "sandbox.policy:pattern",
  onTree(WORKSPACE, async (t) => {
    const sandbox = sandboxOf([
      READ_ALL,
      pathEntry(t.tree.uri("ws"), "write"),
      pattern(`${t.tree.path("ws")}/**/*.env`),
    ]);
    const names = ["ws/f", "ws/a.env", "ws/sub/b.env", "ws/sub/deep/c.env"];
    expect(await accessOf(t, sandbox, names)).toEqual({
      "ws/f": "rw",
      "ws/a.env": "--",
      "ws/sub/b.env": "--",
      "ws/sub/deep/c.env": "--",
    });
    expect(await scriptIn(t, sandbox, "echo later > ws/new.env && cat ws/new.env")).toBe("later\n");
    expect(await accessOf(t, sandbox, ["ws/new.env"])).toEqual({ "ws/new.env": "--" });
  }),
);

verifies(
  "sandbox.policy:pattern-relative",
  onTree(WORKSPACE, async (t) => {
    const names = ["ws/a.env", "ws/sub/b.env"];
    const fromContext = sandboxOf([READ_ALL, pattern("*.env")], { context: { cwd: t.tree.uri("ws") } });
    expect(await accessOf(t, fromContext, names)).toEqual({ "ws/a.env": "--", "ws/sub/b.env": "r-" });
    const fromProcess = sandboxOf([READ_ALL, pattern("*.env")], { context: { cwd: null } });
    expect(await accessOf(t, fromProcess, names, { cwd: t.tree.uri("ws/sub") })).toEqual({
      "ws/a.env": "r-",
      "ws/sub/b.env": "--",
    });
    const upwards = sandboxOf([READ_ALL, pattern("../*.env")], { context: { cwd: t.tree.uri("ws/sub") } });
    expect(await accessOf(t, upwards, names)).toEqual({ "ws/a.env": "--", "ws/sub/b.env": "r-" });
  }),
);

verifies(
  "sandbox.policy:pattern-odd-directory",
  onTree({ "a[b] {c}*": { "x.env": "", y: "" }, ab: { "x.env": "" } }, async (t) => {
    const sandbox = sandboxOf([READ_ALL, pattern("*.env")], { context: { cwd: t.tree.uri("a[b] {c}*") } });
    const names = ["a[b] {c}*/x.env", "a[b] {c}*/y", "ab/x.env"];
    expect(await accessOf(t, sandbox, names)).toEqual({
      "a[b] {c}*/x.env": "--",
      "a[b] {c}*/y": "r-",
      "ab/x.env": "r-",
    });
  }),
);

verifies(
  "sandbox.policy:pattern-depth",
  onTree(WORKSPACE, async (t) => {
    const sandbox = sandboxOf([READ_ALL, pattern(`${t.tree.path("ws")}/**/*.env`)], {
      fileSystem: { glob_scan_max_depth: 2 },
    });
    expect(await accessOf(t, sandbox, ["ws/a.env", "ws/sub/b.env", "ws/sub/deep/c.env"])).toEqual({
      "ws/a.env": "--",
      "ws/sub/b.env": "--",
      "ws/sub/deep/c.env": "r-",
    });
  }),
);

verifies(
  "sandbox.policy:pattern-classes",
  onTree({ d: { a1: "", b1: "", c1: "", abc: "" } }, async (t) => {
    const access = (text: string) =>
      accessOf(t, sandboxOf([READ_ALL, pattern(`${t.tree.path("d")}/${text}`)]), ["d/a1", "d/b1", "d/abc"]);
    expect(await access("?1")).toEqual({ "d/a1": "--", "d/b1": "--", "d/abc": "r-" });
    expect(await access("[ac]1")).toEqual({ "d/a1": "--", "d/b1": "r-", "d/abc": "r-" });
    expect(await access("[!a]1")).toEqual({ "d/a1": "r-", "d/b1": "--", "d/abc": "r-" });
    expect(await access("[^a]1")).toEqual({ "d/a1": "r-", "d/b1": "--", "d/abc": "r-" });
  }),
);

verifies(
  "sandbox.policy:pattern-grant",
  onTree(WORKSPACE, async (t) => {
    const sandbox = sandboxOf([
      MINIMAL,
      pattern(`${t.tree.path("ws")}/*.env`, "write"),
      pattern("{a", "read"),
    ]);
    expect(await accessOf(t, sandbox, ["ws/a.env"])).toEqual({ "ws/a.env": "" });
  }),
);

verifies(
  "sandbox.policy:pattern-directory",
  onTree(
    { ws: { "d.env": { f: "" }, "fifo.env": fifo, "link.env": link("../other") }, other: { o: "" } },
    async (t) => {
      const sandbox = sandboxOf([READ_ALL, pattern(`${t.tree.path("ws")}/*.env`)]);
      expect(
        await accessOf(t, sandbox, ["ws/d.env", "ws/d.env/f", "ws/fifo.env", "other", "other/o"]),
      ).toEqual({
        "ws/d.env": "--",
        "ws/d.env/f": "",
        "ws/fifo.env": "--",
        other: "--",
        "other/o": "",
      });
    },
  ),
);

const UNSAFE = ["/*.env", "/**/*.env", "/tmp/{a,b}"];
const unsafe = (text: string) =>
  `unreadable glob \`${text}\` cannot be safely expanded; use a pattern with a non-root directory prefix`;

verifies(
  "sandbox.policy:pattern-refused",
  onTree({}, async (t) => {
    for (const text of [...UNSAFE, ""]) await refused(t, sandboxOf([READ_ALL, pattern(text)]), unsafe(text));
  }),
);

verifies("sandbox.policy:pattern-refused-codex", async ({ peer }) => {
  const connection = await peer();
  for (const text of UNSAFE) {
    const sandbox = sandboxOf([READ_ALL, pattern(text)]);
    const { exitCode, stderr } = await run(connection, text, shell("echo ran"), { sandbox });
    expect(exitCode).toBe(1);
    expect(stderr.toString()).toContain(unsafe(text));
  }
});

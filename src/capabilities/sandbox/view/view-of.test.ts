import { describe, expect, it } from "vitest";
import { FakeDisk, type Tree } from "../../../../test/fixtures/fake-disk.ts";
import {
  deny,
  FULL,
  viewLines,
  path,
  policy,
  READ_ALL,
  shown,
} from "../../../../test/fixtures/sandbox-policies.ts";
import { sameView } from "./file-view.ts";
import { type FileRule, narrow, type SandboxPolicy } from "../policy/sandbox-policy.ts";
import { viewOf } from "./view-of.ts";

describe("the view of a policy", () => {
  it("makes a writable root writable, except its protected names", () => {
    expect(viewLines([READ_ALL, path("/ws", "write")], { ws: { ...FULL, src: {} } })).toEqual([
      "readOnly",
      "writable /ws",
      "readOnly /ws/.agents",
      "readOnly /ws/.aws",
      "readOnly /ws/.codex",
      "readOnly /ws/.git",
    ]);
  });

  it("reserves protected names that do not exist, or are empty directories", () => {
    expect(viewLines([READ_ALL, path("/ws", "write")], { ws: { ".git": {}, ".agents": "a file" } })).toEqual([
      "readOnly",
      "writable /ws",
      "readOnly /ws/.agents",
      "absent /ws/.aws",
      "absent /ws/.codex",
      "absent /ws/.git",
    ]);
  });

  it("reserves no names where this user cannot create any", () => {
    const disk = new FakeDisk({ ws: { ".git": { HEAD: "" } } });
    disk.canCreateIn = () => false;
    const view = viewOf(policy([READ_ALL, path("/ws", "write")]), { disk });
    expect(shown(view)).toEqual(["readOnly", "writable /ws", "readOnly /ws/.git"]);
  });

  it("hides a directory that this user cannot search, so that its mode cannot be changed", () => {
    const disk = new FakeDisk({ ws: { ...FULL, locked: { f: "", g: "" } } }, ["/ws/locked"]);
    const rules = [path("/ws", "write"), path("/ws/locked/f", "deny"), path("/ws/locked/g", "write")];
    const view = viewOf(policy(rules), { disk });
    expect(shown(view).at(-1)).toBe("hiddenDirectory /ws/locked");
  });

  it("leaves a protected name alone if a rule names it", () => {
    const rules = [path("/ws", "write"), path("/ws/.git", "write"), path("/ws/.codex", "write")];
    expect(viewLines(rules, { ws: { ...FULL, ".git": FULL, ".codex": FULL } })).toEqual([
      "empty",
      "writable /ws",
      "readOnly /ws/.agents",
      "readOnly /ws/.aws",
      "writable /ws/.codex",
      ...[".agents", ".aws", ".codex", ".git"].map((name) => `readOnly /ws/.codex/${name}`),
      "writable /ws/.git",
      ...[".agents", ".aws", ".codex", ".git"].map((name) => `readOnly /ws/.git/${name}`),
    ]);
  });

  it("protects a name even if a rule names something missing below it", () => {
    expect(viewLines([path("/ws", "write"), path("/ws/.git/hooks", "write")], { ws: {} })).toContain(
      "absent /ws/.git",
    );
  });

  it("does not protect names in the root directory", () => {
    expect(viewLines([path("/", "write")], { ".git": { HEAD: "" } })).toEqual(["writable"]);
  });

  it("keeps what contains something hidden from being renamed, by mounting it on itself", () => {
    const tree = { ws: { ...FULL, a: { b: { secret: "" } } } };
    const rules = [READ_ALL, path("/ws", "write"), path("/ws/a/b/secret", "deny")];
    expect(viewLines(rules, tree).filter((line) => !line.includes("/."))).toEqual([
      "readOnly",
      "writable /ws",
      "writable /ws/a",
      "writable /ws/a/b",
      "hiddenFile /ws/a/b/secret",
    ]);
  });

  it("lets the more specific rule win", () => {
    const tree = { a: { ...FULL, b: { ...FULL, c: { d: "secret", e: "" } } } };
    const rules = [READ_ALL, path("/a", "write"), path("/a/b", "deny"), path("/a/b/c", "read")];
    expect(
      viewLines([...rules, path("/a/b/c/d", "deny")], tree).filter((line) => !line.includes("/.")),
    ).toEqual(["readOnly", "writable /a", "hiddenDirectory /a/b", "readOnly /a/b/c", "hiddenFile /a/b/c/d"]);
  });

  it("lets deny win over write, and write over read, for the same path", () => {
    const tree = { a: "", b: "", c: "" };
    const rules = [path("/a", "write"), path("/a", "deny"), path("/b", "read"), path("/b", "write")];
    expect(viewLines([READ_ALL, ...rules], tree)).toEqual(["readOnly", "hiddenFile /a", "writable /b"]);
  });

  it("shows nothing without a rule, and mounts only what differs from its surroundings", () => {
    expect(viewLines([], { a: "" })).toEqual(["empty"]);
    expect(
      viewLines([path("/a", "read"), path("/a/b", "read"), path("/x", "deny")], { a: { b: {} }, x: "" }),
    ).toEqual(["empty", "readOnly /a"]);
  });

  it("ignores write rules for missing paths, and reserves the first missing name of others", () => {
    const tree = { ws: FULL };
    expect(viewLines([READ_ALL, path("/new", "write")], tree)).toEqual(["readOnly"]);
    expect(viewLines([READ_ALL, path("/new", "deny"), path("/other", "read")], tree)).toEqual(["readOnly"]);
    expect(viewLines([path("/ws", "write"), path("/ws/a/b/c", "deny"), path("/ws/d", "read")], tree)).toEqual(
      expect.arrayContaining(["absent /ws/a", "absent /ws/d"]),
    );
  });

  it("pins a file that stands where a rule expects a directory, without making it readable", () => {
    expect(
      viewLines([path("/ws", "write"), path("/ws/file/x", "deny")], { ws: { ...FULL, file: "" } }),
    ).toContain("readOnly /ws/file");
    expect(viewLines([path("/file/x", "deny")], { file: "" })).toEqual(["empty"]);
  });

  it("ignores rules for what every sandbox creates anew", () => {
    const tree = { dev: { shm: {} }, proc: { "1": {} } };
    expect(viewLines([READ_ALL, path("/proc", "write"), path("/dev/shm", "write")], tree)).toEqual([
      "readOnly",
    ]);
  });

  it("shows what a rule names in shared memory", () => {
    const tree = { dev: { shm: { ws: FULL } } };
    expect(viewLines([READ_ALL, path("/dev/shm/ws", "write")], tree)).toContain("writable /dev/shm/ws");
  });

  it("shows system directories, and the links to them, below an empty root", () => {
    const tree = { bin: { link: "usr/bin" }, usr: { bin: {} }, etc: {} };
    const minimal = (rules: FileRule[]) =>
      shown(viewOf(policy(rules, { systemDirectories: true }), { disk: new FakeDisk(tree) }));
    expect(minimal([])).toEqual(["empty", "link /bin -> usr/bin", "readOnly /etc", "readOnly /usr"]);
    expect(minimal([path("/", "deny")])).toEqual(minimal([]));
    expect(minimal([path("/usr", "deny")])).toEqual(["empty", "readOnly /etc"]);
    expect(minimal([path("/usr", "write")])).toContain("writable /usr");
    expect(minimal([path("/", "write")])).toEqual(["writable"]);
  });
});

describe("symbolic links", () => {
  const tree = { home: { ws: { link: "../data/ws" } }, data: { ws: { ...FULL, f: "" }, other: { f: "" } } };

  it("lead a rule to their target", () => {
    expect(viewLines([READ_ALL, path("/home/ws/f", "deny")], tree)).toEqual([
      "readOnly",
      "hiddenFile /data/ws/f",
    ]);
    expect(viewLines([READ_ALL, path("/home/ws", "write")], tree)).toContain("writable /data/ws");
  });

  it("exist inside if nothing else shows them", () => {
    expect(viewLines([path("/home/ws", "read")], tree)).toEqual([
      "empty",
      "readOnly /data/ws",
      "link /home/ws -> ../data/ws",
    ]);
  });

  it.each([
    ["read", "read-only"],
    ["deny", "deny-read"],
    ["write", "writable"],
  ] as const)("are refused for %s where they could be replaced from inside", (access, words) => {
    expect(() => viewLines([READ_ALL, path("/home", "write"), path("/home/ws", access)], tree)).toThrow(
      `cannot enforce sandbox ${words} path /home/ws because it crosses writable symlink /home/ws`,
    );
  });

  it("may be writable if they add no access", () => {
    expect(
      viewLines([path("/home", "write"), path("/data", "write"), path("/home/ws", "write")], tree),
    ).toContain("writable /data");
  });

  it("cannot stand for a protected name", () => {
    const repository = { ws: { ".git": { link: "/elsewhere" } }, elsewhere: { HEAD: "" } };
    expect(() => viewLines([READ_ALL, path("/ws", "write")], repository)).toThrow(
      "cannot enforce sandbox read-only path /ws/.git because it crosses writable symlink /ws/.git",
    );
  });

  it("that run in a circle are refused", () => {
    const circle = { a: { link: "b" }, b: { link: "a" } };
    expect(() => viewLines([path("/a", "read")], circle)).toThrow("too many symbolic links");
  });
});

describe("worktrees", () => {
  const tree = {
    wt: { ...FULL, ".git": "gitdir: ../repo/worktrees/x\n" },
    repo: { worktrees: { x: { commondir: "../..\n" } }, hooks: { h: "" } },
    secret: { x: "" },
  };

  it("have their git directories protected", () => {
    const rules = [
      READ_ALL,
      path("/wt", "write"),
      path("/repo/worktrees", "write"),
      path("/repo/hooks", "write"),
    ];
    expect(viewLines(rules, tree)).toEqual(
      expect.arrayContaining(["readOnly /repo/worktrees/x", "readOnly /wt/.git"]),
    );
  });

  it("cannot make anything readable", () => {
    const hostile = { ...tree, wt: { ...FULL, ".git": "gitdir: /secret\n" } };
    expect(viewLines([path("/wt", "write")], hostile).join()).not.toContain("secret");
  });
});

describe("a narrowed policy", () => {
  const tree = { ws: FULL, etc: {}, link: { link: "/secret" }, secret: { sub: { f: "" } } };
  const narrowed = (operator: FileRule[], client: FileRule[]) =>
    shown(viewOf(narrow(policy(operator), policy(client)), { disk: new FakeDisk(tree) }));

  it("gives the weaker access", () => {
    expect(narrowed([READ_ALL, path("/ws", "write")], [path("/", "write")])).toEqual(
      narrowed([path("/", "write")], [READ_ALL, path("/ws", "write")]),
    );
    expect(narrowed([READ_ALL, path("/ws", "deny")], [path("/ws", "write")])).toEqual(["empty"]);
    expect(narrowed([READ_ALL], [path("/etc", "write")])).toEqual(["empty", "readOnly /etc"]);
  });

  it("does not let a client reach by a link what the operator denies", () => {
    expect(narrowed([path("/", "read"), path("/secret", "deny")], [path("/link/sub", "write")])).toEqual([
      "empty",
      "link /link -> /secret",
    ]);
  });

  it("has the weaker network", () => {
    const operator: SandboxPolicy = { files: "unrestricted", network: "proxied" };
    expect(narrow(operator, { files: "unrestricted", network: "enabled" }).network).toBe("proxied");
    expect(narrow(operator, { files: "unrestricted", network: "restricted" }).network).toBe("restricted");
    expect(narrow(operator, undefined)).toBe(operator);
  });
});

describe("two views", () => {
  it("are the same only if nothing was replaced, added or removed", () => {
    const rules = [READ_ALL, path("/ws", "write"), deny("/ws/*.env")];
    const at = (tree: { [name: string]: Tree }) => viewOf(policy(rules), { disk: new FakeDisk(tree) });
    const first = at({ ws: FULL });
    expect(sameView(first, at({ ws: { ...FULL, more: "" } }))).toBe(true);
    expect(sameView(first, at({ ws: { ...FULL, "a.env": "" } }))).toBe(false);
    expect(sameView(first, at({ ws: { ...FULL, ".git": {} } }))).toBe(false);
    expect(sameView(first, { ...first, identity: "other" })).toBe(false);
  });
});

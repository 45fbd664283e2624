import { describe, expect, it } from "vitest";
import { CapabilityError, RpcError } from "../../base/errors.ts";
import type { FileSystemEntry, SandboxContext } from "../../protocol/sandbox.ts";
import { sandboxPolicy, type SandboxSubject } from "./sandbox-context.ts";

const PROCESS: SandboxSubject = { kind: "process", cwd: () => "/start", temporaryDirectory: "/var/tmp" };
const FILES: SandboxSubject = { kind: "files", temporaryDirectory: undefined };
const FOREIGN = "file:///C:/x";

function context(entries: FileSystemEntry[], more: Partial<SandboxContext> = {}): SandboxContext {
  return {
    permissions: { type: "managed", file_system: { type: "restricted", entries }, network: "restricted" },
    windowsSandboxLevel: "disabled",
    ...more,
  };
}

type Special = Extract<FileSystemEntry["path"], { type: "special" }>["value"];

function special(value: Special, access: FileSystemEntry["access"] = "write"): FileSystemEntry {
  return { path: { type: "special", value }, access };
}

function path(uri: string, access: FileSystemEntry["access"] = "write"): FileSystemEntry {
  return { path: { type: "path", path: uri }, access };
}

function glob(pattern: string, access: FileSystemEntry["access"] = "deny"): FileSystemEntry {
  return { path: { type: "glob_pattern", pattern }, access };
}

function rules(entries: FileSystemEntry[], more: Partial<SandboxContext> = {}, subject = PROCESS): unknown {
  const policy = sandboxPolicy(context(entries, more), subject);
  if (policy === undefined || policy.files === "unrestricted") throw new Error("there are no rules");
  return policy.files.rules.map((rule) => [rule.access, rule.kind === "path" ? rule.path : rule.pattern]);
}

function failure(wanted: SandboxContext, subject: SandboxSubject): unknown {
  try {
    return sandboxPolicy(wanted, subject);
  } catch (error) {
    if (error instanceof RpcError) return [error.rpcCode, error.message];
    if (error instanceof CapabilityError) return [error.code, error.message];
    throw error;
  }
}

const ROOTS = special({ kind: "project_roots" });

describe("a context", () => {
  it("of a profile that asks for nothing has no policy", () => {
    for (const subject of [PROCESS, FILES]) {
      expect(sandboxPolicy(context([], { permissions: { type: "disabled" } }), subject)).toBeUndefined();
      const external = { type: "external", network: "enabled" } as const;
      expect(sandboxPolicy(context([], { permissions: external }), subject)).toBeUndefined();
    }
  });

  it("of an external profile without a network takes it from a process", () => {
    const external = context([], { permissions: { type: "external", network: "restricted" } });
    expect(sandboxPolicy(external, PROCESS)).toEqual({ files: "unrestricted", network: "restricted" });
    expect(sandboxPolicy(external, FILES)).toBeUndefined();
  });

  it("turns special paths into native ones", () => {
    const entries = [
      special({ kind: "root" }, "read"),
      special({ kind: "slash_tmp" }),
      special({ kind: "tmpdir" }),
      special({ kind: "unknown", path: ":future" }),
      special({ kind: "project_roots", subpath: ".git" }, "read"),
      special({ kind: "current_working_directory" }),
      path("file:///a%20b/../c", "none"),
    ];
    expect(rules(entries, { cwd: "file:///ws", workspaceRoots: ["file:///ws", "file:///two"] })).toEqual([
      ["read", "/"],
      ["write", "/tmp"],
      ["write", "/var/tmp"],
      ["read", "/ws/.git"],
      ["read", "/two/.git"],
      ["write", "/ws"],
      ["write", "/two"],
      ["deny", "/c"],
    ]);
  });

  it("takes the system directories by name", () => {
    expect(sandboxPolicy(context([special({ kind: "minimal" }, "read")]), PROCESS)).toEqual({
      files: { rules: [], systemDirectories: true },
      network: "restricted",
    });
  });

  it.each(["../x", "/x", "./x", "a/../b"])("ignores the subpath %j", (subpath) => {
    expect(rules([special({ kind: "project_roots", subpath })], { workspaceRoots: ["file:///ws"] })).toEqual(
      [],
    );
  });

  it("grants nothing for project roots that it does not name", () => {
    expect(rules([ROOTS], { cwd: "file:///ws" })).toEqual([]);
  });

  it("prefers its policy context, whose roots are none unless it names them", () => {
    const outer = { cwd: "file:///ws", workspaceRoots: ["file:///ws"] };
    const entries = [ROOTS, glob("*.env")];
    expect(rules(entries, { ...outer, policyContext: { cwd: "file:///other" } })).toEqual([
      ["deny", "/other/*.env"],
    ]);
    expect(rules(entries, { ...outer, policyContext: { workspaceRoots: ["file:///two"] } })).toEqual([
      ["write", "/two"],
      ["deny", "/ws/*.env"],
    ]);
    expect(rules(entries, { ...outer, policyContext: null })).toEqual([
      ["write", "/ws"],
      ["deny", "/ws/*.env"],
    ]);
  });

  it("of a process that has no cwd uses that of the process", () => {
    expect(rules([glob("*.env"), glob("/abs/*")], { cwd: null })).toEqual([
      ["deny", "/start/*.env"],
      ["deny", "/abs/*"],
    ]);
  });

  it("searches in a directory whose name contains wildcards", () => {
    expect(rules([glob("*.env")], { cwd: "file:///a%5Bb%5D/%7Bc%7D" })).toEqual([
      ["deny", "/a\\[b\\]/\\{c\\}/*.env"],
    ]);
  });

  it("has patterns for denials only", () => {
    expect(rules([glob("*.env", "read"), glob("*.env", "write")])).toEqual([]);
  });

  it("uses an absolute TMPDIR only", () => {
    const relative = { ...PROCESS, temporaryDirectory: "tmp" };
    expect(rules([special({ kind: "tmpdir" })], {}, relative)).toEqual([]);
  });

  it("keeps the depth of patterns", () => {
    const permissions: SandboxContext["permissions"] = {
      type: "managed",
      file_system: { type: "restricted", entries: [], glob_scan_max_depth: 3 },
      network: "enabled",
    };
    expect(sandboxPolicy(context([], { permissions }), FILES)).toEqual({
      files: { rules: [], systemDirectories: false, globScanMaxDepth: 3 },
      network: "enabled",
    });
  });
});

describe("an invalid context is refused", () => {
  const why = `'${FOREIGN}' is invalid on 'linux'`;
  const unprepared = "failed to prepare process sandbox: invalid sandbox";
  const cwdOnHost = `${unprepared} policy cwd: ${why}`;
  const rootOnHost = `${unprepared} workspace root: ${why}`;
  const needsCwd = "file system sandbox context with dynamic permissions requires cwd";

  it.each([
    ["a foreign path", context([path(FOREIGN)]), `${unprepared} permission path: ${why}`],
    ["a foreign cwd", context([path(FOREIGN)], { cwd: FOREIGN, workspaceRoots: [FOREIGN] }), cwdOnHost],
    ["a foreign root", context([path(FOREIGN)], { workspaceRoots: [FOREIGN] }), rootOnHost],
    ["a foreign cwd of a policy", context([], { policyContext: { cwd: FOREIGN } }), cwdOnHost],
    [
      "a foreign cwd of no policy",
      context([], { permissions: { type: "disabled" }, cwd: FOREIGN }),
      cwdOnHost,
    ],
  ])("for a process: %s", (_, wanted, message) => {
    expect(failure(wanted, PROCESS)).toEqual([-32602, message]);
  });

  it.each([
    [
      "a foreign path",
      context([path(FOREIGN)], { cwd: FOREIGN }),
      `invalid sandbox permission path URI: ${why}`,
    ],
    ["a foreign cwd", context([], { cwd: FOREIGN, workspaceRoots: [FOREIGN] }), why],
    [
      "a foreign root",
      context([], { workspaceRoots: [FOREIGN] }),
      `file system sandbox workspace root is not native to this exec-server host: ${why}`,
    ],
  ])("for a file call: %s", (_, wanted, message) => {
    expect(failure(wanted, FILES)).toEqual(["INVALID_INPUT", message]);
  });

  it("for a file call: permissions that depend on a missing cwd, before anything else", () => {
    for (const dynamic of [ROOTS, glob("*.env")])
      expect(failure(context([path(FOREIGN), dynamic], { workspaceRoots: [FOREIGN] }), FILES)).toEqual([
        -32602,
        needsCwd,
      ]);
    expect(failure(context([glob("/a/*")]), FILES)).toHaveProperty("files");
    expect(failure(context([ROOTS], { policyContext: { cwd: "file:///ws" } }), FILES)).toHaveProperty(
      "files",
    );
  });

  it.each([
    ["sub", "invalid URI: relative URL without a base"],
    ["http://x/y", "unsupported path URI scheme `http`"],
    ["file:///a?b", "query parameters are not allowed in path URIs"],
    ["file:///a%00b", "'file:///a%00b' is invalid on 'linux'"],
  ])("wherever %j stands, used or not", (uri, message) => {
    const wanted: SandboxContext[] = [
      context([path(uri)]),
      context([], { cwd: uri }),
      context([], { workspaceRoots: [uri] }),
      context([], { userHomeDir: uri }),
      context([], { temporaryDirectories: [uri] }),
      context([], { policyContext: { cwd: uri } }),
      context([], { policyContext: { workspaceRoots: [uri] } }),
      context([], { permissions: { type: "disabled" }, cwd: uri }),
    ];
    for (const each of wanted)
      for (const subject of [PROCESS, FILES]) expect(failure(each, subject)).toEqual([-32602, message]);
  });

  it("but not for a foreign home or temporary directory, which nothing uses", () => {
    const unused = context([], { userHomeDir: FOREIGN, temporaryDirectories: [FOREIGN] });
    for (const subject of [PROCESS, FILES]) expect(failure(unused, subject)).toHaveProperty("files");
  });

  it("for names that are not UTF-8, which no option of a sandbox can hold", () => {
    expect(failure(context([path("file:///a%FF")]), PROCESS)).toEqual([
      -32602,
      "failed to prepare process sandbox: invalid sandbox permission path: 'file:///a%FF' is not UTF-8, which a sandbox requires",
    ]);
  });

  it("for the older mechanism, unless every file is writable", () => {
    const message = "filesystem-restricted execution requires bubblewrap to isolate app-server sockets";
    const legacy = { useLegacyLandlock: true };
    expect(failure(context([special({ kind: "root" }, "read")], legacy), PROCESS)).toEqual([-32602, message]);
    expect(failure(context([special({ kind: "root" }, "read")], legacy), FILES)).toEqual([-32603, message]);
    expect(failure(context([special({ kind: "root" })], legacy), PROCESS)).toHaveProperty("files");
    expect(failure(context([path("file:///")], legacy), PROCESS)).toHaveProperty("files");
  });
});

describe("a context with very many paths", () => {
  const roots = (count: number): string[] => Array.from({ length: count }, (_, index) => `file:///r${index}`);
  const refused = (count: number): unknown => [
    -32602,
    `a sandbox context has at most 10000 paths, this one has ${count}`,
  ];

  it.each([
    ["workspace roots", { workspaceRoots: roots(200_000) }],
    ["temporary directories", { temporaryDirectories: roots(200_000) }],
    ["roots of a policy context", { policyContext: { workspaceRoots: roots(200_000) } }],
  ])("is refused: %s", (_, more) => {
    expect(failure(context([], more), PROCESS)).toEqual(refused(200_000));
    expect(failure(context([], more), FILES)).toEqual(refused(200_000));
  });

  it("is refused for what its entries and roots multiply to", () => {
    const entries = Array.from({ length: 200 }, () => ROOTS);
    expect(failure(context(entries, { workspaceRoots: roots(200) }), PROCESS)).toEqual(refused(40_400));
  });

  it("is resolved up to the limit", () => {
    expect(rules([ROOTS], { workspaceRoots: roots(4_999) })).toHaveLength(4_999);
  });
});

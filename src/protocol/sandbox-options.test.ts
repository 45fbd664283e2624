import { describe, expect, it } from "vitest";
import { UsageError } from "../base/errors.ts";
import { type Sandbox, sandboxContext, type SandboxOptions } from "./sandbox-options.ts";
import { SandboxContext } from "./sandbox.ts";

const CWD = "file:///srv/work";
const READ_ALL = { path: { type: "special", value: { kind: "root" } }, access: "read" };

function entries(sandbox: Sandbox, cwd = CWD) {
  const { permissions } = sandboxContext(sandbox, cwd);
  if (permissions.type !== "managed" || permissions.file_system.type !== "restricted")
    throw new Error("the context restricts nothing");
  return permissions.file_system.entries;
}

/** The second entry, after what may be read. */
const only = (options: SandboxOptions, cwd = CWD) => entries(options, cwd)[1];
const path = (uri: string) => ({ type: "path", path: uri });

describe("sandboxContext", () => {
  it("lets everything be read, nothing be written and nothing be reached by default", () => {
    expect(sandboxContext({}, CWD)).toEqual({
      permissions: {
        type: "managed",
        file_system: { type: "restricted", entries: [READ_ALL] },
        network: "restricted",
      },
      cwd: CWD,
      workspaceRoots: [CWD],
      windowsSandboxLevel: "disabled",
    });
  });

  it("opens the network only where it says so", () => {
    expect(sandboxContext({ network: true }, CWD).permissions).toMatchObject({ network: "enabled" });
    expect(sandboxContext({ network: false }, CWD).permissions).toMatchObject({ network: "restricted" });
  });

  it.each<[string, SandboxOptions, object]>([
    ["an absolute path", { write: ["/var/cache"] }, { path: path("file:///var/cache"), access: "write" }],
    ["the directory itself", { write: ["."] }, { path: path(CWD), access: "write" }],
    ["a relative path", { write: ["out/"] }, { path: path(`${CWD}/out`), access: "write" }],
    ["dots", { write: ["../other/./x"] }, { path: path("file:///srv/other/x"), access: "write" }],
    ["a name with a space", { deny: ["a b%"] }, { path: path(`${CWD}/a%20b%25`), access: "deny" }],
    [
      "a pattern",
      { deny: ["**/.env"] },
      { path: { type: "glob_pattern", pattern: "/srv/work/**/.env" }, access: "deny" },
    ],
    [
      "an absolute pattern",
      { deny: ["/home/../home/*/.ssh"] },
      { path: { type: "glob_pattern", pattern: "/home/*/.ssh" }, access: "deny" },
    ],
    [
      "a pattern for a brace",
      { deny: ["[{]x[}]"] },
      { path: { type: "glob_pattern", pattern: "/srv/work/[{]x[}]" }, access: "deny" },
    ],
  ])("resolves %s against the working directory", (_, options, expected) => {
    expect(only(options)).toEqual(expected);
  });

  it("lets the working directory of a pattern stand for itself", () => {
    expect(only({ deny: ["*.pem"] }, "file:///srv/%5Ba%5D%2A%7Bb%7D%3F")).toEqual({
      path: { type: "glob_pattern", pattern: "/srv/[[]a[]][*][{]b[}][?]/*.pem" },
      access: "deny",
    });
    expect(only({ deny: ["*.pem"] }, "file:///srv/a%5Cb")).toEqual({
      path: { type: "glob_pattern", pattern: "/srv/a?b/*.pem" },
      access: "deny",
    });
  });

  it("adds what programs need to a list of what can be read", () => {
    expect(entries({ read: ["data"], write: ["out"] })).toEqual([
      { path: { type: "special", value: { kind: "minimal" } }, access: "read" },
      { path: path(`${CWD}/data`), access: "read" },
      { path: path(`${CWD}/out`), access: "write" },
    ]);
  });

  it("knows the sandboxes of Codex by name", () => {
    expect(entries("read-only")).toEqual([READ_ALL]);
    const kinds = entries("workspace-write").map(({ path: at, access }) =>
      at.type === "special"
        ? `${at.value.kind} ${"subpath" in at.value ? at.value.subpath : ""} ${access}`
        : at,
    );
    expect(kinds).toEqual([
      "root  read",
      "project_roots  write",
      "slash_tmp  write",
      "tmpdir  write",
      "project_roots .git read",
      "project_roots .agents read",
      "project_roots .codex read",
      "project_roots .aws read",
    ]);
  });

  it("makes contexts that the wire accepts", () => {
    const all: Sandbox[] = [
      "read-only",
      "workspace-write",
      { write: ["a"], read: ["/b"], deny: ["**/c", "d"] },
    ];
    for (const sandbox of all) {
      const context = sandboxContext(sandbox, CWD);
      expect(SandboxContext().parse(context)).toEqual(context);
    }
  });

  it("passes a context of the wire on as it is", () => {
    const context = { permissions: { type: "disabled" }, windowsSandboxLevel: "disabled" } as const;
    expect(sandboxContext(context, CWD)).toBe(context);
  });

  it.each<[string, unknown, string]>([
    ["an unknown name", "danger", 'there is no sandbox "danger"; there are read-only, workspace-write'],
    ["something else", 7, "a sandbox must be an object or one of read-only, workspace-write"],
    ["a list", ["/a"], "a sandbox must be an object or one of read-only, workspace-write"],
    [
      "a member it does not have",
      { writes: [] },
      'a sandbox has no "writes"; it has write, read, deny, network',
    ],
    ["text for a list", { write: "/a" }, "write of a sandbox must be a list of paths"],
    ["another word for all", { read: "everything" }, 'read of a sandbox must be "all" or a list of paths'],
    ["text for network", { network: "yes" }, "network of a sandbox must be true or false"],
    ["a number in a list", { deny: [1] }, "deny of a sandbox must be text, not number"],
    ["an empty path", { write: [""] }, "write of a sandbox holds an empty path"],
    ["a NUL", { write: ["a\0b"] }, "write of a sandbox contains a NUL"],
    ["a URI", { write: ["file:///a"] }, "write of a sandbox holds file:///a; pass a plain path, not a URI"],
    ["a tilde", { deny: ["~/.ssh"] }, "deny of a sandbox holds ~/.ssh; write the home directory out"],
    [
      "braces",
      { deny: ["*.{pem,key}"] },
      "deny of a sandbox holds *.{pem,key}: braces have no meaning in patterns; list each pattern, or write [{]",
    ],
    [
      "a pattern of the whole disk",
      { deny: ["/**/.env"] },
      "deny of a sandbox holds /**/.env, which begins at the root: name a directory before the first wildcard",
    ],
  ])("refuses %s", (_, sandbox, message) => {
    expect(() => sandboxContext(sandbox as Sandbox, CWD)).toThrow(new UsageError(message));
  });

  it("refuses a relative path where the working directory has no text", () => {
    expect(() => sandboxContext({ write: ["a"] }, "file:///srv/%FF")).toThrow("is not UTF-8");
    expect(() => sandboxContext({ write: ["a"] }, "file:///C:/work")).toThrow("is file:///C:/work");
    expect(sandboxContext({ write: ["/a"] }, "file:///srv/%FF")).toBeDefined();
  });
});

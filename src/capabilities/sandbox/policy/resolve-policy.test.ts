import { describe, expect, it } from "vitest";
import {
  dependsOnDirectory,
  type PolicyEntry,
  type PolicyTarget,
  type PolicySurroundings,
  resolvePolicy,
} from "./resolve-policy.ts";
import type { FileAccess, FileRules } from "./sandbox-policy.ts";

const SURROUNDINGS: PolicySurroundings = {
  cwd: "/work [1]",
  workspaceRoots: ["/work [1]", "/other"],
  temporaryDirectory: "/var/tmp/./mine/..",
};

const entry = (target: PolicyTarget, access: FileAccess = "read"): PolicyEntry => ({ target, access });

function rulesOf(entries: PolicyEntry[], surroundings: Partial<PolicySurroundings> = {}): string[] {
  const { files } = resolvePolicy(
    { files: { entries }, network: "restricted" },
    { ...SURROUNDINGS, ...surroundings },
  );
  return (files as FileRules).rules.map(
    (rule) => `${rule.access} ${rule.kind === "glob" ? `glob ${rule.pattern}` : rule.path}`,
  );
}

it("passes on what needs no surroundings", () => {
  expect(resolvePolicy({ files: "unrestricted", network: "enabled" }, SURROUNDINGS)).toEqual({
    files: "unrestricted",
    network: "enabled",
  });
  expect(
    resolvePolicy({ files: { entries: [], globScanMaxDepth: 3 }, network: "proxied" }, SURROUNDINGS),
  ).toEqual({ files: { rules: [], systemDirectories: false, globScanMaxDepth: 3 }, network: "proxied" });
  expect(resolvePolicy({ files: { entries: [] }, network: "restricted" }, SURROUNDINGS).files).toEqual({
    rules: [],
    systemDirectories: false,
  });
});

describe("a place", () => {
  it("with a name becomes its paths", () => {
    expect(
      rulesOf([
        entry({ kind: "path", path: "/a" }, "deny"),
        entry({ kind: "root" }),
        entry({ kind: "slashTmp" }, "write"),
        entry({ kind: "temporaryDirectory" }, "write"),
        entry({ kind: "projectRoots" }, "write"),
        entry({ kind: "projectRoots", subpath: "a/b" }),
        entry({ kind: "unknown" }, "write"),
        entry({ kind: "systemDirectories" }),
      ]),
    ).toEqual([
      "deny /a",
      "read /",
      "write /tmp",
      "write /var/tmp",
      "write /work [1]",
      "write /other",
      "read /work [1]/a/b",
      "read /other/a/b",
    ]);
  });

  it("that the process does not have grants nothing", () => {
    for (const temporaryDirectory of [undefined, "", "relative"])
      expect(rulesOf([entry({ kind: "temporaryDirectory" })], { temporaryDirectory })).toEqual([]);
    expect(rulesOf([entry({ kind: "projectRoots" })], { workspaceRoots: [] })).toEqual([]);
  });

  it("below a workspace stays below it, or is none", () => {
    for (const subpath of ["/etc", "..", "a/../../b", "./a", "a/."])
      expect(rulesOf([entry({ kind: "projectRoots", subpath })]), subpath).toEqual([]);
    expect(rulesOf([entry({ kind: "projectRoots", subpath: "..a" })])).toHaveLength(2);
  });

  it("without links on the way to a root, if the roots have to be real", () => {
    const entries = [
      entry({ kind: "projectRoots" }, "write"),
      entry({ kind: "projectRoots", subpath: ".git" }),
      entry({ kind: "slashTmp" }, "write"),
    ];
    const followed = (realRoots: boolean) =>
      (
        resolvePolicy({ files: { entries }, network: "restricted" }, { ...SURROUNDINGS, realRoots })
          .files as FileRules
      ).rules.map((rule) => "followed" in rule);
    expect(followed(true)).toEqual([true, true, false, false, false]);
    expect(followed(false)).toEqual([false, false, false, false, false]);
  });
});

it("knows whether the system's directories are shown", () => {
  const shown = (access: FileAccess): boolean => {
    const entries = [entry({ kind: "root" }, "deny"), entry({ kind: "systemDirectories" }, access)];
    const { files } = resolvePolicy({ files: { entries }, network: "restricted" }, SURROUNDINGS);
    return (files as FileRules).systemDirectories;
  };
  expect([shown("read"), shown("write"), shown("deny")]).toEqual([true, true, false]);
});

describe("a pattern", () => {
  it("only denies, and starts at the working directory, whose name is no pattern", () => {
    const glob = (pattern: string): PolicyTarget => ({ kind: "glob", pattern });
    expect(
      rulesOf([entry(glob("*.env"), "deny"), entry(glob("/x/*"), "deny"), entry(glob("**"), "read")]),
    ).toEqual(["deny glob /work \\[1\\]/*.env", "deny glob /x/*"]);
    expect(rulesOf([entry(glob("*.env"), "deny")], { cwd: "/" })).toEqual(["deny glob /*.env"]);
    expect(rulesOf([entry(glob(""), "deny")])).toEqual(["deny glob "]);
  });
});

it("knows whether the working directory matters", () => {
  const depends = (target: PolicyTarget): boolean =>
    dependsOnDirectory({
      files: { entries: [entry({ kind: "root" }), entry(target)] },
      network: "restricted",
    });
  expect(depends({ kind: "projectRoots" })).toBe(true);
  expect(depends({ kind: "glob", pattern: "*.env" })).toBe(true);
  expect(depends({ kind: "glob", pattern: "/x/*.env" })).toBe(false);
  expect(depends({ kind: "path", path: "/x" })).toBe(false);
  expect(dependsOnDirectory({ files: "unrestricted", network: "restricted" })).toBe(false);
});

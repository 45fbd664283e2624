import * as fc from "fast-check";
import { expect, it } from "vitest";
import type { Disk } from "./disk.ts";
import { FakeDisk, type Tree } from "../../../../test/fixtures/fake-disk.ts";
import type { FileView } from "./file-view.ts";
import { childOf, isBelow, parentOf } from "./path-names.ts";
import { type FileAccess, type FileRule, narrow, type SandboxPolicy } from "../policy/sandbox-policy.ts";
import { viewOf } from "./view-of.ts";

const NAMES = ["a", "b", "c"];
const treeArbitrary = fc.letrec<{ tree: { [name: string]: Tree } }>((tie) => ({
  tree: fc.dictionary(
    fc.constantFrom(...NAMES),
    fc.oneof({ maxDepth: 3 }, fc.constant(""), tie("tree")) as fc.Arbitrary<Tree>,
    { maxKeys: 3, noNullPrototype: true },
  ),
})).tree;
const pathArbitrary = fc
  .array(fc.constantFrom(...NAMES), { maxLength: 4 })
  .map((names) => `/${names.join("/")}`);
const ruleArbitrary = fc.record({
  kind: fc.constant("path" as const),
  path: pathArbitrary,
  access: fc.constantFrom<FileAccess>("read", "write", "deny"),
});
const setArbitrary = fc.array(ruleArbitrary, { maxLength: 6 });

/** What is at a path inside, by going through the mounts in their order. */
function inside({ root, mounts }: FileView, path: string): FileAccess {
  let access: FileAccess = root === "writable" ? "write" : root === "readOnly" ? "read" : "deny";
  for (const mount of mounts) {
    if (mount.path !== path && !isBelow(path, mount.path)) continue;
    if (mount.kind === "writable") access = "write";
    else if (mount.kind === "readOnly") access = "read";
    else access = "deny";
  }
  return access;
}

/** A file in the way of a rule that forbids writing below it cannot be replaced. */
function model(rules: readonly FileRule[], disk: Disk, path: string): FileAccess {
  const access = mostSpecific(rules, disk, path);
  const isInTheWay =
    disk.entryAt(path)?.kind === "file" &&
    rules.some((rule) => rule.kind === "path" && rule.access !== "write" && isBelow(rule.path, path));
  return isInTheWay && access === "write" && !rules.some((rule) => "path" in rule && rule.path === path)
    ? "read"
    : access;
}

/** The most specific rule wins; rules for what does not exist count for nothing. */
function mostSpecific(rules: readonly FileRule[], disk: Disk, path: string): FileAccess {
  for (let at = path; ; at = parentOf(at)) {
    const found = rules
      .filter((rule) => rule.kind === "path" && rule.path === at && disk.entryAt(at) !== undefined)
      .map((rule) => rule.access);
    for (const access of ["deny", "write", "read"] as const) if (found.includes(access)) return access;
    if (at === "/") return "deny";
  }
}

function* paths(disk: Disk, at = "/"): Generator<string> {
  yield at;
  if (disk.entryAt(at)?.kind === "directory")
    for (const { name } of disk.list(at) ?? []) yield* paths(disk, childOf(at, name));
}

const STRENGTH = { deny: 0, read: 1, write: 2 };
const weaker = (one: FileAccess, other: FileAccess) => (STRENGTH[one] <= STRENGTH[other] ? one : other);

it("a view agrees with the rule that the most specific one wins", () => {
  fc.assert(
    fc.property(treeArbitrary, setArbitrary, setArbitrary, (tree, operator, client) => {
      const disk = new FakeDisk(tree);
      const view = viewOf(policyOf(operator), { disk });
      const both = viewOf(narrow(policyOf(operator), policyOf(client)), { disk });
      for (const at of paths(disk)) {
        const expected = model(operator, disk, at);
        // An empty directory that a rule keeps as it is looks like a name that does not exist.
        const kept = view.mounts.some((mount) => mount.kind === "absent" && mount.path === at);
        if (!kept) expect(inside(view, at), at).toBe(expected);
        else expect(expected).not.toBe("write");
        const keptByBoth = both.mounts.some((mount) => mount.kind === "absent" && mount.path === at);
        const expectedOfBoth = weaker(expected, model(client, disk, at));
        if (!keptByBoth) expect(inside(both, at), at).toBe(expectedOfBoth);
        else expect(expectedOfBoth).not.toBe("write");
      }
    }),
    { numRuns: 500 },
  );
});

function policyOf(rules: FileRule[]): SandboxPolicy {
  return { files: { rules, systemDirectories: false }, network: "restricted" };
}

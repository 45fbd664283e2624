import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { ControlGroup } from "./control-group.ts";

it("a group that is given to a user bounds how many groups he can make in it, before he has it", () => {
  // A plain directory, with the files that the kernel would make.
  const path = mkdtempSync(join(tmpdir(), "control-group-"));
  onTestFinished(() => rmSync(path, { recursive: true, force: true }));
  const files = ["procs", "threads", "subtree_control", "max.descendants", "max.depth"];
  for (const name of files) writeFileSync(join(path, `cgroup.${name}`), "");
  const owner = { uid: process.getuid!(), gid: process.getgid!() };
  new ControlGroup(path).delegate(4711, owner);
  expect(files.map((name) => readFileSync(join(path, `cgroup.${name}`), "latin1"))).toEqual([
    "4711",
    "",
    "",
    "10000",
    "16",
  ]);
  // Without the bounds nothing is given away.
  rmSync(join(path, "cgroup.max.descendants"));
  writeFileSync(join(path, "cgroup.procs"), "");
  expect(() => new ControlGroup(path).delegate(4711, owner)).toThrow("ENOENT");
  expect(readFileSync(join(path, "cgroup.procs"), "latin1")).toBe("");
});

import { mkdirSync, mkdtempSync, readlinkSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { CapabilityError } from "../../../base/errors.ts";
import { homeGroup, listAbandonedHomes, locateControlGroup } from "./control-group-home.ts";

/** A line of /proc/self/mountinfo. */
const mounted = (root: string, point: string, type = "cgroup2"): string =>
  `43 33 0:40 ${root} ${point} rw,relatime - ${type} ${type} rw`;

describe("the control group of this process", () => {
  it.each([
    ["at the root of the machine", "0::/", mounted("/", "/sys/fs/cgroup"), "/sys/fs/cgroup"],
    ["below", "0::/user.slice/a.scope", mounted("/", "/sys/fs/cgroup"), "/sys/fs/cgroup/user.slice/a.scope"],
    [
      "beside those of the first version",
      "4:memory:/x\n0::/a",
      `${mounted("/", "/c/memory", "cgroup")}\n${mounted("/", "/c/unified")}`,
      "/c/unified/a",
    ],
    ["where a container sees its own as the root", "0::/box", mounted("/box", "/cg"), "/cg"],
    ["below that of a container", "0::/box/a", mounted("/box", "/cg"), "/cg/a"],
    [
      "in the second of two mounts",
      "0::/box/a",
      `${mounted("/bo", "/other")}\n${mounted("/box", "/cg")}`,
      "/cg/a",
    ],
    ["in a directory with a blank in its name", "0::/a", mounted("/", "/my\\040cg"), "/my cg/a"],
  ])("is found %s", (_, cgroup, mountinfo, expected) => {
    expect(locateControlGroup(`${cgroup}\n`, `${mounted("/", "/", "ext4")}\n${mountinfo}\n`)).toBe(expected);
  });

  it.each([
    ["not mounted", "0::/a", mounted("/", "/c", "cgroup")],
    ["not that of this process", "0::/a", mounted("/box", "/cg")],
    ["not in use", "4:memory:/", mounted("/", "/cg")],
  ])("is missing if the second version is %s", (_, cgroup, mountinfo) => {
    expect(() => locateControlGroup(cgroup, mountinfo)).toThrow(CapabilityError);
    expect(() => locateControlGroup(cgroup, mountinfo)).toThrow("cgroup2");
  });
});

describe("abandoned control groups", () => {
  it("are those of processes of the same pid namespace that are gone", () => {
    const own = mkdtempSync(join(tmpdir(), "homes-"));
    onTestFinished(() => rmSync(own, { recursive: true }));
    expect(listAbandonedHomes(own)).toEqual([]);
    const namespace = /\d+/.exec(readlinkSync("/proc/self/ns/pid"))![0];
    const { path } = homeGroup(own);
    const start = /-(\d+)$/.exec(path)![1];
    const gone = [
      // No process has this number.
      `exec-server-${namespace}-99999999-5`,
      // This process has it, but did not start then.
      `exec-server-${namespace}-${process.pid}-${Number(start) + 1}`,
    ];
    const others = [
      `exec-server-${namespace}1-99999999-5`,
      `exec-server-${namespace}-99999999`,
      `my-exec-server-${namespace}-99999999-5`,
    ];
    for (const name of [...gone, ...others]) mkdirSync(join(own, name));
    mkdirSync(path);
    const abandoned = listAbandonedHomes(own).map((group) => group.path);
    expect(abandoned.sort()).toEqual(gone.map((name) => join(own, name)).sort());
    expect(listAbandonedHomes(join(own, "missing"))).toEqual([]);
  });
});

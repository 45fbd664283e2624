import { readFileSync, readlinkSync } from "node:fs";
import { CapabilityError } from "../../../base/errors.ts";
import { ControlGroup } from "../../../native/control-group.ts";
import { listDirectory, readStat } from "../../../native/process-stat.ts";

const PREFIX = "exec-server";

/** Directory of this process's control group. Throws a CapabilityError without cgroup v2. */
export function findOwnControlGroup(): string {
  return locateControlGroup(
    readFileSync("/proc/self/cgroup", "latin1"),
    readFileSync("/proc/self/mountinfo", "latin1"),
  );
}

/** The same, from the two files of /proc. */
export function locateControlGroup(cgroup: string, mountinfo: string): string {
  const group = /^0::(.*)$/m.exec(cgroup)?.[1];
  for (const line of mountinfo.split("\n")) {
    const [mount, type] = line.split(" - ");
    if (mount === undefined || type?.startsWith("cgroup2 ") !== true) continue;
    const [, , , root = "/", point = ""] = mount.split(" ").map(unescapeMount);
    const path = group === undefined ? undefined : within(root, group);
    if (path !== undefined) return `${point}${path}`.replace(/\/$/, "");
  }
  throw new CapabilityError("UNSUPPORTED", "no control groups of version 2 (cgroup2) are mounted");
}

/** Parent of all groups of this process. Its name contains the process, so that others can see whether it is gone. */
export function homeGroup(own: string): ControlGroup {
  const start = readStat(process.pid)!.startTicks;
  return new ControlGroup(`${own}/${PREFIX}-${pidNamespace()}-${process.pid}-${start}`);
}

/**
 * Groups of servers that are gone. A pid is valid only in its own namespace, so groups of other namespaces are left
 * alone.
 */
export function listAbandonedHomes(own: string): ControlGroup[] {
  return listDirectory(own)
    .filter((name) => {
      const [, namespace, pid, start] = /^exec-server-(\d+)-(\d+)-(\d+)$/.exec(name) ?? [];
      if (namespace !== pidNamespace()) return false;
      return readStat(Number(pid))?.startTicks !== Number(start);
    })
    .map((name) => new ControlGroup(`${own}/${name}`));
}

function pidNamespace(): string {
  return readlinkSync("/proc/self/ns/pid").replaceAll(/\D/g, "");
}

/** Location of a path that is mounted from `root` on; undefined if it is not. */
function within(root: string, path: string): string | undefined {
  if (root === "/") return path;
  return path === root || path.startsWith(`${root}/`) ? path.slice(root.length) : undefined;
}

/** Blanks and a few other characters are written as three octal digits. */
function unescapeMount(text: string): string {
  return text.replaceAll(/\\([0-7]{3})/g, (_, digits: string) =>
    String.fromCharCode(Number.parseInt(digits, 8)),
  );
}

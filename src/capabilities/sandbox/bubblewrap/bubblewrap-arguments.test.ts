import { describe, expect, it } from "vitest";
import { bubblewrapArguments } from "./bubblewrap-arguments.ts";
import type { FileView } from "../view/file-view.ts";
import type { NetworkMode } from "../policy/sandbox-policy.ts";

function commandLine(view: FileView, network: NetworkMode = "restricted", limitsSize = true): string {
  return bubblewrapArguments({ view, network, cwd: "/srv/app", limitsSize }).join(" ");
}

const READ_ONLY: FileView = { root: "readOnly", mounts: [] };

describe("the options of bubblewrap", () => {
  it("always separate users, processes and shared memory, and drop every capability", () => {
    for (const network of ["restricted", "enabled", "proxied"] as const)
      expect(commandLine(READ_ONLY, network)).toContain("--unshare-user --unshare-pid --unshare-ipc");
    expect(commandLine(READ_ONLY)).toContain("--cap-drop ALL");
    expect(commandLine(READ_ONLY)).toContain("--seccomp 4");
  });

  it("separate the network unless it is enabled", () => {
    expect(commandLine(READ_ONLY, "restricted")).toContain("--unshare-net");
    expect(commandLine(READ_ONLY, "proxied")).toContain("--unshare-net");
    expect(commandLine(READ_ONLY, "enabled")).not.toContain("--unshare-net");
  });

  it("mount in the order of the view, after /dev and before /proc", () => {
    const line = commandLine({
      root: "readOnly",
      mounts: [
        { kind: "writable", path: "/srv/app" },
        { kind: "readOnly", path: "/srv/app/.git" },
        { kind: "hiddenFile", path: "/srv/app/.env" },
      ],
    });
    expect(line).toContain(
      "--tmpfs /dev/shm --bind /srv/app /srv/app --ro-bind /srv/app/.git /srv/app/.git --ro-bind /dev/null /srv/app/.env --remount-ro /dev",
    );
    expect(line.indexOf("--proc /proc")).toBeGreaterThan(line.indexOf("/srv/app/.env"));
  });

  it("make an empty root read-only once everything is mounted", () => {
    const line = commandLine({
      root: "empty",
      mounts: [
        { kind: "readOnly", path: "/usr" },
        { kind: "link", path: "/bin", target: "usr/bin" },
      ],
    });
    expect(line).not.toContain("bind / /");
    expect(line).toContain("--symlink usr/bin /bin");
    expect(line).toMatch(/--remount-ro \/ --chdir/);
  });

  it("let a process pass through a hidden directory only to what is mounted in it", () => {
    const hidden = { kind: "hiddenDirectory", path: "/home" } as const;
    expect(commandLine({ root: "readOnly", mounts: [hidden] })).toContain("--perms 0000 --tmpfs /home");
    const line = commandLine({ root: "readOnly", mounts: [hidden, { kind: "writable", path: "/home/me" }] });
    expect(line).toContain("--perms 0111 --tmpfs /home --bind /home/me /home/me");
    expect(line.indexOf("--remount-ro /home")).toBeGreaterThan(line.indexOf("--bind /home/me"));
  });

  it("make the files of the kernel read-only that root may write", () => {
    expect(commandLine(READ_ONLY)).toContain("--proc /proc --ro-bind /proc/sys /proc/sys");
    expect(commandLine(READ_ONLY)).toContain("--ro-bind-try /proc/mtrr /proc/mtrr");
    expect(commandLine(READ_ONLY)).not.toContain(" /sys /sys");
    expect(commandLine({ root: "writable", mounts: [] })).toContain("--ro-bind-try /sys /sys");
  });

  it("limit shared memory if bubblewrap can", () => {
    expect(commandLine(READ_ONLY)).toContain("--size 1073741824 --tmpfs /dev/shm");
    expect(commandLine(READ_ONLY, "restricted", false)).not.toContain("--size");
  });
});

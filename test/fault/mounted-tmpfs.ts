import { execFileSync } from "node:child_process";
import { mkdtempSync, rmdirSync, statfsSync } from "node:fs";

export interface MountedTmpfs extends Disposable {
  readonly path: string;
  makeReadOnly(): void;
  freeBytes(): number;
}

/** A separate in-memory file system, which can be filled up and made read-only. */
export function mountTmpfs(size: string): MountedTmpfs {
  const path = mkdtempSync("/var/tmp/exec-server-tmpfs-");
  try {
    run("mount", ["-t", "tmpfs", "-o", `size=${size},mode=755`, "tmpfs", path]);
  } catch (error) {
    rmdirSync(path);
    throw error;
  }
  const release = () => {
    process.removeListener("exit", release);
    run("umount", ["--lazy", path]);
    rmdirSync(path);
  };
  process.once("exit", release);
  return {
    path,
    makeReadOnly: () => run("mount", ["-o", "remount,ro", path]),
    freeBytes: () => {
      const { bavail, bsize } = statfsSync(path);
      return bavail * bsize;
    },
    [Symbol.dispose]: release,
  };
}

function run(program: string, args: readonly string[]): void {
  try {
    execFileSync(program, args, { stdio: ["ignore", "ignore", "pipe"], encoding: "utf8" });
  } catch (error) {
    const { code, stderr } = error as { code?: string; stderr?: string };
    const reason = code === "ENOENT" ? `there is no program ${program}` : (stderr ?? "").trim();
    throw new Error(
      `\`${program} ${args.join(" ")}\` failed: ${reason}. This test needs root with the capability CAP_SYS_ADMIN, and mount and umount.`,
      { cause: error },
    );
  }
}

import { type ChildProcess, spawn } from "node:child_process";
import { join } from "node:path";

/**
 * Options for a child that `signalGroup` can reach. On Windows, where there are no process groups, `detached` would open
 * a console window.
 */
export function ownGroup(): { readonly detached: boolean; readonly windowsHide: true } {
  return { detached: process.platform !== "win32", windowsHide: true };
}

/**
 * Signals a child that leads a process group, and everything in the group, even after the child's own end. Windows has
 * no such signals: there every signal ends the child with its descendants, as long as it runs.
 */
export function signalGroup(leader: ChildProcess, signal: NodeJS.Signals): void {
  if (process.platform === "win32") {
    endTree(leader);
    return;
  }
  try {
    process.kill(-leader.pid!, signal);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
}

function endTree(root: ChildProcess): void {
  // The id of an ended process may already be another's.
  if (root.exitCode !== null || root.signalCode !== null) return;
  // An absolute path: Windows would otherwise look in the working directory first.
  const program = join(process.env["SystemRoot"] ?? "C:\\Windows", "System32", "taskkill.exe");
  const endAlone = (): void => void root.kill("SIGKILL");
  spawn(program, ["/PID", String(root.pid), "/T", "/F"], { stdio: "ignore", windowsHide: true })
    .once("error", endAlone)
    .once("exit", (status) => {
      if (status !== 0) endAlone();
    });
}

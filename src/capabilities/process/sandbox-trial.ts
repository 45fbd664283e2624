import { randomUUID } from "node:crypto";
import { accessSync, constants, readdirSync, readlinkSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type ManagedProcess, whenClosed } from "./managed-process.ts";
import type { StreamName } from "./output/output-log.ts";
import type { StartRequest } from "./start-request.ts";
import { resultOr } from "../../native/result-or.ts";
import { unavailable } from "../sandbox/bubblewrap/bubblewrap.ts";
import type { Trial } from "../sandbox/sandbox.ts";
import type { FileView } from "../sandbox/view/file-view.ts";
import { isBelow } from "../sandbox/view/path-names.ts";

const DEADLINE_MS = 10_000;

/** The trial hides one of them; its programs need none. */
const HIDEABLE = ["/var", "/usr/share"];

/** Each thing that must not be possible inside prints its name. */
const SCRIPT = `
( set -C; : > "$1" ) 2>/dev/null && echo "write outside"
( [ -e "$2/$3" ] || [ -L "$2/$3" ] ) && echo "read what is hidden"
ls "$2" >/dev/null 2>&1 && echo "list what is hidden"
while read -r name value; do
  case $name in
    Cap*) case $value in *[!0]*) echo "keep capabilities" ;; esac ;;
    NoNewPrivs:) [ "$value" = 1 ] || echo "gain privileges" ;;
    Seccomp:) [ "$value" = 2 ] || echo "make any system call" ;;
  esac
done < /proc/self/status
while read -r name _; do
  case $name in lo:|Inter-*|face) ;; *) echo "reach the network" ;; esac
done < /proc/net/dev
[ "$(readlink /proc/self/ns/pid)" = "$4" ] && echo "see the server"
echo done
`;

export type StartProcess = (request: StartRequest) => Promise<ManagedProcess>;

/**
 * Tests the sandbox: a program inside attempts what it must not be able to do. It uses existing files: other servers'
 * sandboxes may write to the temporary directory, so files created there would not be safe.
 */
export async function trySandbox(start: StartProcess): Promise<Trial> {
  const temporary = realpathSync(tmpdir());
  // Otherwise the attempt to write would prove nothing.
  accessSync(temporary, constants.W_OK);
  const written = join(temporary, `exec-server-trial-${randomUUID()}`);
  const hidden = findHideable(temporary);
  try {
    const names = [written, hidden.directory, hidden.entry, readlinkSync("/proc/self/ns/pid")];
    const managed = await runInTrial(start, ["/bin/sh", "-c", SCRIPT, "sh", ...names], {
      mounts: [{ kind: "hiddenDirectory", path: hidden.directory }],
    });
    return evaluate(outputOf(managed, "stdout"), outputOf(managed, "stderr"), managed.state.exitCode);
  } finally {
    rmSync(written, { force: true });
  }
}

/** Runs a program in the sandbox that is being tried, until it has closed. */
export async function runInTrial(
  start: StartProcess,
  argv: readonly string[],
  { stdin = "none", mounts = [] }: { stdin?: StartRequest["stdin"]; mounts?: FileView["mounts"] } = {},
): Promise<ManagedProcess> {
  const managed = await start({
    argv,
    cwd: "/",
    env: new Map([["PATH", "/usr/bin:/bin"]]),
    stdin,
    timeoutMs: DEADLINE_MS,
    confinement: { view: { root: "readOnly", mounts }, network: "restricted", isTrial: true },
  });
  if (!managed.state.closed) await new Promise<void>((resolve) => whenClosed(managed, resolve));
  return managed;
}

/** Output of a program on one stream, or on all. */
export function outputOf(managed: ManagedProcess, stream?: StreamName): string {
  const chunks = managed.chunksAfter(0, Number.POSITIVE_INFINITY);
  const wanted = stream === undefined ? chunks : chunks.filter((chunk) => chunk.stream === stream);
  return Buffer.concat(wanted.map(({ bytes }) => bytes)).toString();
}

/** A directory that has something in it, and does not contain where the trial attempts to write. */
function findHideable(temporary: string): { directory: string; entry: string } {
  for (const directory of HIDEABLE) {
    if (temporary === directory || isBelow(temporary, directory)) continue;
    const entry = list(directory).find((name) => !name.includes("\ufffd"));
    if (entry !== undefined) return { directory, entry };
  }
  throw unavailable(`there is nothing in ${HIDEABLE.join(" and ")} that a trial could hide`);
}

function list(directory: string): string[] {
  return resultOr([], () => (realpathSync(directory) === directory ? readdirSync(directory) : []));
}

function evaluate(stdout: string, stderr: string, exitCode: number | undefined): Trial {
  const lines = stdout.split("\n").filter((line) => line !== "");
  if (lines.pop() === "done") return { weaknesses: lines, failure: undefined };
  return { weaknesses: [], failure: stderr.trim() || `it ended with code ${exitCode ?? "none"}` };
}

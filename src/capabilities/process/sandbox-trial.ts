import { randomUUID } from "node:crypto";
import { accessSync, constants, readdirSync, readlinkSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { ManagedProcess } from "./managed-process.ts";
import type { StartRequest } from "./start-request.ts";
import { unavailable } from "../sandbox/bubblewrap/bubblewrap.ts";
import type { Trial } from "../sandbox/sandbox.ts";
import { isBelow } from "../sandbox/view/path-names.ts";

const DEADLINE_MS = 10_000;

/** One of them is hidden in the trial, whose programs need none. */
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

type Start = (request: StartRequest) => Promise<ManagedProcess>;

/**
 * Tries the sandbox for real: a program inside attempts what it must not be able to do. It takes files that are there
 * anyway: sandboxes of other servers may write to the temporary directory, so nothing that is made there is safe.
 */
export async function trySandbox(start: Start): Promise<Trial> {
  const temporary = realpathSync(tmpdir());
  // Otherwise the attempt to write would prove nothing.
  accessSync(temporary, constants.W_OK);
  const written = join(temporary, `exec-server-trial-${randomUUID()}`);
  const hidden = findHideable(temporary);
  try {
    const managed = await start({
      argv: [
        "/bin/sh",
        "-c",
        SCRIPT,
        "sh",
        written,
        hidden.directory,
        hidden.entry,
        readlinkSync("/proc/self/ns/pid"),
      ],
      cwd: "/",
      env: new Map([["PATH", "/usr/bin:/bin"]]),
      stdin: "none",
      timeoutMs: DEADLINE_MS,
      confinement: {
        view: { root: "readOnly", mounts: [{ kind: "hiddenDirectory", path: hidden.directory }] },
        network: "restricted",
        isTrial: true,
      },
    });
    await closed(managed);
    return evaluate(textOf(managed, "stdout"), textOf(managed, "stderr"), managed.state.exitCode);
  } finally {
    rmSync(written, { force: true });
  }
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
  try {
    return realpathSync(directory) === directory ? readdirSync(directory) : [];
  } catch {
    return [];
  }
}

function evaluate(stdout: string, stderr: string, exitCode: number | undefined): Trial {
  const lines = stdout.split("\n").filter((line) => line !== "");
  if (lines.pop() === "done") return { weaknesses: lines, failure: undefined };
  return { weaknesses: [], failure: stderr.trim() || `it ended with code ${exitCode ?? "none"}` };
}

function closed(process: ManagedProcess): Promise<void> {
  if (process.state.closed) return Promise.resolve();
  return new Promise((resolve) => {
    process.listen(({ kind }) => {
      if (kind === "closed") resolve();
    });
  });
}

function textOf(process: ManagedProcess, stream: "stdout" | "stderr"): string {
  const chunks = process.chunksAfter(0, Number.POSITIVE_INFINITY).filter((chunk) => chunk.stream === stream);
  return Buffer.concat(chunks.map(({ bytes }) => bytes)).toString();
}

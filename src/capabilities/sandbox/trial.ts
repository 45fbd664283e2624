import { mkdirSync, mkdtempSync, readlinkSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { randomUUID } from "node:crypto";
import type { ManagedProcess } from "../process/managed-process.ts";
import type { StartRequest } from "../process/start-request.ts";
import type { Trial } from "./sandbox.ts";

const DEADLINE_MS = 10_000;

/** Each thing that must not be possible inside prints its name. */
const SCRIPT = `
( : > "$1/written" ) 2>/dev/null && echo "write outside"
cat "$1/hidden/canary" >/dev/null 2>&1 && echo "read what is hidden"
ls "$1/hidden" >/dev/null 2>&1 && echo "list what is hidden"
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
[ "$(readlink /proc/self/ns/pid)" = "$2" ] && echo "see the server"
echo done
`;

type Start = (request: StartRequest) => Promise<ManagedProcess>;

/** Tries the sandbox for real: a program inside attempts what it must not be able to do. */
export async function trySandbox(start: Start): Promise<Trial> {
  const directory = mkdtempSync(join(realpathSync(tmpdir()), "exec-server-trial-"));
  try {
    const hidden = join(directory, "hidden");
    mkdirSync(hidden);
    writeFileSync(join(hidden, "canary"), randomUUID());
    const managed = await start({
      argv: ["/bin/sh", "-c", SCRIPT, "sh", directory, readlinkSync("/proc/self/ns/pid")],
      cwd: "/",
      env: new Map([["PATH", "/usr/bin:/bin"]]),
      stdin: "none",
      timeoutMs: DEADLINE_MS,
      confinement: {
        view: { root: "readOnly", mounts: [{ kind: "hiddenDirectory", path: hidden }] },
        network: "restricted",
        isTrial: true,
      },
    });
    await closed(managed);
    return evaluate(textOf(managed, "stdout"), textOf(managed, "stderr"), managed.state.exitCode);
  } finally {
    rmSync(directory, { recursive: true, force: true });
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

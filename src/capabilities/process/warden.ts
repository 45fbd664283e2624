import { closeSync, writeSync } from "node:fs";
import { type Logger, silentLogger } from "../../base/logger.ts";
import type { Reaper } from "./reaper.ts";
import { makeNonBlocking, openPipe } from "./spawn.ts";

/**
 * Reads lines of an operation and an argument. `p PGID` (on pipes), `t PGID` (on a terminal) and `- PGID` keep the list of process groups; `? LINK` says what the stdout of a child
 * links to that is being started now, and whose number is not known yet. At the end of input the server is gone, and so must they be. First
 * their leaders are asked, as the kernel would do it: by SIGTERM, or on a terminal by its hanging up. Then the groups are killed. The child being started may not have its stdout yet at the first look, hence the second.
 */
const SCRIPT = `
trap '' HUP INT QUIT TERM PIPE
starting=
while read -r operation argument; do
  case $operation in
    p | t) eval "group$argument=$operation"; starting= ;;
    -) unset "group$argument" ;;
    '?') starting=$argument ;;
  esac
done
groups=$(set | sed -n "s/^group\\([0-9][0-9]*\\)=.*/\\1/p")
for pgid in $groups; do eval "[ \\$group$pgid = t ]" || kill -s TERM "$pgid"; done 2>/dev/null
sleep 0.5
for pgid in $groups; do kill -s KILL -- "-$pgid"; done 2>/dev/null
[ -n "$starting" ] || exit 0
for look in 1 2; do
  for process in /proc/[0-9]*; do
    [ "$(readlink "$process/fd/1")" = "$starting" ] || continue
    pid=\${process#/proc/}
    kill -s KILL -- "-$pid" "$pid"
  done 2>/dev/null
  sleep 0.1
done
`;

/** Starts the guard's shell with `stdin` as its standard input; returns its pid. */
export type StartShell = (script: string, stdin: number) => number;

/**
 * Kills what is left when the server is killed without a chance to do it itself. posix_spawn cannot ask the kernel for that
 * (PR_SET_PDEATHSIG), and the kernel would only tell the child, not the child's children. So a small shell waits for the end of a pipe that only the server
 * holds open.
 */
export class Warden {
  readonly #start: StartShell;
  readonly #reaper: Reaper;
  readonly #logger: Logger;
  readonly #groups = new Map<number, "p" | "t">();
  #pipe: number | undefined;

  constructor(options: { start: StartShell; reaper: Reaper; logger?: Logger }) {
    this.#start = options.start;
    this.#reaper = options.reaper;
    this.#logger = options.logger ?? silentLogger;
  }

  /** A child is about to be started. Until `add`, `stdoutLink` is how it can be found. */
  expect(stdoutLink: string): void {
    if (this.#pipe === undefined) this.#open();
    this.#tell(`? ${stdoutLink}\n`);
  }

  add(pgid: number, on: "pipes" | "terminal"): void {
    const kind = on === "pipes" ? "p" : "t";
    this.#groups.set(pgid, kind);
    this.#tell(`${kind} ${pgid}\n`);
  }

  remove(pgid: number): void {
    if (this.#groups.delete(pgid)) this.#tell(`- ${pgid}\n`);
  }

  #tell(line: string): void {
    if (this.#pipe === undefined) return;
    try {
      writeSync(this.#pipe, line);
    } catch (error) {
      // It was killed, or stopped until its pipe was full. A new one is told everything.
      this.#logger.warn("the warden does not listen; it is replaced", { error: String(error) });
      this.#open();
    }
  }

  #open(): void {
    if (this.#pipe !== undefined) closeSync(this.#pipe);
    this.#pipe = undefined;
    const { readEnd, writeEnd } = openPipe();
    try {
      const pid = this.#start(SCRIPT, readEnd);
      this.#reaper.watchInBackground(pid, () => this.#ended(writeEnd));
      makeNonBlocking(writeEnd);
      this.#pipe = writeEnd;
      for (const [pgid, kind] of this.#groups) writeSync(writeEnd, `${kind} ${pgid}\n`);
    } catch (error) {
      if (this.#pipe === undefined) closeSync(writeEnd);
      this.#logger.error("no warden: processes may outlive a killed server", { error: String(error) });
    } finally {
      closeSync(readEnd);
    }
  }

  #ended(writeEnd: number): void {
    if (this.#pipe !== writeEnd) return;
    this.#logger.warn("the warden ended; it is replaced");
    this.#open();
  }
}

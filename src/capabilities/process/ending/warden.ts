import { closeSync } from "node:fs";
import { CapabilityError } from "../../../base/errors.ts";
import { type Logger, silentLogger } from "../../../base/logger.ts";
import type { Reaper } from "../../../native/reaper.ts";
import { openPipe } from "../../../native/spawn.ts";
import { WardenTable } from "../../../native/warden-table.ts";

/**
 * Waits for the end of its input, which means the end of the server, and then kills what the table on descriptor 3
 * lists. A line is `p PGID` for a process group on pipes, `t PGID` for one on a terminal, or `? LINK [TIME]` for a
 * child that was being started and is known only by what its stdout links to. A terminal disappears with the server and
 * its name may be reused, so its creation time, in seconds, must match too. `c DIRECTORY` is a control group with
 * contained processes in groups below it. Leaders are signalled first, as the kernel would do it: with SIGTERM, or
 * SIGHUP on a terminal. A child that was being started may not have its stdout at the first look, hence the second.
 */
const SCRIPT = `
trap '' HUP INT QUIT TERM PIPE
read -r nothing
starting= groups= contained=
while read -r kind value created; do
  case $kind in
    p) groups="$groups $value"; kill -s TERM "$value" ;;
    t) groups="$groups $value" ;;
    '?') starting="$starting $value|$created" ;;
    c) contained="$value\${created:+ $created}" ;;
  esac
done <&3 2>/dev/null
sleep 0.5
for pgid in $groups; do kill -s KILL -- "-$pgid"; done 2>/dev/null
for try in 1 2 3 4 5 6 7 8 9 10; do
  [ -n "$contained" ] && [ -d "$contained" ] || break
  echo 1 > "$contained/cgroup.kill" || for pid in $(find "$contained" -name cgroup.procs -exec cat {} +); do kill -s KILL "$pid"; done
  find "$contained" -depth -type d -exec rmdir {} + || sleep 0.1
done 2>/dev/null
[ -n "$starting" ] || exit 0
for look in 1 2; do
  for process in /proc/[0-9]*; do
    stdout=$(readlink "$process/fd/1") || continue
    case $stdout in
      *' (deleted)') stdout="\${stdout% (deleted)}|$(stat -L -c %Z "$process/fd/1")" ;;
      *) stdout="$stdout|" ;;
    esac
    case "$starting " in *" $stdout "*) ;; *) continue ;; esac
    pid=\${process#/proc/}
    kill -s KILL -- "-$pid" "$pid"
  done 2>/dev/null
  sleep 0.1
done
`;

/** The entry of one process group in the list. */
export interface WardenRecord {
  /** How to find the child until its pid is known. */
  starting(stdoutLink: string): void;
  started(pgid: number, on: "pipes" | "terminal"): void;
  /** Removes the entry. */
  release(): void;
}

const FIRST_RETRY_MS = 100;
const LAST_RETRY_MS = 10_000;
/** A shell that lives this long has not failed. */
const SETTLED_MS = 60_000;

const UNGUARDED: WardenRecord = { starting: () => {}, started: () => {}, release: () => {} };

/** Two lines, so that one of them is valid at every moment. */
class TableRecord implements WardenRecord {
  readonly #table: WardenTable;
  readonly #startLine: number;
  readonly #groupLine: number;

  constructor(table: WardenTable) {
    this.#table = table;
    this.#startLine = table.take();
    this.#groupLine = table.take();
  }

  starting(stdoutLink: string): void {
    this.#table.write(this.#startLine, "?", stdoutLink);
  }

  started(pgid: number, on: "pipes" | "terminal"): void {
    this.#table.write(this.#groupLine, on === "pipes" ? "p" : "t", String(pgid));
    this.#table.clear(this.#startLine);
  }

  release(): void {
    this.#table.giveBack(this.#startLine);
    this.#table.giveBack(this.#groupLine);
  }
}

/** Starts the guard's shell with these descriptors as its 0 and 3; returns its pid. */
export type StartShell = (script: string, stdin: number, table: number) => number;

/**
 * Kills what is left if the server is killed without a chance to do it itself. posix_spawn cannot set PR_SET_PDEATHSIG,
 * which would signal only the child anyway, not the child's children. So a small shell waits for the end of a pipe that
 * only the server keeps open, and reads what to kill from memory shared with the server. Nothing wakes it before.
 */
export class Warden {
  readonly #start: StartShell;
  readonly #reaper: Reaper;
  readonly #logger: Logger;
  #table: WardenTable | "none" | undefined;
  #retryMs = FIRST_RETRY_MS;

  constructor(options: { start: StartShell; reaper: Reaper; logger?: Logger }) {
    this.#start = options.start;
    this.#reaper = options.reaper;
    this.#logger = options.logger ?? silentLogger;
  }

  /**
   * Reserves an entry for a child that is about to start. Throws a CapabilityError if there is no descriptor for the
   * list.
   */
  reserve(): WardenRecord {
    const table = (this.#table ??= this.#open());
    return table === "none" ? UNGUARDED : new TableRecord(table);
  }

  /** Lists a control group permanently: one that is gone when the server ends is ignored. */
  guardControlGroup(directory: string): void {
    const table = (this.#table ??= this.#open());
    if (table !== "none") table.append(`c ${directory}`);
  }

  #open(): WardenTable | "none" {
    let table: WardenTable;
    try {
      table = new WardenTable();
    } catch (error) {
      // Otherwise the system lacks something essential, permanently.
      if (error instanceof CapabilityError && error.errno === "EMFILE") throw error;
      this.#complain(error);
      return "none";
    }
    this.#guard(table.fd);
    return table;
  }

  #guard(table: number): void {
    try {
      this.#startShell(table);
    } catch (error) {
      this.#complain(error);
      this.#guardLater(table);
    }
  }

  #startShell(table: number): void {
    const { readEnd, writeEnd } = openPipe();
    const startedAt = performance.now();
    try {
      const pid = this.#start(SCRIPT, readEnd, table);
      this.#reaper.watchInBackground(pid, () => {
        this.#logger.warn("the warden ended; it is replaced", { pid });
        closeSync(writeEnd);
        if (performance.now() - startedAt > SETTLED_MS) this.#retryMs = FIRST_RETRY_MS;
        this.#guardLater(table);
      });
    } catch (error) {
      closeSync(writeEnd);
      throw error;
    } finally {
      closeSync(readEnd);
    }
  }

  /** A shell that ends or fails at once must not keep the server busy. */
  #guardLater(table: number): void {
    setTimeout(() => this.#guard(table), this.#retryMs).unref();
    this.#retryMs = Math.min(this.#retryMs * 2, LAST_RETRY_MS);
  }

  #complain(error: unknown): void {
    this.#logger.error("no warden: processes may outlive a killed server", { error: String(error) });
  }
}

import { closeSync } from "node:fs";
import { CapabilityError } from "../../../base/errors.ts";
import { type Logger, silentLogger } from "../../../base/logger.ts";
import type { Reaper } from "../../../native/reaper.ts";
import { openPipe } from "../../../native/spawn.ts";
import { WardenTable } from "../../../native/warden-table.ts";
import { WARDEN_SCRIPT } from "./warden-script.ts";

/** The entry of one process group in the list. */
export interface WardenRecord {
  /** Identifies the child until its pid is known. */
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
 * Kills what is left if the server is killed before it can do so itself. posix_spawn cannot set PR_SET_PDEATHSIG, which
 * would signal only the child anyway, not the child's children. So a small shell waits for the end of a pipe that only
 * the server keeps open, and reads what to kill from memory shared with the server. Nothing wakes it before.
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
   * Reserves an entry for a child that is about to start. Throws a CapabilityError if the list cannot get a descriptor.
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
      const pid = this.#start(WARDEN_SCRIPT, readEnd, table);
      this.#reaper.watchInBackground(pid, () => {
        this.#logger.warn("the warden ended and is being replaced", { pid });
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

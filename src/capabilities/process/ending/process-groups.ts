import { constants } from "node:os";
import { ERRNO } from "../../../native/os-error.ts";
import { libc } from "../../../native/libc.ts";
import type { WardenRecord } from "./warden.ts";

const LINGER_CHECK_MS = 2_000;

/** Everything that a process started and that did not leave its process group. */
export type ProcessGroup = Pick<TrackedGroup, "signal" | "leaderReaped" | "gone">;

/**
 * Tracks which process groups still have members. An empty group must not be signalled, because the system reuses its
 * number; so groups that outlive their leader are checked from time to time.
 */
export class ProcessGroups {
  readonly #tracked = new Map<number, TrackedGroup>();
  readonly #lingering = new Set<TrackedGroup>();
  #timer: NodeJS.Timeout | undefined;

  /** `record` is released when the group is empty. */
  track(pgid: number, record: WardenRecord): ProcessGroup {
    const group = new TrackedGroup(pgid, record, this);
    this.#tracked.set(pgid, group);
    return group;
  }

  /** The group must be checked from time to time. */
  linger(group: TrackedGroup): void {
    this.#lingering.add(group);
    this.#timer ??= setInterval(() => this.#check(), LINGER_CHECK_MS).unref();
  }

  forget(pgid: number): void {
    this.#tracked.delete(pgid);
  }

  /** True if that number is a group that was started here and has members. */
  has(pgid: number): boolean {
    return this.#tracked.has(pgid);
  }

  /** Kills all that is left of every group. */
  killAll(): void {
    for (const group of this.#tracked.values()) group.signal("SIGKILL");
  }

  #check(): void {
    for (const group of this.#lingering) if (!group.probe()) this.#lingering.delete(group);
    if (this.#lingering.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }
}

class TrackedGroup {
  readonly #pgid: number;
  readonly #record: WardenRecord;
  readonly #owner: ProcessGroups;
  #gone = false;
  #leaderReaped = false;

  constructor(pgid: number, record: WardenRecord, owner: ProcessGroups) {
    this.#pgid = pgid;
    this.#record = record;
    this.#owner = owner;
  }

  get gone(): boolean {
    return this.#gone;
  }

  /** Sends a signal to the whole group. */
  signal(signal: NodeJS.Signals): void {
    this.#kill(constants.signals[signal]);
  }

  /** True while the group has members. */
  probe(): boolean {
    return this.#kill(0);
  }

  /** From now on, only other members keep the group alive. */
  leaderReaped(): void {
    this.#leaderReaped = true;
    if (this.probe()) this.#owner.linger(this);
  }

  #kill(signal: number): boolean {
    if (this.#gone) return false;
    if (libc().kill(-this.#pgid, signal) === 0) return true;
    // Otherwise members exist but have changed their user (EPERM). Nothing more can be done about them.
    if (libc().errno() !== ERRNO.ESRCH) return true;
    if (this.#leaderReaped) {
      this.#gone = true;
      this.#owner.forget(this.#pgid);
      this.#record.release();
    }
    return false;
  }
}

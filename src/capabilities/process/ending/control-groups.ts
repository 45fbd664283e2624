import { CapabilityError } from "../../../base/errors.ts";
import { isOutOfDescriptors } from "../../../native/descriptor-reserve.ts";
import { ERRNO, osError } from "../../../native/os-error.ts";
import { ControlGroup } from "../../../native/control-group.ts";
import { findOwnControlGroup, homeGroup, listAbandonedHomes } from "./control-group-home.ts";

const FIRST_TRY_MS = 5;
const LAST_TRY_MS = 2_000;
/** Time slice for removing groups. Another program may have created many in them. */
const REMOVAL_MS = 8;

// Servers in the same program share one home.
let lastNumber = 0;

/** The control groups of contained processes, from their creation until they are empty. */
export class ControlGroups {
  readonly #announce: (home: string) => void;
  readonly #findOwn: () => string;
  readonly #open = new Set<ControlGroup>();
  /** To be removed once they are empty. */
  readonly #released = new Set<ControlGroup>();
  /** Released groups that could not be killed, for lack of a descriptor or permission; retried. */
  readonly #unkilled = new Set<ControlGroup>();
  readonly #waiting: (() => void)[] = [];
  #home: ControlGroup | undefined;
  #timer: NodeJS.Timeout | undefined;
  #pauseMs = FIRST_TRY_MS;

  /** `announce` gets the parent directory of all groups, before the first one is created. */
  constructor(announce: (home: string) => void, findOwn = findOwnControlGroup) {
    this.#announce = announce;
    this.#findOwn = findOwn;
  }

  /** Throws a CapabilityError if the system lacks such groups or does not allow them. */
  create(): ControlGroup {
    try {
      lastNumber += 1;
      const group = new ControlGroup(`${this.#openHome().path}/${lastNumber}`);
      group.create();
      this.#open.add(group);
      return group;
    } catch (error) {
      throw uncontained(error);
    }
  }

  /** Rejects with a CapabilityError if the system does not allow it. */
  async join(group: ControlGroup, pid: number): Promise<void> {
    try {
      await group.add(pid);
    } catch (error) {
      throw uncontained(error);
    }
  }

  /** Sends SIGTERM to everything found in the group, and resumes what is stopped so that it can act on it. */
  ask(group: ControlGroup): void {
    try {
      group.signal("SIGTERM");
      group.signal("SIGCONT");
    } catch {
      // Without a descriptor, members cannot be found. The caller kills the group later.
    }
  }

  /** Kills everything in the group, then removes it. Never throws: what fails now is retried. */
  kill(group: ControlGroup): void {
    this.#tryToKill(group);
    this.release(group);
  }

  /** Removes the group, at once or when its last member is gone. */
  release(group: ControlGroup): void {
    this.#released.add(group);
    this.#removeEmpty();
    this.#pauseMs = FIRST_TRY_MS;
    this.#tryLater();
  }

  /** False once it is removed. */
  has(group: ControlGroup): boolean {
    return this.#open.has(group);
  }

  killAll(): void {
    for (const group of this.#open) this.kill(group);
  }

  /** Resolves when no group is left, which without `killAll` may never happen. */
  async emptied(): Promise<void> {
    if (this.#open.size > 0) await new Promise<void>((resolve) => this.#waiting.push(resolve));
  }

  #openHome(): ControlGroup {
    if (this.#home !== undefined) return this.#home;
    const own = this.#findOwn();
    const home = homeGroup(own);
    this.#announce(home.path);
    this.#home = home;
    for (const abandoned of listAbandonedHomes(own)) this.#clear(abandoned);
    return home;
  }

  #clear(abandoned: ControlGroup): void {
    try {
      abandoned.kill();
    } catch {
      // It belongs to another user, whose servers take care of it.
      return;
    }
    this.release(abandoned);
  }

  #tryToKill(group: ControlGroup): void {
    try {
      group.kill();
      this.#unkilled.delete(group);
    } catch {
      this.#unkilled.add(group);
    }
  }

  /** Returns false if time ran out. */
  #removeEmpty(): boolean {
    const deadline = performance.now() + REMOVAL_MS;
    for (const group of this.#released) {
      if (!group.remove(deadline)) continue;
      this.#released.delete(group);
      this.#unkilled.delete(group);
      this.#open.delete(group);
    }
    const isDone = performance.now() < deadline;
    if (this.#open.size > 0) return isDone;
    // Another server in this program may have groups in it.
    this.#home?.removeAlone();
    for (const resolve of this.#waiting.splice(0)) resolve();
    return isDone;
  }

  #tryLater(): void {
    clearTimeout(this.#timer);
    if (this.#released.size === 0) return;
    this.#timer = setTimeout(() => {
      for (const group of this.#unkilled) this.#tryToKill(group);
      this.#pauseMs = this.#removeEmpty() ? Math.min(this.#pauseMs * 2, LAST_TRY_MS) : FIRST_TRY_MS;
      this.#tryLater();
    }, this.#pauseMs).unref();
  }
}

function uncontained(error: unknown): CapabilityError {
  if (isOutOfDescriptors(error)) return osError(ERRNO.EMFILE);
  const reason = error instanceof Error ? error.message : String(error);
  return new CapabilityError("UNSUPPORTED", `the process cannot be contained: ${reason}`, { cause: error });
}

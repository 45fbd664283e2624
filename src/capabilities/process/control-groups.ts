import { CapabilityError } from "../../base/errors.ts";
import { ControlGroup } from "./control-group.ts";
import { findOwnControlGroup, homeGroup, listAbandonedHomes } from "./control-group-home.ts";

const FIRST_TRY_MS = 5;
const LAST_TRY_MS = 2_000;

// Servers in the same program have one home.
let lastNumber = 0;

/** The control groups of contained processes, from their making until nobody is left in them. */
export class ControlGroups {
  readonly #announce: (home: string) => void;
  readonly #open = new Set<ControlGroup>();
  /** To be removed once they are empty. */
  readonly #released = new Set<ControlGroup>();
  readonly #waiting: (() => void)[] = [];
  #home: ControlGroup | undefined;
  #timer: NodeJS.Timeout | undefined;
  #pauseMs = FIRST_TRY_MS;

  /** `announce` is told the directory in which all groups will be, before the first one is made. */
  constructor(announce: (home: string) => void) {
    this.#announce = announce;
  }

  /** Throws a CapabilityError where the system has no such groups or does not allow them. */
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

  /** Rejects with a CapabilityError when the system does not allow it. */
  async join(group: ControlGroup, pid: number): Promise<void> {
    try {
      await group.add(pid);
    } catch (error) {
      throw uncontained(error);
    }
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
    for (const group of this.#open) {
      group.kill();
      this.release(group);
    }
  }

  /** Resolves when no group is left, which without `killAll` may take for ever. */
  async emptied(): Promise<void> {
    if (this.#open.size > 0) await new Promise<void>((resolve) => this.#waiting.push(resolve));
  }

  #openHome(): ControlGroup {
    if (this.#home !== undefined) return this.#home;
    const own = findOwnControlGroup();
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
      // It belongs to another user, whose servers see to it.
      return;
    }
    this.release(abandoned);
  }

  #removeEmpty(): void {
    for (const group of this.#released) {
      if (!group.remove()) continue;
      this.#released.delete(group);
      this.#open.delete(group);
    }
    if (this.#open.size > 0) return;
    // Another server in this program may have groups in it.
    this.#home?.removeAlone();
    for (const resolve of this.#waiting.splice(0)) resolve();
  }

  #tryLater(): void {
    clearTimeout(this.#timer);
    if (this.#released.size === 0) return;
    this.#timer = setTimeout(() => {
      this.#removeEmpty();
      this.#pauseMs = Math.min(this.#pauseMs * 2, LAST_TRY_MS);
      this.#tryLater();
    }, this.#pauseMs).unref();
  }
}

function uncontained(error: unknown): CapabilityError {
  const reason = error instanceof Error ? error.message : String(error);
  return new CapabilityError("UNSUPPORTED", `the process cannot be contained: ${reason}`, { cause: error });
}

import { closeSync, openSync } from "node:fs";
import { isErrno } from "./os-error.ts";

/** Another thread may take a descriptor in the moment in which one is free, so one alone would not do. */
const KEPT = 8;

/**
 * Descriptors that are kept for the ending of processes: these must be looked for in /proc also when files and connections have taken all
 * others. Whatever else needs a descriptor fails first.
 */
export class DescriptorReserve {
  readonly #kept: number[] = [];
  #wanted = 0;

  /** False when so many are not left. */
  fill(count = KEPT): boolean {
    this.#wanted = count;
    return this.#refill();
  }

  /**
   * Does what opens one descriptor and closes it again without waiting for anything; where there is none left, with one that is kept.
   * Fails as `work` does when even those are gone.
   */
  lend<T>(work: () => T): T {
    if (this.#kept.length < this.#wanted) this.#refill();
    try {
      return work();
    } catch (error) {
      if (!isOutOfDescriptors(error)) throw error;
      return this.#lendKept(work, error);
    }
  }

  #lendKept<T>(work: () => T, reason: unknown): T {
    try {
      for (let fd = this.#kept.pop(); fd !== undefined; fd = this.#kept.pop()) {
        closeSync(fd);
        try {
          return work();
        } catch (error) {
          if (!isOutOfDescriptors(error)) throw error;
        }
      }
      throw reason;
    } finally {
      this.#refill();
    }
  }

  #refill(): boolean {
    try {
      while (this.#kept.length < this.#wanted) this.#kept.push(openSync("/", "r"));
      return true;
    } catch {
      return false;
    }
  }
}

/** What the first process takes at its start, and its warden. Whoever can be turned away is, when fewer are left. */
const FOR_A_START = 10;

/** Whether there are some left for ordinary work. */
export function hasFreeDescriptors(): boolean {
  const opened: number[] = [];
  try {
    while (opened.length < FOR_A_START) opened.push(openSync("/", "r"));
    return true;
  } catch {
    return false;
  } finally {
    for (const fd of opened) closeSync(fd);
  }
}

export function isOutOfDescriptors(error: unknown): boolean {
  return isErrno(error, "EMFILE", "ENFILE");
}

/** The one of this program: descriptors are counted by process. */
export const descriptorReserve = new DescriptorReserve();

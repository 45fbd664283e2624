import { closeSync, openSync } from "node:fs";
import { isErrno } from "./os-error.ts";

/** More than one, because another thread may take a descriptor the moment it is free. */
const KEPT = 8;

/**
 * Descriptors reserved for ending processes, which must be found in /proc even if files and connections have taken all
 * others. Everything else that needs a descriptor fails first.
 */
export class DescriptorReserve {
  readonly #kept: number[] = [];
  #wanted = 0;

  /** False if not that many are left. */
  fill(count = KEPT): boolean {
    this.#wanted = count;
    return this.#refill();
  }

  /**
   * Runs work that opens one descriptor and closes it again without waiting; if none is free, with a reserved one.
   * Fails like `work` if even those are gone.
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

/** Descriptors that the first process and its warden need. If fewer are left, new connections are refused. */
const FOR_A_START = 10;
/** One check serves this many connections, for at most this long: it costs as much as the rest of a handshake. */
const CONNECTIONS_PER_LOOK = 16;
const LOOK_VALID_MS = 20;

/** Whether descriptors are left for ordinary work. */
export function hasFreeDescriptors(): boolean {
  return countFree(FOR_A_START) === FOR_A_START;
}

/** Refuses connections before the last descriptors are gone. */
export class ConnectionAdmission {
  #admitted = 0;
  #validUntil = 0;

  /** Whether one more connection leaves enough descriptors for a start. */
  admits(): boolean {
    const now = performance.now();
    if (this.#admitted > 0 && now < this.#validUntil) {
      this.#admitted -= 1;
      return true;
    }
    this.#admitted = countFree(FOR_A_START + CONNECTIONS_PER_LOOK) - FOR_A_START;
    this.#validUntil = now + LOOK_VALID_MS;
    return this.#admitted >= 0;
  }
}

/** The number of descriptors that can be opened, up to `limit`. */
function countFree(limit: number): number {
  const opened: number[] = [];
  try {
    while (opened.length < limit) opened.push(openSync("/", "r"));
  } catch {
    // No more are available.
  }
  for (const fd of opened) closeSync(fd);
  return opened.length;
}

export function isOutOfDescriptors(error: unknown): boolean {
  return isErrno(error, "EMFILE", "ENFILE");
}

/** The result of `work`, or undefined without a free descriptor. */
export function unlessOutOfDescriptors<T>(work: () => T): T | undefined {
  try {
    return work();
  } catch (error) {
    if (isOutOfDescriptors(error)) return undefined;
    throw error;
  }
}

/** One per program: descriptors are counted per process. */
export const descriptorReserve = new DescriptorReserve();

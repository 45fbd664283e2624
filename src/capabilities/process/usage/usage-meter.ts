import { isOutOfDescriptors } from "../../../native/descriptor-reserve.ts";
import { type ProcessSnapshot, readSnapshot } from "../process-snapshot.ts";
import { MachineUsage } from "./machine-usage.ts";

/** A look at all processes serves everybody who asks within this time. */
const VALID_MS = 500;

/** Looks at all processes of the machine, once for all who ask, and in slices. */
export class UsageMeter {
  readonly #takeSnapshot: () => Promise<ProcessSnapshot>;
  #latest: Promise<MachineUsage | undefined> | undefined;
  #validUntil = 0;

  constructor(takeSnapshot: () => Promise<ProcessSnapshot> = readSnapshot) {
    this.#takeSnapshot = takeSnapshot;
  }

  /** Undefined if there is no free descriptor to look with. */
  measure(): Promise<MachineUsage | undefined> {
    if (this.#latest !== undefined && performance.now() < this.#validUntil) return this.#latest;
    // Nobody begins another look while one lasts.
    this.#validUntil = Number.POSITIVE_INFINITY;
    this.#latest = this.#measure();
    return this.#latest;
  }

  async #measure(): Promise<MachineUsage | undefined> {
    try {
      return new MachineUsage(await this.#takeSnapshot());
    } catch (error) {
      if (isOutOfDescriptors(error)) return undefined;
      throw error;
    } finally {
      this.#validUntil = performance.now() + VALID_MS;
    }
  }
}

import { after } from "../../base/duration.ts";
import type { Host } from "../../client/host/host.ts";
import type { RowsMachine } from "./rows-fleet.ts";

/** A machine during a job: what it reports, what runs there, and the connection to it. */
export class Machine {
  readonly id: string;
  /** Its last report; undefined while it is not in the fleet. */
  #reported: RowsMachine | undefined;
  /** False once it has lost the labels that the job asks for. */
  #isWanted = true;
  #slots = Number.POSITIVE_INFINITY;
  #foreign = 0;
  /** Attempts of this job there. */
  #ours = 0;
  /** Most of them at a time since its last report: it reports every two seconds, and rows may be shorter. */
  #peak = 0;
  host: Host | undefined;
  /** While a connection is being opened. */
  connecting: Promise<void> | undefined;
  /** On the clock of `performance.now`: it is not connected to, and gets no rows, before. */
  #heldUntil = 0;
  #cancelHold: () => void = () => {};
  /** How often in a row it could not be reached. */
  failures = 0;
  /** Why it takes no rows, as long as it is held for that reason. */
  refusal: string | undefined;
  /** True if something of this job may run there that no attempt counts on. */
  hasLeftovers = false;

  constructor(id: string) {
    this.id = id;
  }

  get isListed(): boolean {
    return this.#reported !== undefined;
  }

  /** Its last report; undefined if the job does not ask for it, or it is not there. */
  get state(): RowsMachine["state"] | undefined {
    return this.#isWanted ? this.#reported?.state : undefined;
  }

  /** Whether it takes new rows, according to its last report. */
  get isReady(): boolean {
    return this.state === "ready";
  }

  /** How many processes it is meant to run, as far as it is known. */
  get slots(): number {
    return this.#slots;
  }

  get isConnected(): boolean {
    return this.host?.state === "connected";
  }

  get heldUntil(): number {
    return this.#heldUntil;
  }

  /** How many more rows it has slots for. */
  get room(): number {
    return this.isReady ? Math.max(0, this.#slots - this.#foreign - this.#ours) : 0;
  }

  update(reported: RowsMachine, isWanted = true): void {
    const { running, free } = reported;
    this.#reported = reported;
    this.#isWanted = isWanted;
    // One that runs more than it is meant to has no free slots either, and does not report how many it has.
    this.#slots = free > 0 ? running + free : Math.min(this.#slots, running);
    this.#foreign = Math.max(0, running - this.#peak);
    this.#peak = this.#ours;
  }

  leave(): void {
    this.#reported = undefined;
    this.#slots = Number.POSITIVE_INFINITY;
  }

  /** Leaves it alone for a while. */
  hold(ms: number, over: () => void): void {
    this.#cancelHold();
    this.#heldUntil = performance.now() + ms;
    this.#cancelHold = after(ms, () => {
      this.#heldUntil = 0;
      this.refusal = undefined;
      over();
    });
  }

  occupy(): void {
    this.#ours += 1;
    this.#peak = Math.max(this.#peak, this.#ours);
  }

  release(): void {
    this.#ours -= 1;
  }
}

import { after } from "../../base/duration.ts";
import type { Host } from "../../client/host/host.ts";
import type { RowsMachine } from "./rows-fleet.ts";

/** A machine during a job: its reports, its rows, and the connection to it. */
export class Machine {
  readonly id: string;
  /** Its last report; undefined while it is not in the fleet. */
  #reported: RowsMachine | undefined;
  /** False once it has lost the labels that the job requires. */
  #isWanted = true;
  /** How many processes it should run, as far as it is known. */
  slots = Number.POSITIVE_INFINITY;
  #foreign = 0;
  /** Attempts of this job there. */
  #ours = 0;
  /** Peak of its concurrent rows since its last report: it reports every two seconds, and rows may be shorter. */
  #peak = 0;
  host: Host | undefined;
  /** While a connection is being opened. */
  connecting: Promise<void> | undefined;
  /** On the clock of `performance.now`: before this time it is not connected to, and gets no rows. */
  heldUntil = 0;
  #cancelHold: () => void = () => {};
  /** Number of failed connections in a row. */
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

  /** State of its last report; undefined if the job does not use it, or it is gone. */
  get state(): RowsMachine["state"] | undefined {
    return this.#isWanted ? this.#reported?.state : undefined;
  }

  /** Whether it accepts new rows, according to its last report. */
  get isReady(): boolean {
    return this.state === "ready";
  }

  get isConnected(): boolean {
    return this.host?.state === "connected";
  }

  /** Number of further rows it has slots for. */
  get room(): number {
    return this.isReady ? Math.max(0, this.slots - this.#foreign - this.#ours) : 0;
  }

  update(reported: RowsMachine, isWanted = true): void {
    const { running, free } = reported;
    this.#reported = reported;
    this.#isWanted = isWanted;
    // A machine that runs more than it should has no free slots, either, and does not report how many slots it has.
    this.slots = free > 0 ? running + free : Math.min(this.slots, running);
    this.#foreign = Math.max(0, running - this.#peak);
    this.#peak = this.#ours;
  }

  leave(): void {
    this.#reported = undefined;
    this.slots = Number.POSITIVE_INFINITY;
  }

  /** Skips it for a while. */
  hold(ms: number, over: () => void): void {
    this.#cancelHold();
    this.heldUntil = performance.now() + ms;
    this.#cancelHold = after(ms, () => {
      this.heldUntil = 0;
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

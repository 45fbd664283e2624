import type { Host } from "../../client/host.ts";
import type { RowAttempt, RowOutcome } from "../engine/row.ts";
import { MachinePool } from "../machines/machine-pool.ts";
import type { RowsFleetOptions } from "../machines/rows-fleet.ts";

/** Gives each agent a machine of a fleet. Its commands end with the connection to that machine. */
export class FleetAgents implements AsyncDisposable {
  readonly pool: MachinePool;
  /** The machine of each attempt that runs. */
  readonly #hosts = new WeakMap<RowAttempt, Host>();

  constructor(fleet: RowsFleetOptions) {
    this.pool = new MachinePool({ ...fleet, prepare: () => Promise.resolve() });
  }

  readonly hostOf = (attempt: RowAttempt): Host => this.#hosts.get(attempt)!;

  async run(attempt: RowAttempt, work: (attempt: RowAttempt) => Promise<RowOutcome>): Promise<RowOutcome> {
    const place = attempt.place!;
    const host = this.pool.hostAt(place);
    if (host === undefined)
      return {
        status: "lost",
        error: `${place}: it was lost before the row began`,
        host: place,
        isBegun: false,
      };
    this.#hosts.set(attempt, host);
    return await work(attempt);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.pool.close();
  }
}

import type { ConnectOptions } from "../../client/host/open-host.ts";
import type { Host } from "../../client/host/host.ts";

/** A machine, as it last reported. */
export interface RowsMachine {
  readonly id: string;
  readonly labels: Readonly<Record<string, string>>;
  /** Processes that run there, of everybody. */
  readonly running: number;
  /** How many more processes it should run. */
  readonly free: number;
  /** Only a ready machine gets new rows. */
  readonly state: "ready" | "cordoned" | "draining";
}

/** Machines that rows can run on: the result of `openFleet`, or anything like it. */
export interface RowsFleet {
  list(): readonly RowsMachine[];
  /** Calls `watcher` on every change of the list, until the returned function is called. */
  watch(
    watcher: (change: {
      readonly kind: "joined" | "changed" | "left";
      readonly executor: RowsMachine;
    }) => void,
  ): () => void;
  connect(id: string, options?: ConnectOptions): Promise<Host>;
}

/** Selection of a fleet's machines, and how long one may be unreachable. */
export interface RowsFleetOptions {
  readonly fleet: RowsFleet;
  /** Only machines with all of these labels. Default: all machines. */
  readonly on?: Readonly<Record<string, string>>;
  /**
   * How long a machine may be out of sight during an attempt, before the row runs elsewhere. Default: 50 s. Less than
   * about 1 s makes every hiccup of the network a loss.
   */
  readonly lostAfterMs?: number;
}

/** Whether a machine has all of these labels. */
export function hasLabels({ labels }: RowsMachine, wanted: Readonly<Record<string, string>>): boolean {
  return Object.entries(wanted).every(([key, value]) => Object.hasOwn(labels, key) && labels[key] === value);
}

/** Description of the selected machines in messages. */
export function describeLabels(wanted: Readonly<Record<string, string>>): string {
  const pairs = Object.entries(wanted).map(([key, value]) => `${key}=${value}`);
  return pairs.length === 0 ? "the fleet" : `the fleet with ${pairs.join(",")}`;
}

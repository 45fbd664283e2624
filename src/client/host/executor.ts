import type { Beat } from "../../fleet/beat.ts";

/** An executor of a fleet, as it last reported. */
export interface Executor {
  readonly id: string;
  readonly labels: Readonly<Record<string, string>>;
  /** Version of its server. */
  readonly version?: string;
  /** Processes that run. */
  readonly running: number;
  /** How many more processes it should run. */
  readonly free: number;
  /** Load of its machine in the last minute, for each core. */
  readonly load: number;
  /** `cordoned`: reachable, but meant to get no new work. `draining`: it is about to end, and starts nothing. */
  readonly state: "ready" | "cordoned" | "draining";
  /** When it joined the fleet, in milliseconds since 1970. */
  readonly since: number;
}

/** A change of the list of executors. */
export interface ExecutorChange {
  /** `changed` also if another executor of the same name has replaced it. */
  readonly kind: "joined" | "changed" | "left";
  /** Its current state, or its last one if it has left. */
  readonly executor: Executor;
}

/** The public part of a beat. */
export function executorOf({ run: _run, state, ...report }: Beat): Executor {
  // The last beat of an executor is never listed.
  return { ...report, state: state === "gone" ? "draining" : state };
}

/** Whether an executor has all of these labels. */
export function hasLabels({ labels }: Executor, wanted: Readonly<Record<string, string>>): boolean {
  return Object.entries(wanted).every(([key, value]) => Object.hasOwn(labels, key) && labels[key] === value);
}

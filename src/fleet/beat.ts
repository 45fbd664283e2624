export const STATES = ["ready", "cordoned", "draining", "gone"] as const;

/** An executor's announcement of itself, every two seconds and when it is called. */
export interface Beat {
  readonly id: string;
  /** Name of this run of its program. */
  readonly run: string;
  /** When it joined, in milliseconds since 1970. Of two with one name, the later one stays. */
  readonly since: number;
  /** Version of its server. */
  readonly version?: string;
  readonly labels: Readonly<Record<string, string>>;
  /** Processes that run. */
  readonly running: number;
  /** How many more processes it should run. */
  readonly free: number;
  /** Average number of runnable programs of its machine in the last minute, for each of its cores. */
  readonly load: number;
  /** Whether it should get new work: an operator may have cordoned it. `gone` is its last beat. */
  readonly state: (typeof STATES)[number];
}

/** Whether one run replaces another of the same name. */
export function isNewer(one: Pick<Beat, "since" | "run">, other: Pick<Beat, "since" | "run">): boolean {
  return one.since === other.since ? one.run > other.run : one.since > other.since;
}

import type { FleetAddress } from "../../fleet/fleet-address.ts";

/** The fleet that a server joins, and as what. */
export interface FleetOptions extends Omit<FleetAddress, "inbox"> {
  /** Name of this executor: up to 64 letters, digits, `-` and `_`. A newer executor of the same name replaces it. */
  readonly id: string;
  /** What clients choose executors by. Names and values have letters, digits and `. _ / -`, values also `: @ +`. */
  readonly labels?: Readonly<Record<string, string>>;
  /** How many processes it is meant to run at a time, for whoever chooses one. Default: the number of its cores. */
  readonly slots?: number;
  /**
   * Whether to go on trying if NATS cannot be reached at the start. The server starts meanwhile, or waits if it listens
   * nowhere else. Default: false, starting fails.
   */
  readonly keepTrying?: boolean;
  /** A newer executor of the same name has joined: this one has left the fleet for good. */
  readonly replaced?: () => void;
}

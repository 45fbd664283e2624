/** What passes between the page of a fleet and the program that serves it, as JSON. The page connects anew if it is lost. */

/** A machine of the fleet, as its executor last reported. */
export interface Machine {
  readonly id: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly version?: string;
  /** Processes that run. */
  readonly running: number;
  /** How many more it is meant to run. */
  readonly free: number;
  /** Of the last minute, for each core. */
  readonly load: number;
  readonly state: "ready" | "cordoned" | "draining";
  /** When it joined, in milliseconds since 1970. */
  readonly since: number;
}

/** `recovering`: NATS is away, and the list stands still. */
export type NatsState = "connected" | "recovering" | "closed";

/** To the page. */
export type FleetMessage =
  /** The first message: all machines follow. */
  | { readonly kind: "fleet"; readonly name: string; readonly servers: string; readonly state: NatsState }
  | { readonly kind: "state"; readonly state: NatsState }
  | {
      readonly kind: "machines";
      /** New ones, and those that have changed. */
      readonly machines: readonly Machine[];
      /** Ids of those that have left. */
      readonly left: readonly string[];
      /** False while more is about to be sent. */
      readonly isComplete: boolean;
    }
  | FleetAnswer;

export interface FleetAnswer {
  readonly kind: "answer";
  readonly request: number;
  /** For `open`: where the page of the machine is. It works once. */
  readonly link?: string;
  /** Why it was not done. */
  readonly error?: string;
}

/** From the page. */
export interface FleetRequest {
  readonly request: number;
  readonly do: "open" | "cordon" | "uncordon";
  readonly machine: string;
}

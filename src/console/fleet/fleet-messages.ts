/**
 * JSON messages between the page of a fleet and the program that serves it. The page reconnects if the connection is
 * lost.
 */

/** A machine of the fleet, as its executor last reported. */
export interface Machine {
  readonly id: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly version?: string;
  /** Processes that run. */
  readonly running: number;
  /** How many more processes it should run. */
  readonly free: number;
  /** Over the last minute, per core. */
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
      /** New and changed machines. */
      readonly machines: readonly Machine[];
      /** Ids of machines that have left. */
      readonly left: readonly string[];
      /** False while more is about to be sent. */
      readonly isComplete: boolean;
    }
  | FleetAnswer;

export interface FleetAnswer {
  readonly kind: "answer";
  readonly request: number;
  /** For `open`: link to the machine's page. It works once. */
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

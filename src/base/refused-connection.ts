/** Why a connection is turned away. */
export type RefusalCause = "login" | "origin" | "host" | "user" | "sandbox" | "limit" | "request";

/** A connection that was turned away. */
export interface RefusedConnection {
  readonly cause: RefusalCause;
  /** Text for the client. It contains nothing that the client sent. */
  readonly reason: string;
  /** Address of the client, or `unix`. */
  readonly from: string;
}

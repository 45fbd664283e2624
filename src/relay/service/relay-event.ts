/** What a relay does, for its log and its audit log. */
export type RelayEvent =
  /** An executor has registered with a key, or again with another token. */
  | "register"
  /** A registration ends because of one with another key. */
  | "supersede"
  /** The executor is connected; it is no longer. */
  | "online"
  | "offline"
  /** A client was admitted; its executor has asked about it; it has a stream; it is gone. */
  | "connect"
  | "validate"
  | "stream"
  | "disconnect"
  /** A request was refused. */
  | "refused"
  /** A token has ended, and with it everything that it had opened. */
  | "revoke"
  /** The relay is about to stop. */
  | "drain";

/** Facts contain no secrets. */
export type RecordEvent = (event: RelayEvent, facts: Readonly<Record<string, unknown>>) => void;

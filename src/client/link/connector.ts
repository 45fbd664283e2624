import type { Link, LinkEvents } from "../../rpc/link.ts";

/** How a session reaches its server. */
export interface Connector {
  /** True if a lost link can be replaced by another to the same server. */
  readonly resumable: boolean;
  /** Rejects with a ConnectionError if the server cannot be reached; aborting cancels. */
  open(events: LinkEvents, signal: AbortSignal): Promise<Link>;
}

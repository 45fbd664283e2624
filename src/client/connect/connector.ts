import type { Link, LinkEvents } from "../../rpc/link.ts";

/** How a session reaches its server. */
export interface Connector {
  /** True when a lost link can be replaced by another to the same server. */
  readonly resumable: boolean;
  /** Rejects with a ConnectionError when the server cannot be reached; aborting gives up. */
  open(events: LinkEvents, signal: AbortSignal): Promise<Link>;
}

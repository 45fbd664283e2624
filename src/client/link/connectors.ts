import { UsageError } from "../../base/errors.ts";
import { createMemoryPair } from "../../transport/memory.ts";
import { openTransportLink } from "./transport-link.ts";
import type { Transport } from "../../transport/transport.ts";
import type { Link, LinkEvents } from "../../rpc/link.ts";
import { observed, type OnMessage } from "./observed-transport.ts";

/** How a session reaches its server. */
export interface Connector {
  /** True if a lost link can be replaced by another to the same server. */
  readonly resumable: boolean;
  /** Rejects with a ConnectionError if the server cannot be reached; aborting cancels. */
  open(events: LinkEvents, signal: AbortSignal): Promise<Link>;
}

/** A server in the same program, from `createServer()` of `exec-server/server`. */
export interface InProcessServer {
  accept(transport: Transport, options: { readonly resumable: false; readonly from: string }): void;
}

/** Opens a new transport to the same server on each call. */
export type OpenTransport = (signal: AbortSignal) => Promise<Transport>;

/** Reaches a server over transports. */
export function transportConnector(
  open: OpenTransport,
  { resumable, onMessage }: { resumable: boolean; onMessage: OnMessage | undefined },
): Connector {
  return {
    resumable,
    open: async (events, signal) => {
      const transport = await open(signal);
      return openTransportLink(onMessage === undefined ? transport : observed(transport, onMessage), events);
    },
  };
}

/** Opens transports to a server in the same program. */
export function inProcess(server: InProcessServer): OpenTransport {
  return async () => {
    const [ours, theirs] = createMemoryPair();
    server.accept(theirs, { resumable: false, from: "local" });
    return ours;
  };
}

/** Distinguishes a transport from other connection targets. */
export function isTransport(target: object): target is Transport {
  return "send" in target && "open" in target;
}

/** A token read from a file often ends with a newline. Any other character that a header cannot carry is a mistake. */
export function headerToken(token: string): string {
  const trimmed = token.trim();
  if (/^[\x21-\x7e]+$/.test(trimmed)) return trimmed;
  throw new UsageError(
    trimmed === "" ? "the token is empty" : "the token contains characters that a header cannot carry",
  );
}

import type { OpenLink } from "../../rpc/link.ts";
import { openTransportLink } from "../../rpc/transport-link.ts";
import type { Transport } from "../../transport/transport.ts";
import type { Connector } from "./connector.ts";

/** A server in the same program: `createServer()` of `exec-server/server` gives one. */
export interface InProcessServer {
  link: OpenLink;
}

/** Gives a new transport to the same server, each time it is called. */
export type OpenTransport = (signal: AbortSignal) => Promise<Transport>;

/** Reaches a server over transports. */
export function transportConnector(open: OpenTransport, { resumable }: { resumable: boolean }): Connector {
  return { resumable, open: async (events, signal) => openTransportLink(await open(signal), events) };
}

/** Reaches a server in the same program. */
export function inProcessConnector(server: InProcessServer): Connector {
  return { resumable: false, open: async (events) => server.link(events) };
}

/** Tells a transport from the other things that can be connected to. */
export function isTransport(target: object): target is Transport {
  return "send" in target && "open" in target;
}

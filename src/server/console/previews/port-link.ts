import { Duplex } from "node:stream";
import type { Caller } from "../../../client/calls/caller.ts";
import { checkedResult } from "../../../client/calls/wire-check.ts";
import { type OpenTransport, transportConnector } from "../../../client/link/connectors.ts";
import { openSession } from "../../../client/link/handshake.ts";
import { openTcpStream } from "../../../client/tcp/tcp-stream.ts";
import { SESSION_OVER_CLOSE_CODE } from "../../../protocol/wire-limits.ts";

/** A port of a server's machine, and the loopback address at which something listens on it. */
export interface PreviewedPort {
  readonly port: number;
  readonly host: string;
}

const OPEN_TIMEOUT_MS = 10_000;

/** A connection to a server as every client has one: what it may do depends on its rights. */
export interface PortLink {
  /** Whether a process of the client listens on a port. */
  listens(target: PreviewedPort): Promise<boolean>;
  connect(target: PreviewedPort): Promise<Duplex>;
  close(): void;
}

/** Opens a connection. `closed` is called when it has ended. */
export async function openPortLink(open: OpenTransport, closed: () => void): Promise<PortLink> {
  const { link } = await openSession(
    transportConnector(open, { resumable: false, onMessage: undefined }),
    { notification: () => {}, closed },
    {
      clientName: "exec-server preview",
      connectTimeoutMs: OPEN_TIMEOUT_MS,
      initializeTimeoutMs: OPEN_TIMEOUT_MS,
      resumeSessionId: undefined,
      signal: new AbortController().signal,
    },
  );
  const caller: Caller = {
    request: async (method, params) => checkedResult(method, await link.request(method, params)),
  };
  return {
    listens: async ({ port, host }) => {
      const { ports } = await caller.request("process/ports", null);
      return ports.some((listed) => listed.port === port && listed.host === host);
    },
    connect: async (target) => {
      const stream = await openTcpStream(caller, target, { timeoutMs: OPEN_TIMEOUT_MS });
      // Where the types of browsers are known, too, the streams of both differ.
      const pair = stream as unknown as Parameters<typeof Duplex.fromWeb>[0];
      return Duplex.fromWeb(pair).once("close", () => void stream.close());
    },
    close: () => link.close({ code: SESSION_OVER_CLOSE_CODE, reason: "" }),
  };
}

import { anySignal } from "../../../base/deadlines.ts";
import type { LookupAddress } from "node:dns";
import { once } from "node:events";
import { Agent } from "node:http";
import { isIP, type Socket } from "node:net";
import type { Duplex } from "node:stream";
import { connect, type SecureContext } from "node:tls";
import type { Destination } from "../destination.ts";
import { connectOutward } from "../outward.ts";
import { IDLE_TIMEOUT_MS } from "../tunnel.ts";

const HANDSHAKE_TIMEOUT_MS = 30_000;

export interface Upstream {
  readonly target: Destination;
  /** Checked when the tunnel was opened: whatever the name means later, they stay the same. */
  readonly addresses: readonly LookupAddress[];
  /** The authorities that may vouch for it. */
  readonly trust: SecureContext;
  /** Ends what is under way. */
  readonly signal: AbortSignal;
}

/** The outer end of an inspected tunnel: one connection at a time, which its requests use one after another. */
export class TunnelAgent extends Agent {
  readonly #upstream: Upstream;
  readonly #ended = new AbortController();

  constructor(upstream: Upstream) {
    super({ keepAlive: true, maxSockets: 1, maxFreeSockets: 1 });
    this.#upstream = upstream;
  }

  /** Ends connections that are still being made, too: an agent would keep them for requests that never come. */
  override destroy(): void {
    this.#ended.abort();
    super.destroy();
  }

  override createConnection(
    _options: unknown,
    created?: (error: Error | null, stream: Duplex) => void,
  ): undefined {
    const done = created as (error: unknown, stream?: Duplex) => void;
    const { signal: ended } = this.#ended;
    const signal = anySignal([this.#upstream.signal, ended]);
    void connectSecurely({ ...this.#upstream, signal }).then((socket) => {
      if (ended.aborted) socket.destroy();
      done(null, socket);
    }, done);
  }
}

/** Resolves when the other side has proved who it is. */
async function connectSecurely({ target, addresses, trust, signal }: Upstream): Promise<Socket> {
  const { host, port } = target;
  const deadline = anySignal([signal, AbortSignal.timeout(HANDSHAKE_TIMEOUT_MS)]);
  const plain = await connectOutward(addresses, port, deadline);
  const socket = connect({
    socket: plain,
    host,
    ...(isIP(host) === 0 ? { servername: host } : {}),
    secureContext: trust,
    ALPNProtocols: ["http/1.1"],
    rejectUnauthorized: true,
    minVersion: "TLSv1.2",
  });
  // Its end reaches the request that uses it.
  socket.on("error", () => {});
  try {
    await once(socket, "secureConnect", { signal: deadline });
  } catch (error) {
    socket.destroy();
    plain.destroy();
    throw error;
  }
  socket.setTimeout(IDLE_TIMEOUT_MS, () => socket.destroy());
  return socket;
}

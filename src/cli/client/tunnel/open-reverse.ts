import { connect, type Socket } from "node:net";
import { pause } from "../../../base/deadlines.ts";
import { messageOf, RpcError } from "../../../base/errors.ts";
import {
  connectSocket,
  cutOff,
  socketFailure,
  whenConnected,
} from "../../../capabilities/tcp/tcp-connection.ts";
import { errnoOf } from "../../../client/calls/errno.ts";
import type { Host } from "../../../client/host/host.ts";
import type { TcpListener } from "../../../client/tcp/tcp-listener.ts";
import type { TcpStream } from "../../../client/tcp/tcp-stream.ts";
import { complain } from "../print/complain.ts";
import { carry } from "./carry.ts";
import { listenFailure, type OpenListener } from "./local-listener.ts";
import { type ListenAddress, shownAddress, type TunnelAddress, type TunnelTarget } from "./tunnel-address.ts";

const CONNECT_TIMEOUT_MS = 30_000;
/** Connections that are carried at once; a server's own limit is usually lower. */
const MAX_CARRIED = 1_024;
/** Before it listens again. */
const PAUSE_MS = 1_000;

/** A server, and its name. */
export interface NamedHost {
  readonly host: Host;
  readonly name: string;
}

/**
 * Listens on the server's machine, and connects what arrives there to the target, which this machine reaches. The
 * listener ends with the connection to the server; once there is another one, it listens again on the same address.
 */
export async function openReverse(
  there: NamedHost,
  { listen, target }: TunnelAddress,
  signal: AbortSignal,
): Promise<OpenListener> {
  const first = await listenThere(there, listen);
  const { address, port } = first.local;
  const facts = "path" in listen ? listen : { address, port };
  const lost = serve(
    first,
    async () => {
      await pause(PAUSE_MS, signal);
      const again = "path" in listen ? listen : { bind: listen.bind, port };
      return signal.aborted || there.host.state === "closed" ? undefined : listenThere(there, again);
    },
    target,
  );
  lost.catch(() => {});
  // It is closed with the session.
  return { shown: `${shownAddress(facts)} on ${there.name}`, facts, lost, close: () => {} };
}

/** Rejects if it cannot listen again. */
async function serve(
  first: TcpListener,
  again: () => Promise<TcpListener | undefined>,
  target: TunnelTarget,
): Promise<never> {
  for (let listener: TcpListener | undefined = first; listener !== undefined; listener = await again()) {
    try {
      await carryAll(listener, target);
    } catch {
      // It ended with the connection to the server.
    }
  }
  // The end of the session is reported elsewhere.
  return new Promise(() => {});
}

async function carryAll(listener: TcpListener, target: TunnelTarget): Promise<void> {
  const carried = new Set<Promise<void>>();
  for await (const remote of listener) {
    const ended = connectBack(remote, target).finally(() => carried.delete(ended));
    carried.add(ended);
    if (carried.size >= MAX_CARRIED) await Promise.race(carried);
  }
}

async function listenThere({ host, name }: NamedHost, listen: ListenAddress): Promise<TcpListener> {
  if ("path" in listen) return host.listenUnix(listen.path);
  try {
    return await host.listenTcp(listen.port, { host: listen.bind });
  } catch (error) {
    const errno = error instanceof RpcError ? errnoOf(error) : undefined;
    throw listenFailure(`${shownAddress(listen)} on ${name}`, errno) ?? error;
  }
}

/** A connection that fails concerns only itself. */
async function connectBack(remote: TcpStream, target: TunnelTarget): Promise<void> {
  const closed = new AbortController();
  let local: Socket | undefined;
  try {
    local = await connectHere(target);
    local.once("close", () => closed.abort());
    await carry(local, remote, closed.signal);
  } catch (error) {
    if (local?.destroyed !== true) complain(messageOf(error));
    if (local !== undefined) cutOff(local);
    await remote.close();
  }
}

async function connectHere(target: TunnelTarget): Promise<Socket> {
  const limits = { timeoutMs: CONNECT_TIMEOUT_MS, signal: new AbortController().signal };
  try {
    return await ("path" in target
      ? whenConnected(connect({ path: target.path, allowHalfOpen: true }), limits)
      : connectSocket(target, limits));
  } catch (error) {
    throw socketFailure(error as Error, `cannot connect to ${shownAddress(target)} here`);
  }
}

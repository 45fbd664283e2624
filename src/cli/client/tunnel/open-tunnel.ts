import { once } from "node:events";
import { type AddressInfo, createServer, type Server, type Socket } from "node:net";
import { endsOf } from "../../../base/connection-ends.ts";
import { messageOf } from "../../../base/errors.ts";
import { isOwnUsers } from "../../../capabilities/host/connection-owner.ts";
import { isLoopbackIp } from "../../../capabilities/network-proxy/ip-address.ts";
import { formatReply } from "../../../capabilities/network-proxy/socks5.ts";
import { acceptSocks, refuseSocks } from "../../../capabilities/network-proxy/socks-handshake.ts";
import type { Host } from "../../../client/host/host.ts";
import type { TcpStream } from "../../../client/tcp/tcp-stream.ts";
import { Failure } from "../../shared/failure.ts";
import { complain } from "../print/complain.ts";
import { type ListenAddress, shownAddress, type TunnelAddress, type TunnelTarget } from "./tunnel-address.ts";

const REFUSED =
  "refused a connection to the tunnel: on a loopback address only your own programs and root's may use it; listen on another address to serve everyone";

const NO_ADDRESS = "this machine has no such address";
const REASONS: Readonly<Record<string, string>> = {
  EADDRINUSE: "another program uses that port; choose another one, or 0 to pick one",
  EACCES: "ports below 1024 are for root; choose another one",
  EADDRNOTAVAIL: NO_ADDRESS,
  ENOTFOUND: NO_ADDRESS,
};

/** Listens on this machine, and connects clients to the target through the host. */
export function openTunnel(host: Host, { target, ...listener }: TunnelAddress): Promise<AddressInfo> {
  return listen(listener, (local) => void connect(host, target, local));
}

/** Listens on this machine as a SOCKS 5 proxy, and connects clients through the host to wherever they wish. */
export function openSocks(host: Host, listener: ListenAddress): Promise<AddressInfo> {
  return listen(listener, (local) => {
    acceptSocks(local, (wanted) => {
      local.setTimeout(0);
      if (typeof wanted === "string") refuseSocks(local, wanted);
      else void connect(host, wanted, local, SOCKS);
    });
    local.resume();
  });
}

/** How a client of a SOCKS proxy learns what became of its request; one of a tunnel sees only its connection. */
const SOCKS: ClientNotice = {
  connected: (local) => void local.write(formatReply("succeeded")),
  failed: (local) => refuseSocks(local, "refused"),
};

interface ClientNotice {
  connected(local: Socket): void;
  failed(local: Socket): void;
}

const PLAIN: ClientNotice = { connected: () => {}, failed: (local) => void local.resetAndDestroy() };

/**
 * Listens on this machine. On a loopback address, other users are refused: they have no right to what the host reaches.
 */
async function listen(address: ListenAddress, accept: (local: Socket) => void): Promise<AddressInfo> {
  let hasRefused = false;
  // Data that arrives before the other side is connected waits in the socket.
  const server = createServer({ allowHalfOpen: true, pauseOnConnect: true, noDelay: true }, (local) => {
    local.on("error", () => {}); // The reading or writing side learns of it.
    if (isLoopbackIp((server.address() as AddressInfo).address) && isForeign(local)) {
      local.destroy();
      if (!hasRefused) complain(REFUSED);
      hasRefused = true;
    } else accept(local);
  });
  await listening(server, address);
  return server.address() as AddressInfo;
}

/** Only on Linux can the owner of a connection be found. */
function isForeign(local: Socket): boolean {
  const ends = endsOf(local);
  return process.platform === "linux" && (ends === undefined || !isOwnUsers(ends));
}

/** A connection that fails concerns only itself. */
async function connect(
  host: Host,
  target: TunnelTarget,
  local: Socket,
  notice: ClientNotice = PLAIN,
): Promise<void> {
  const abort = new AbortController();
  local.once("close", () => abort.abort());
  let remote: TcpStream;
  try {
    remote = await host.connectTcp(target.host, target.port, { signal: abort.signal });
  } catch (error) {
    if (!local.destroyed) complain(messageOf(error));
    notice.failed(local);
    return;
  }
  try {
    notice.connected(local);
    await carry(local, remote, abort.signal);
  } catch (error) {
    if (!local.destroyed) complain(messageOf(error));
    local.resetAndDestroy();
  }
}

/**
 * Carries bytes both ways until both sides have ended, each on its own. Rejects if one of them fails; the remote one
 * is closed then. Only what fits into the buffers of one connection waits here.
 */
async function carry(local: Socket, remote: TcpStream, closed: AbortSignal): Promise<void> {
  try {
    await Promise.all([fromRemote(local, remote, closed), toRemote(local, remote)]);
  } finally {
    await remote.close();
  }
}

async function fromRemote(local: Socket, { readable }: TcpStream, closed: AbortSignal): Promise<void> {
  for await (const bytes of readable) if (!local.write(bytes)) await once(local, "drain", { signal: closed });
  local.end();
}

async function toRemote(local: Socket, { writable }: TcpStream): Promise<void> {
  const writer = writable.getWriter();
  for await (const bytes of local.iterator({ destroyOnReturn: false })) await writer.write(bytes as Buffer);
  await writer.close();
}

function listening(server: Server, { bind, localPort }: ListenAddress): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", (error: NodeJS.ErrnoException) => {
      const where = shownAddress(bind, localPort);
      reject(new Failure(`cannot listen on ${where}: ${REASONS[error.code ?? ""] ?? error.message}`));
    });
    server.listen({ host: bind, port: localPort }, () => {
      server.on("error", (error) => complain(messageOf(error)));
      resolve();
    });
  });
}

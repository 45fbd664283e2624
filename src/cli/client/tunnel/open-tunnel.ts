import type { Socket } from "node:net";
import { messageOf } from "../../../base/errors.ts";
import { formatReply } from "../../../capabilities/network-proxy/socks5.ts";
import { acceptSocks, refuseSocks } from "../../../capabilities/network-proxy/socks-handshake.ts";
import { cutOff } from "../../../capabilities/tcp/tcp-connection.ts";
import type { Host } from "../../../client/host/host.ts";
import type { TcpStream } from "../../../client/tcp/tcp-stream.ts";
import { complain } from "../print/complain.ts";
import { carry } from "./carry.ts";
import { listenHere, type OpenListener } from "./local-listener.ts";
import type { PortAddress, TunnelAddress, TunnelTarget } from "./tunnel-address.ts";

/** Listens on this machine, and connects clients to the target through the host. */
export function openTunnel(host: Host, { listen, target }: TunnelAddress): Promise<OpenListener> {
  return listenHere(listen, (local) => void connect(host, target, local));
}

/** Listens on this machine as a SOCKS 5 proxy, and connects clients through the host to wherever they wish. */
export function openSocks(host: Host, address: PortAddress): Promise<OpenListener> {
  return listenHere(address, (local) => {
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

const PLAIN: ClientNotice = { connected: () => {}, failed: cutOff };

/** A connection that fails concerns only itself. */
async function connect(
  host: Host,
  target: TunnelTarget,
  local: Socket,
  notice: ClientNotice = PLAIN,
): Promise<void> {
  const abort = new AbortController();
  const { signal } = abort;
  local.once("close", () => abort.abort());
  let remote: TcpStream;
  try {
    remote = await ("path" in target
      ? host.connectUnix(target.path, { signal })
      : host.connectTcp(target.host, target.port, { signal }));
  } catch (error) {
    if (!local.destroyed) complain(messageOf(error));
    notice.failed(local);
    return;
  }
  try {
    notice.connected(local);
    await carry(local, remote, signal);
  } catch (error) {
    if (!local.destroyed) complain(messageOf(error));
    cutOff(local);
  }
}

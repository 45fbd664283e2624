import { type AddressInfo, createServer, type Server, type Socket } from "node:net";
import { endsOf } from "../../../base/connection-ends.ts";
import { messageOf } from "../../../base/errors.ts";
import { isOwnUsers } from "../../../capabilities/host/connection-owner.ts";
import { isLoopbackIp } from "../../../capabilities/network-proxy/ip-address.ts";
import type { Host } from "../../../client/host/host.ts";
import { Failure } from "../outcome/failure.ts";
import { complain } from "../print/complain.ts";
import { carry } from "./carry.ts";
import { shownAddress, type TunnelAddress } from "./tunnel-address.ts";

const REFUSED =
  "refused a connection to the tunnel: on a loopback address it serves your own programs and root's; give another address to listen on to serve everybody";

/**
 * Listens on this machine, and connects whoever comes through the host. Other users of this machine do not get through
 * on a loopback address: they have no right to what the host reaches.
 */
export async function openTunnel(host: Host, address: TunnelAddress): Promise<AddressInfo> {
  let hasRefused = false;
  // What comes before the other side is connected waits in the socket.
  const server = createServer({ allowHalfOpen: true, pauseOnConnect: true, noDelay: true }, (local) => {
    local.on("error", () => {}); // Whoever reads or writes learns of it.
    if (isLoopbackIp((server.address() as AddressInfo).address) && isForeign(local)) {
      local.destroy();
      if (!hasRefused) complain(REFUSED);
      hasRefused = true;
    } else void connect(host, address, local);
  });
  await listening(server, address);
  return server.address() as AddressInfo;
}

/** Elsewhere than on Linux nobody can tell whose connection it is. */
function isForeign(local: Socket): boolean {
  const ends = endsOf(local);
  return process.platform === "linux" && (ends === undefined || !isOwnUsers(ends));
}

/** A connection that fails concerns only itself. */
async function connect(host: Host, address: TunnelAddress, local: Socket): Promise<void> {
  const abort = new AbortController();
  local.once("close", () => abort.abort());
  try {
    const remote = await host.connectTcp(address.host, address.port, { signal: abort.signal });
    await carry(local, remote);
  } catch (error) {
    if (!local.destroyed) complain(messageOf(error));
    local.resetAndDestroy();
  }
}

function listening(server: Server, { bind, localPort }: TunnelAddress): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", (error: NodeJS.ErrnoException) => {
      const where = shownAddress(bind, localPort);
      reject(new Failure(`cannot listen on ${where}: ${reasonOf(error)}`));
    });
    server.listen({ host: bind, port: localPort }, () => {
      server.on("error", (error) => complain(messageOf(error)));
      resolve();
    });
  });
}

function reasonOf({ code, message }: NodeJS.ErrnoException): string {
  switch (code) {
    case "EADDRINUSE":
      return "another program uses that port; give another one, or 0 to pick one";
    case "EACCES":
      return "ports below 1024 are for root; give another one";
    case "EADDRNOTAVAIL":
    case "ENOTFOUND":
      return "this machine has no such address";
    default:
      return message;
  }
}

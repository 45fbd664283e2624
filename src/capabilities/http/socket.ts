import { connect as connectTcp, isIP, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";

/** Called once, with the ready socket or the error. */
export type Opened = (error: Error | null, socket: Socket | null) => void;

const TCP_PROBES_AFTER_MS = 60_000;

/** Opens a connection for an http or https URL. The returned socket can be destroyed meanwhile. */
export function openSocket({ protocol, hostname, port }: URL, opened: Opened): Socket {
  const secure = protocol === "https:";
  const host = hostname.startsWith("[") ? hostname.slice(1, -1) : hostname;
  const address = { host, port: port === "" ? (secure ? 443 : 80) : Number(port) };
  const socket = secure ? connectTls({ ...address, ...tlsOptions(host) }) : connectTcp(address);
  socket.setNoDelay(true).setKeepAlive(true, TCP_PROBES_AFTER_MS);
  return whenReady(socket, secure ? "secureConnect" : "connect", opened);
}

/** Starts TLS with the server at the end of a tunnel. */
export function secureTunnel(tunnel: Socket, { hostname }: URL, opened: Opened): Socket {
  const host = hostname.startsWith("[") ? hostname.slice(1, -1) : hostname;
  return whenReady(connectTls({ socket: tunnel, host, ...tlsOptions(host) }), "secureConnect", opened);
}

function whenReady(socket: Socket, ready: "connect" | "secureConnect", opened: Opened): Socket {
  let isSettled = false;
  const settle: Opened = (error, result) => {
    if (isSettled) return;
    isSettled = true;
    opened(error, result);
  };
  // Stays registered: an error event without a listener would end the program.
  socket.on("error", (error) => settle(error, null));
  socket.once("close", () => settle(new Error("the connection was closed"), null));
  socket.once(ready, () => settle(null, socket));
  return socket;
}

function tlsOptions(host: string): { ALPNProtocols: string[]; servername?: string } {
  const alpn = { ALPNProtocols: ["http/1.1"] };
  // SNI takes host names, not addresses.
  return isIP(host) === 0 ? { ...alpn, servername: host } : alpn;
}

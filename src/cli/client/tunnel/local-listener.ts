import { type AddressInfo, createServer, type Server, type Socket } from "node:net";
import { messageOf } from "../../../base/errors.ts";
import { isForeign } from "../../../capabilities/host/connection-owner.ts";
import { isLoopbackIp } from "../../../capabilities/network-proxy/ip-address.ts";
import { bindUnixSocket } from "../../../transport/websocket/unix-socket.ts";
import { Failure } from "../../shared/failure.ts";
import { complain } from "../print/complain.ts";
import { type ListenAddress, type PortAddress, shownAddress } from "./tunnel-address.ts";

const REFUSED =
  "refused a connection to the tunnel: on a loopback address only your own programs and root's may use it; listen on another address to serve everyone";

const NO_ADDRESS = "there is no such address";
const REASONS: Readonly<Record<string, string>> = {
  EADDRINUSE: "another program uses that port; choose another one, or 0 to pick one",
  EACCES: "ports below 1024 are for root; choose another one",
  EADDRNOTAVAIL: NO_ADDRESS,
  ENOTFOUND: NO_ADDRESS,
};

/** Where a tunnel begins, on this machine or on the server's. */
export interface OpenListener {
  /** As it is printed. */
  readonly shown: string;
  /** Its members in JSON. */
  readonly facts: { readonly address: string; readonly port: number } | { readonly path: string };
  /** Rejects when it is lost, if that can happen. */
  readonly lost?: Promise<never>;
  close(): void;
}

/**
 * Listens on this machine. On a loopback address, other users are refused: they have no right to what the host reaches.
 * They cannot connect to a Unix socket.
 */
export async function listenHere(
  address: ListenAddress,
  accept: (local: Socket) => void,
): Promise<OpenListener> {
  let hasRefused = false;
  // Data that arrives before the other side is connected waits in the socket.
  const server = createServer({ allowHalfOpen: true, pauseOnConnect: true, noDelay: true }, (local) => {
    local.on("error", () => {}); // The reading or writing side learns of it.
    const bound = server.address() as AddressInfo | string;
    if (typeof bound !== "string" && isLoopbackIp(bound.address) && isForeign(local)) {
      local.destroy();
      if (!hasRefused) complain(REFUSED);
      hasRefused = true;
    } else accept(local);
  });
  const onError = (): void => void server.on("error", (error) => complain(messageOf(error)));
  if ("path" in address) {
    const remove = await bindUnixSocket(server, address.path);
    onError();
    const close = (): void => {
      remove();
      server.close();
    };
    return { shown: address.path, facts: { path: address.path }, close };
  }
  await listening(server, address);
  onError();
  const { address: bound, port } = server.address() as AddressInfo;
  const facts = { address: bound, port };
  return { shown: shownAddress(facts), facts, close: () => void server.close() };
}

/** The Failure for an address that cannot be listened on, if the system's error says what to do. */
export function listenFailure(shown: string, errno: string | undefined): Failure | undefined {
  const reason = REASONS[errno ?? ""];
  return reason === undefined ? undefined : new Failure(`cannot listen on ${shown}: ${reason}`);
}

function listening(server: Server, address: PortAddress): Promise<void> {
  return new Promise((resolve, reject) => {
    const shown = shownAddress(address);
    const fail = (error: NodeJS.ErrnoException): void =>
      reject(listenFailure(shown, error.code) ?? new Failure(`cannot listen on ${shown}: ${error.message}`));
    server.once("error", fail);
    server.listen({ host: address.bind, port: address.port }, () => {
      server.off("error", fail);
      resolve();
    });
  });
}

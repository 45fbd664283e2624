import { ConnectionError } from "../../../../base/errors.ts";
import { socketUrl } from "../../../../base/socket-url.ts";
import { connect } from "../../../../client/host/connect.ts";
import type { ConnectOptions } from "../../../../client/host/open-host.ts";
import type { Host } from "../../../../client/host/host.ts";
import { Failure } from "../../../shared/failure.ts";
import { ownServerPaths } from "./own-server-paths.ts";

/** No network is involved: a server that is gone takes its sessions with it. */
const IMPATIENT = { recoveryTimeoutMs: 2_000 };

/** Connects to the user's own server, and starts it if necessary. */
export async function connectOwn(options: ConnectOptions): Promise<Host> {
  const host = await findOwn(options);
  if (host !== undefined) return host;
  const { startOwnServer } = await import("./start-own-server.ts");
  const paths = ownServerPaths();
  return startOwnServer(paths, () => openOwn(paths.socket, options));
}

/** Connects to the user's own server if it runs. */
export async function findOwn(options: ConnectOptions): Promise<Host | undefined> {
  const { exists, socket } = ownServerPaths();
  return exists ? openOwn(socket, options) : undefined;
}

/**
 * Undefined if no server is there, or it is just ending. A server that ends before it has answered the handshake has
 * done nothing for this client, so that another one can be tried.
 */
async function openOwn(socket: string, options: ConnectOptions): Promise<Host | undefined> {
  try {
    return await connect(socketUrl(socket), { ...options, ...IMPATIENT });
  } catch (error) {
    if (!(error instanceof ConnectionError)) throw error;
    if (error.code === "CONNECTION_CLOSED" || error.code === "CONNECTION_REFUSED") return undefined;
    if (error.code === "TIMED_OUT")
      throw new Failure(`your own server on ${socket} does not answer; it hangs or is suspended`);
    throw error;
  }
}

import { ConnectionError } from "../../../../base/errors.ts";
import { socketUrl } from "../../../../base/socket-url.ts";
import { connect } from "../../../../client/host/connect.ts";
import type { ConnectOptions } from "../../../../client/host/open-host.ts";
import type { Host } from "../../../../client/host/host.ts";
import { Failure } from "../../outcome/failure.ts";
import { ownServerPaths } from "./own-server-paths.ts";

/** No network is in between: a server that is gone takes its sessions along. */
const IMPATIENT = { recoveryTimeoutMs: 2_000 };

/** Connects to the user's own server. If there is none, starts it. */
export async function connectOwn(options: ConnectOptions): Promise<Host> {
  const paths = ownServerPaths();
  const open = (): Promise<Host> => connect(socketUrl(paths.socket), { ...options, ...IMPATIENT });
  const host = paths.exists ? await hostOrNobody(open) : undefined;
  if (host !== undefined) return host;
  const { startOwnServer } = await import("./start-own-server.ts");
  return startOwnServer(paths, () => hostOrNobody(open));
}

/** Connects to the user's own server if it runs. */
export async function findOwn(options: ConnectOptions): Promise<Host | undefined> {
  const paths = ownServerPaths();
  return paths.exists
    ? hostOrNobody(() => connect(socketUrl(paths.socket), { ...options, ...IMPATIENT }))
    : undefined;
}

/**
 * Undefined if no server is there, or it is just ending. A server that ends before it has answered the handshake has
 * done nothing for this client, so that another one can be tried.
 */
async function hostOrNobody(open: () => Promise<Host>): Promise<Host | undefined> {
  try {
    return await open();
  } catch (error) {
    if (!(error instanceof ConnectionError)) throw error;
    if (error.code === "CONNECTION_CLOSED") return undefined;
    if (error.code === "TIMED_OUT")
      throw new Failure(
        `your own server on ${ownServerPaths().socket} does not answer; it hangs, or was stopped`,
      );
    throw error;
  }
}

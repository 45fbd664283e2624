import { tokenSubprotocols } from "../base/subprotocol-token.ts";
import { connectBrowserWebSocket } from "../transport/websocket/browser-websocket.ts";
import type { Transport } from "../transport/transport.ts";
import { type ConnectOptions, connectTimeout, openHost } from "./host/open-host.ts";
import { checkTarget } from "./link/check-target.ts";
import {
  inProcess,
  type InProcessServer,
  isTransport,
  type OpenTransport,
  transportConnector,
  headerToken,
} from "./link/connectors.ts";
import type { Host } from "./host/host.ts";

/** Address of a server for a program in a browser. */
export type BrowserConnectTarget = string | URL | Transport | OpenTransport | InProcessServer;

/** Connects to a server and opens a session. A lost connection is replaced without losing output. */
export async function connect(target: BrowserConnectTarget, options: ConnectOptions = {}): Promise<Host> {
  checkTarget(target);
  const { onMessage } = options;
  if (typeof target === "string" || target instanceof URL) {
    const url = String(target);
    const timeoutMs = connectTimeout(options);
    // A page cannot set headers.
    const protocols = options.token === undefined ? [] : tokenSubprotocols(headerToken(options.token));
    const open: OpenTransport = (signal) => connectBrowserWebSocket(url, { timeoutMs, signal, protocols });
    return openHost(transportConnector(open, { resumable: true, onMessage }), options);
  }
  if (typeof target === "function")
    return openHost(transportConnector(target, { resumable: true, onMessage }), options);
  const open = isTransport(target) ? async () => target : inProcess(target);
  return openHost(transportConnector(open, { resumable: false, onMessage }), options);
}

export * from "./exports.ts";

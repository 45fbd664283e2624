import { silentLogger } from "../../base/logger.ts";
import type { FleetAddress } from "../../fleet/fleet-address.ts";
import { startChild } from "../../transport/child.ts";
import type { ChildCommand } from "../../transport/child-command.ts";
import type { Transport } from "../../transport/transport.ts";
import { connectWebSocket } from "../../transport/websocket/connect-websocket.ts";
import { type ConnectOptions, connectTimeout, openHost } from "./open-host.ts";
import { checkExecutorKey, type RelayTarget, relayTargetOf } from "./relay-url.ts";
import { checkTarget } from "../link/check-target.ts";
import { checkClientTls, type ClientTls, readClientTls } from "../link/client-tls.ts";
import {
  inProcess,
  type InProcessServer,
  isTransport,
  type OpenTransport,
  transportConnector,
  headerToken,
} from "../link/connectors.ts";
import { copyTree } from "../files/local/copy-tree.ts";
import type { Host } from "./host.ts";

/** A command that serves on its stdin and stdout. Its process group ends with the client. */
export type ServerCommand = Omit<ChildCommand, "logger">;

/** An executor of a fleet, which is reached over NATS. */
export interface FleetTarget {
  readonly fleet: FleetAddress;
  /** Name of the executor. */
  readonly id: string;
}

/**
 * Where a server is: its URL, a command to start, an executor of a fleet or behind a relay, a transport, a function that
 * opens transports, or the server itself.
 */
export type ConnectTarget =
  | string
  | URL
  | ServerCommand
  | FleetTarget
  | RelayTarget
  | Transport
  | OpenTransport
  | InProcessServer;

/** How to connect from a program in Node. */
export interface NodeConnectOptions extends ConnectOptions, ClientTls {}

/**
 * Connects to a server and opens a session. Over a WebSocket, or with a function that opens transports, a lost
 * connection is replaced without losing output.
 */
export async function connect(target: ConnectTarget, options: NodeConnectOptions = {}): Promise<Host> {
  const { open, resumable } = transportsTo(target, options);
  const connector = transportConnector(open, { resumable, onMessage: options.onMessage });
  return openHost(connector, options, copyTree);
}

/** How to reach a server. */
export function transportsTo(
  target: ConnectTarget,
  options: NodeConnectOptions,
): { readonly open: OpenTransport; readonly resumable: boolean } {
  checkTarget(target);
  if (typeof target === "string" || target instanceof URL)
    return { resumable: true, open: atUrl(String(target), options) };
  if (typeof target === "function") return { resumable: true, open: target };
  if ("fleet" in target) return { resumable: true, open: executors(target, options) };
  if ("relay" in target) return { resumable: true, open: throughRelay(target, options) };
  if (isTransport(target)) return { resumable: false, open: async () => target };
  if ("accept" in target) return { resumable: false, open: inProcess(target) };
  const logger = options.logger ?? silentLogger;
  return { resumable: false, open: () => startChild({ ...target, logger }) };
}

function executors({ fleet, id }: FleetTarget, options: NodeConnectOptions): OpenTransport {
  const token = options.token === undefined ? undefined : headerToken(options.token);
  const timeoutMs = connectTimeout(options);
  return async (signal) => {
    // Only a fleet needs the NATS library.
    const { reach } = await import("../../fleet/reach.ts");
    return reach(fleet, id, { token, timeoutMs, signal });
  };
}

function throughRelay(target: RelayTarget, options: NodeConnectOptions): OpenTransport {
  const token = options.token === undefined ? undefined : headerToken(options.token);
  if (typeof target.executorKey === "string") checkExecutorKey(target.executorKey);
  checkClientTls(target.relay.replace(/^http/i, "ws"), options);
  const timeoutMs = connectTimeout(options);
  let reach: ((signal: AbortSignal, since: number) => Promise<Transport>) | undefined;
  return async (signal) => {
    const since = performance.now();
    if (reach === undefined) {
      // Only a relay needs its cryptography.
      const { relayReach } = await import("../../relay/reach.ts");
      reach = await relayReach({
        ...target,
        ...(token === undefined ? {} : { token }),
        timeoutMs,
        tls: readClientTls(options),
      });
    }
    return reach(signal, since);
  };
}

function atUrl(url: string, options: NodeConnectOptions): OpenTransport {
  const relay = relayTargetOf(url);
  return relay === undefined ? webSockets(url, options) : throughRelay(relay, options);
}

function webSockets(url: string, options: NodeConnectOptions): OpenTransport {
  const headers =
    options.token === undefined ? {} : { authorization: `Bearer ${headerToken(options.token)}` };
  const timeoutMs = connectTimeout(options);
  checkClientTls(url, options);
  return async (signal) => connectWebSocket(url, { headers, timeoutMs, signal, tls: readClientTls(options) });
}

import type { IncomingMessage, Server as HttpServer } from "node:http";
import { hostname } from "node:os";
import type { Socket } from "node:net";
import { pathOf } from "./http-refusal.ts";
import { ownHosts } from "./own-hosts.ts";
import { PendingSockets } from "./pending-sockets.ts";
import { refuseRequest } from "./request-rules.ts";
import { TCP_OPTIONS } from "./socket-address.ts";
import type { AdmissionOptions } from "./websocket-server.ts";
import { turnAwayFrom, upgrades } from "./websocket-upgrade.ts";

export interface AttachOptions<Credential = unknown> extends AdmissionOptions<Credential> {
  /** Path of the WebSocket, such as `/exec`. */
  readonly path: string;
}

/** Paths on which WebSockets are served, by HTTP server. */
const attached = new WeakMap<HttpServer, Set<string>>();

export function isAttached(http: HttpServer, path: string): boolean {
  return attached.get(http)?.has(path) === true;
}

/**
 * Serves WebSockets on one path of an existing HTTP server, and leaves everything else alone. Its listen address is
 * unknown, so every address is one of its own hosts. Returns a function that stops this; connections continue.
 */
export function attachWebSocket<Credential>(
  http: HttpServer,
  options: AttachOptions<Credential>,
): () => void {
  const pending = new PendingSockets(options);
  const takeUpgrade = upgrades(options, pending);
  const rules = {
    isOwnHost: ownHosts({ address: undefined, names: [...(options.publicHosts ?? []), hostname()] }),
    allowedOrigins: new Set(options.allowedOrigins),
  };
  const paths = attached.get(http) ?? new Set();
  attached.set(http, paths.add(options.path));
  // Another listener may handle it; without one, the first of ours answers, because otherwise nothing would.
  const isOthers = (path: string): boolean =>
    http.listenerCount("upgrade") > paths.size || paths.has(path) || [...paths][0] !== options.path;
  const upgrade = (request: IncomingMessage, socket: Socket, head: Buffer): void => {
    const isOurs = pathOf(request) === options.path;
    if (!isOurs && isOthers(pathOf(request))) return;
    pending.admit(socket);
    pending.asked(socket);
    socket.on("error", () => socket.destroy());
    socket.setKeepAlive(true, TCP_OPTIONS.keepAliveInitialDelay);
    const refusal = isOurs
      ? refuseRequest(request, rules)
      : ({ cause: "request", status: 404, body: "" } as const);
    if (refusal === undefined) takeUpgrade(request, socket, head);
    else turnAwayFrom(socket, refusal, options, pending);
  };
  http.on("upgrade", upgrade);
  return () => {
    // The path may belong to another listener by now.
    if (!http.listeners("upgrade").includes(upgrade)) return;
    http.off("upgrade", upgrade);
    paths.delete(options.path);
    pending.destroyAll();
  };
}

import type { LookupAddress } from "node:dns";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { type SecureContext, TLSSocket } from "node:tls";
import { type BlockedAnswer, blockedAnswer, NO_SECRET, plainAnswer } from "../blocked.ts";
import type { Destination } from "../destination.ts";
import { type Attempt, type Gatekeeper, attemptOf } from "../gatekeeper.ts";
import {
  forward,
  type Outgoing,
  SERVER_OPTIONS,
  send,
  sendRaw,
  switchProtocol,
  TOO_MANY,
} from "../http-exchange.ts";
import { tunnelledTarget } from "../http-target.ts";
import type { MaskedSecrets } from "../secrets/masked-secrets.ts";
import { IDLE_TIMEOUT_MS } from "../tunnel.ts";
import type { Authority } from "./authority.ts";
import { TunnelAgent } from "./tunnel-agent.ts";

/** Time for a client to begin TLS in a tunnel. */
const HANDSHAKE_TIMEOUT_MS = 30_000;
/** Requests of one tunnel that wait for their turn. */
const MAX_WAITING = 32;

/** What all processes of a server share. */
export interface InspectionMeans {
  readonly authority: Authority;
  /** The authorities that may vouch for upstream servers. */
  readonly trust: SecureContext;
}

export interface InspectorOptions extends InspectionMeans {
  readonly gatekeeper: Gatekeeper;
  /** Requests that change something are refused, so the method of each has to be seen. */
  readonly limited: boolean;
  readonly secrets: MaskedSecrets;
  readonly signal: AbortSignal;
}

interface InspectedTunnel {
  readonly target: Destination;
  /** The process's address. */
  readonly client: Socket;
  readonly agent: TunnelAgent;
  waiting: number;
}

/** Ends TLS inside tunnels of one process, and passes their requests on over TLS of its own. */
export class Inspector {
  readonly #options: InspectorOptions;
  readonly #server: Server;
  readonly #tunnels = new WeakMap<Socket, InspectedTunnel>();

  constructor(options: InspectorOptions) {
    this.#options = options;
    this.#server = this.#createServer();
  }

  /** Whether a tunnel to this destination has to be looked into. All others stay opaque. */
  inspects({ host, port }: Destination): boolean {
    const { limited, secrets } = this.#options;
    return limited || secrets.isForHost({ scheme: "https", host, port });
  }

  /** Takes a connection over whose client believes that it is a tunnel. `head` are the first bytes that it has sent. */
  take(socket: Socket, head: Buffer, target: Destination, addresses: readonly LookupAddress[]): void {
    const { authority, trust, signal } = this.#options;
    // Before TLS reads from the connection.
    if (head.length > 0) socket.unshift(head);
    const secure = new TLSSocket(socket, {
      isServer: true,
      secureContext: authority.contextFor(target.host),
      ALPNProtocols: ["http/1.1"],
    });
    const agent = new TunnelAgent({ target, addresses, trust, signal });
    this.#tunnels.set(secure, { target, client: socket, agent, waiting: 0 });
    const timer = setTimeout(() => secure.destroy(), HANDSHAKE_TIMEOUT_MS).unref();
    // Before the proxy destroys the socket that it wraps: in the other order, Node 20 reads from freed memory.
    const end = (): void => void secure.destroy();
    signal.addEventListener("abort", end, { once: true });
    secure.on("error", end);
    secure.once("secure", () => {
      clearTimeout(timer);
      this.#server.emit("connection", secure);
    });
    secure.once("close", () => {
      clearTimeout(timer);
      signal.removeEventListener("abort", end);
      agent.destroy();
      socket.destroy();
    });
    socket.once("close", end);
  }

  #createServer(): Server {
    const server = createServer(SERVER_OPTIONS);
    server.timeout = IDLE_TIMEOUT_MS;
    const take = (request: IncomingMessage, response: ServerResponse): void => {
      void this.#exchange(request, response);
    };
    server.on("request", take);
    server.on("checkContinue", take);
    server.on("connect", (_request: IncomingMessage, socket: Socket) => {
      sendRaw(socket, plainAnswer(405, "CONNECT is not possible inside a tunnel"));
    });
    // Without a listener, Node treats these as ordinary requests and drops the header.
    if (!this.#options.limited)
      server.on("upgrade", (request: IncomingMessage, socket: Socket, head: Buffer) => {
        void this.#upgrade(request, socket, head);
      });
    return server;
  }

  async #exchange(request: IncomingMessage, response: ServerResponse): Promise<void> {
    request.on("error", () => {});
    response.on("error", () => {});
    const tunnel = this.#tunnels.get(request.socket);
    if (tunnel === undefined) return void response.destroy();
    if (tunnel.waiting >= MAX_WAITING) return send(response, TOO_MANY);
    tunnel.waiting += 1;
    await this.#refreshed(tunnel);
    const outgoing = this.#outgoing(request, tunnel);
    if ("status" in outgoing) send(response, outgoing);
    else await forward(request, response, outgoing);
    tunnel.waiting -= 1;
  }

  async #upgrade(request: IncomingMessage, socket: Socket, head: Buffer): Promise<void> {
    socket.on("error", () => socket.destroy());
    const tunnel = this.#tunnels.get(socket);
    if (tunnel === undefined) return void socket.destroy();
    await this.#refreshed(tunnel);
    const outgoing = this.#outgoing(request, tunnel);
    const refused =
      "status" in outgoing
        ? outgoing
        : request.headers["content-length"] !== undefined
          ? plainAnswer(400, "an upgrade with a body is not supported")
          : await switchProtocol(request, socket, head, outgoing);
    if (refused !== undefined) sendRaw(socket, refused);
  }

  /** Undefined if no secret has to be read again: most requests do not wait a turn. */
  #refreshed({ target }: InspectedTunnel): Promise<unknown> | undefined {
    return this.#options.secrets.refresh({ scheme: "https", ...target });
  }

  /** The request as it goes out, with secrets; or why it does not. */
  #outgoing(
    request: IncomingMessage,
    { target: place, client, agent }: InspectedTunnel,
  ): Outgoing | BlockedAnswer {
    const { gatekeeper, secrets } = this.#options;
    const coding = request.headers["transfer-encoding"];
    if (coding !== undefined && coding.toLowerCase() !== "chunked")
      return plainAnswer(501, "unsupported transfer coding");
    const target = tunnelledTarget(request, place);
    if (typeof target === "string") return plainAnswer(400, target);
    const attempt: Attempt = attemptOf("https_connect", place, client, request.method);
    const refused = gatekeeper.refuseMethod(attempt);
    if (refused !== undefined) return blockedAnswer(refused, "text");
    const swapped = secrets.outgoing({ scheme: "https", ...target }, request.rawHeaders);
    if (swapped === "misdirected") return blockedAnswer(gatekeeper.refuseStandIn(attempt), "text");
    if (swapped === "unavailable") return NO_SECRET;
    return { target, headers: swapped.headers, restoring: secrets.restoring, connection: agent };
  }
}

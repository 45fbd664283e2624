import type { IncomingMessage } from "node:http";
import type { Socket } from "node:net";
import { type WebSocket, WebSocketServer } from "ws";
import { formatRefusal, refuseUpgrade } from "../../transport/websocket/http-refusal.ts";
import type { PendingSockets } from "../../transport/websocket/pending-sockets.ts";
import { CLOSING } from "../../transport/websocket/websocket.ts";
import { addressOf } from "../../transport/websocket/socket-address.ts";
import type { Admission } from "./admissions.ts";
import type { Client } from "./client.ts";
import type { Environment } from "./environment.ts";
import type { Environments } from "./environments.ts";
import { LIMITS } from "./limits.ts";
import { PingedSocket } from "./pinged-socket.ts";
import type { RelayMetrics } from "./relay-metrics.ts";

const PATH = /^\/rendezvous\/(executor|client)\/([\w-]{1,64})\/([\w-]{1,64})$/;

export interface RendezvousOptions {
  readonly environments: Environments;
  readonly pending: PendingSockets;
  readonly metrics: RelayMetrics;
  readonly isDraining: () => boolean;
}

/** The path at which an executor, or a client, opens its WebSocket. */
export function rendezvousPath(kind: "executor" | "client", registrationId: string, secret: string): string {
  return `/rendezvous/${kind}/${registrationId}/${secret}`;
}

/** Where the WebSockets of executors and clients meet. */
export class Rendezvous {
  readonly #options: RendezvousOptions;
  readonly #executors = socketsWith(LIMITS.maxExecutorFrameBytes);
  readonly #clients = socketsWith(LIMITS.maxClientFrameBytes);
  readonly #memoryWatch = setInterval(() => this.#boundMemory(), LIMITS.memoryWatchMs).unref();

  constructor(options: RendezvousOptions) {
    this.#options = options;
    for (const server of [this.#executors, this.#clients])
      server.on("wsClientError", (_error, socket) => this.#turnAway(socket as Socket, 400));
  }

  /** Takes a request for a WebSocket, whose origin has been checked. */
  upgrade(path: string, request: IncomingMessage, socket: Socket, head: Buffer): void {
    const { environments, isDraining } = this.#options;
    const [, kind, registrationId = "", secret = ""] = PATH.exec(path) ?? [];
    const environment = environments.registered(registrationId);
    const malformed = refuseUpgrade(request);
    if (malformed !== undefined) this.#turnAway(socket, malformed.status);
    else if (environment === undefined) this.#turnAway(socket, 404);
    else if (kind === "executor") {
      if (!environment.isExecutorSecret(secret)) this.#turnAway(socket, 404);
      else if (isDraining() || !(environment.isOnline || environments.hasRoomFor(environment.token)))
        this.#turnAway(socket, 503);
      else
        this.#executors.handleUpgrade(request, socket, head, (webSocket) =>
          this.#serveExecutor(environment, webSocket, socket),
        );
    } else if (isDraining()) this.#turnAway(socket, 503);
    else {
      const admission = environment.use(secret, performance.now());
      if (admission === undefined) this.#turnAway(socket, 404);
      else
        this.#clients.handleUpgrade(request, socket, head, (webSocket) =>
          this.#serveClient(environment, admission, webSocket, socket),
        );
    }
  }

  destroy(): void {
    clearInterval(this.#memoryWatch);
    for (const { clients } of [this.#executors, this.#clients])
      for (const webSocket of clients) webSocket.terminate();
  }

  #turnAway(socket: Socket, status: number): void {
    this.#options.metrics.refused(String(status));
    this.#options.pending.turnAway(socket, formatRefusal({ status, body: "" }));
  }

  #serveExecutor(environment: Environment, webSocket: WebSocket, socket: Socket): void {
    const { metrics, pending } = this.#options;
    pending.release(socket);
    const executor = new PingedSocket(webSocket, {
      frame: (bytes) => {
        metrics.received(bytes.length);
        environment.receiveFromExecutor(bytes, performance.now());
      },
      closed: () => environment.loseExecutor(executor, performance.now()),
      drained: () => environment.drained(),
    });
    environment.setExecutor(executor, addressOf(socket));
  }

  #serveClient(environment: Environment, admission: Admission, webSocket: WebSocket, socket: Socket): void {
    const { metrics, pending } = this.#options;
    pending.release(socket);
    const client: Client = environment.connect(
      admission,
      new PingedSocket(webSocket, {
        frame: (bytes) => {
          metrics.received(bytes.length);
          environment.receiveFromClient(client, bytes);
        },
        closed: () => environment.loseClient(client),
        drained: () => environment.clientTook(client),
      }),
    );
  }

  /** Many clients that do not read must not take all memory together. */
  #boundMemory(): void {
    const sockets = [...this.#options.environments].flatMap(({ clients }) =>
      [...clients].map(({ socket }) => socket),
    );
    let bytes = sockets.reduce((sum, { queuedBytes }) => sum + queuedBytes, 0);
    if (bytes <= LIMITS.maxTotalQueuedBytes) return;
    for (const socket of sockets.sort((left, right) => right.queuedBytes - left.queuedBytes)) {
      if (bytes <= LIMITS.maxTotalQueuedBytes) return;
      bytes -= socket.queuedBytes;
      socket.close(1008, "the client does not read, and the relay needs its memory");
    }
  }
}

function socketsWith(maxPayload: number): WebSocketServer {
  return new WebSocketServer({ noServer: true, perMessageDeflate: false, maxPayload, ...CLOSING });
}

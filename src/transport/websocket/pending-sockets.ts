import type { Socket } from "node:net";
import { formatDuration } from "../../base/duration.ts";
import { addressOf } from "./socket-address.ts";

/** Time a stranger has to become a connection, or to send a request. */
export const HANDSHAKE_TIMEOUT_MS = 10_000;
export const MAX_PENDING_CONNECTIONS = 1024;
/** Time a refused peer has to read the reason. */
const LINGER_MS = 1_000;

export interface PendingOptions {
  readonly maxPendingConnections?: number | undefined;
  readonly handshakeTimeoutMs?: number | undefined;
  /**
   * Called for a socket that ends before its first request is complete, and with no address for one that could not be
   * accepted. The reason contains nothing that the peer sent. A peer that sends nothing is not reported: probes connect
   * like that, and browsers do in advance.
   */
  readonly failed?: ((reason: string, from: string | undefined) => void) | undefined;
}

interface Pending {
  timer: NodeJS.Timeout;
  readonly from: string;
  /** It has sent a request, or its end is reported elsewhere. */
  hasAsked: boolean;
  /** Why it is destroyed. */
  fault?: string;
}

/**
 * Sockets that are not connections: those that have not sent enough yet, and those that were refused. Each has a
 * deadline, after which it is destroyed. If there are too many, the oldest is closed: well-behaved clients leave within
 * milliseconds.
 */
export class PendingSockets {
  readonly #max: number;
  readonly #timeoutMs: number;
  /** Oldest first. */
  readonly #pending = new Map<Socket, Pending>();
  /** A socket may be admitted again after each request. */
  readonly #watched = new WeakSet<Socket>();
  readonly #failed: PendingOptions["failed"];

  constructor({
    maxPendingConnections = MAX_PENDING_CONNECTIONS,
    handshakeTimeoutMs = HANDSHAKE_TIMEOUT_MS,
    failed,
  }: PendingOptions) {
    this.#failed = failed;
    this.#max = maxPendingConnections;
    this.#timeoutMs = handshakeTimeoutMs;
  }

  get size(): number {
    return this.#pending.size;
  }

  admit(socket: Socket): void {
    if (this.#pending.size >= this.#max)
      for (const [oldest, pending] of this.#pending) {
        pending.fault = "too many sockets had not sent a complete request";
        this.#ended(oldest, pending);
        oldest.destroy();
        break;
      }
    const pending: Pending = {
      timer: this.#start(socket, this.#timeoutMs),
      from: addressOf(socket),
      hasAsked: false,
    };
    this.#pending.set(socket, pending);
    if (this.#watched.has(socket)) return;
    this.#watched.add(socket);
    socket.once("close", () => {
      const last = this.#pending.get(socket);
      if (last !== undefined) this.#ended(socket, last);
    });
  }

  /** Marks that it has sent a request, or that the caller reports how it ends. */
  asked(socket: Socket): void {
    const pending = this.#pending.get(socket);
    if (pending !== undefined) pending.hasAsked = true;
  }

  /** Sets a new deadline for its next step, after an answer. */
  renew(socket: Socket, timeoutMs: number = this.#timeoutMs): void {
    const pending = this.#pending.get(socket);
    if (pending === undefined) return;
    clearTimeout(pending.timer);
    pending.timer = this.#start(socket, Math.min(timeoutMs, this.#timeoutMs));
  }

  /** Replaces it with the encrypted socket after its TLS handshake, with a new deadline. */
  replace(plain: Socket, secure: Socket): void {
    this.release(plain);
    this.admit(secure);
  }

  /** Sends it a last text. */
  turnAway(socket: Socket, text: string): void {
    this.renew(socket, LINGER_MS);
    // Unread bytes would turn the end into a reset, and the peer could lose the answer.
    socket.resume();
    socket.end(text);
  }

  /** Forgets a socket that has become a connection, which is counted elsewhere, or has ended. */
  release(socket: Socket): void {
    clearTimeout(this.#pending.get(socket)?.timer);
    this.#pending.delete(socket);
  }

  destroyAll(): void {
    for (const [socket, pending] of this.#pending) {
      pending.hasAsked = true;
      socket.destroy();
    }
  }

  #start(socket: Socket, timeoutMs: number): NodeJS.Timeout {
    return setTimeout(() => {
      const pending = this.#pending.get(socket);
      if (pending !== undefined) pending.fault = `no complete request within ${formatDuration(timeoutMs)}`;
      socket.destroy();
    }, timeoutMs);
  }

  #ended(socket: Socket, { hasAsked, fault, from }: Pending): void {
    this.release(socket);
    if (!hasAsked && socket.bytesRead > 0) this.#failed?.(fault ?? faultOf(socket), from);
  }
}

function faultOf({ errored }: Socket): string {
  const { code } = (errored ?? {}) as NodeJS.ErrnoException;
  if (code === undefined || code === "HPE_INVALID_EOF_STATE")
    return "the peer closed it before its request was complete";
  return code.startsWith("HPE_") ? `not an HTTP request (${code})` : `it was lost (${code})`;
}

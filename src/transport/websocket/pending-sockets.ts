import type { Socket } from "node:net";

/** Time a stranger has to become a connection, or to send a request. */
export const HANDSHAKE_TIMEOUT_MS = 10_000;
export const MAX_PENDING_CONNECTIONS = 1024;
/** Time a refused peer has to read the reason. */
const LINGER_MS = 1_000;

export interface PendingLimits {
  readonly maxPendingConnections?: number | undefined;
  readonly handshakeTimeoutMs?: number | undefined;
}

/**
 * Sockets that are not connections: those that have not sent enough yet, and those that were refused. Each has a
 * deadline, after which it is destroyed whatever it does. If there are too many, the oldest is closed: a well-behaved
 * stranger leaves within milliseconds.
 */
export class PendingSockets {
  readonly #max: number;
  readonly #timeoutMs: number;
  /** Oldest first. */
  readonly #deadlines = new Map<Socket, NodeJS.Timeout>();

  constructor({
    maxPendingConnections = MAX_PENDING_CONNECTIONS,
    handshakeTimeoutMs = HANDSHAKE_TIMEOUT_MS,
  }: PendingLimits) {
    this.#max = maxPendingConnections;
    this.#timeoutMs = handshakeTimeoutMs;
  }

  get size(): number {
    return this.#deadlines.size;
  }

  admit(socket: Socket): void {
    if (this.#deadlines.size >= this.#max)
      for (const oldest of this.#deadlines.keys()) {
        this.#remove(oldest);
        oldest.destroy();
        break;
      }
    this.#deadlines.set(socket, this.#start(socket, this.#timeoutMs));
    socket.once("close", () => this.#remove(socket));
  }

  /** It has got an answer: a new deadline for its next step. */
  renew(socket: Socket, timeoutMs: number = this.#timeoutMs): void {
    const timer = this.#deadlines.get(socket);
    if (timer === undefined) return;
    clearTimeout(timer);
    this.#deadlines.set(socket, this.#start(socket, Math.min(timeoutMs, this.#timeoutMs)));
  }

  /** Its TLS handshake is over: from now on, the encrypted socket stands for it, with a new deadline. */
  replace(plain: Socket, secure: Socket): void {
    this.#remove(plain);
    this.admit(secure);
  }

  /** Sends it a last text. */
  turnAway(socket: Socket, text: string): void {
    this.renew(socket, LINGER_MS);
    // Unread bytes would turn the end into a reset, and the peer could lose the answer.
    socket.resume();
    socket.end(text);
  }

  /** It has become a connection, which is counted elsewhere. */
  release(socket: Socket): void {
    this.#remove(socket);
  }

  destroyAll(): void {
    for (const socket of this.#deadlines.keys()) socket.destroy();
  }

  #start(socket: Socket, timeoutMs: number): NodeJS.Timeout {
    return setTimeout(() => socket.destroy(), timeoutMs);
  }

  #remove(socket: Socket): void {
    clearTimeout(this.#deadlines.get(socket));
    this.#deadlines.delete(socket);
  }
}

import type { ServerResponse } from "node:http";
import type { Socket } from "node:net";

/** Well-behaved clients do not send more requests before the first is answered. */
const MAX_WAITING = 64;

/**
 * Answers one request per socket at a time. Otherwise thousands of requests sent at once would be answered in one go,
 * and all other clients would have to wait.
 */
export class RequestTurns {
  /** Waiting work of sockets with a request in progress. */
  readonly #waiting = new WeakMap<Socket, (() => void)[]>();

  /** Calls `answer` when the requests before it on this socket are answered. A socket with too many is destroyed. */
  take(socket: Socket, response: ServerResponse, answer: () => void): void {
    const begin = (): void => {
      response.once("close", () => setImmediate(() => this.#next(socket)));
      answer();
    };
    const waiting = this.#waiting.get(socket);
    if (waiting === undefined) {
      this.#waiting.set(socket, []);
      begin();
    } else if (waiting.length < MAX_WAITING) waiting.push(begin);
    else socket.destroy();
  }

  #next(socket: Socket): void {
    const next = socket.destroyed ? undefined : this.#waiting.get(socket)?.shift();
    if (next === undefined) this.#waiting.delete(socket);
    else next();
  }
}

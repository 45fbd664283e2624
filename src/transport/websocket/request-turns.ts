import type { ServerResponse } from "node:http";
import type { Socket } from "node:net";

/** Nobody has a reason to send more requests before the first is answered. */
const MAX_WAITING = 64;

/**
 * Lets each socket have one request answered at a time. Otherwise thousands of requests that were sent at once would
 * be answered in one go, and everybody else would wait for them.
 */
export class RequestTurns {
  /** What waits on sockets that have a request under way. */
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

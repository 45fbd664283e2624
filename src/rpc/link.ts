import type { LifeTimes } from "../base/life-watch.ts";
import type { Farewell } from "../transport/transport.ts";

/**
 * One open channel to a server, below sessions and above transports: requests go in, answers and notifications come
 * out.
 */
export interface Link {
  /** Rejects with the server's RpcError, or with a ConnectionError if no answer will come. */
  request(method: string, params: unknown): Promise<unknown>;
  notify(method: string, params: unknown): void;
  /** After the handshake: ends the link if the server falls silent. For links on which that can happen. */
  expectLife?(times?: LifeTimes): void;
  /** Stops and restarts delivery of answers and notifications, so that back-pressure reaches the server. */
  pause(): void;
  resume(): void;
  /** Sends what is queued, then ends. `farewell` gives the server the reason, if the link can. */
  close(farewell?: Farewell): void;
  /** Ends at once. */
  destroy(reason?: string): void;
}

/** Events of a link. None is emitted synchronously while it is being opened. */
export interface LinkEvents {
  notification(method: string, params: unknown): void;
  /** A request of the server: its answer, or undefined if the method is not served. */
  request?(method: string, params: unknown): Promise<unknown> | undefined;
  /**
   * The end, reported once, after every earlier notification. `reason` is absent if the server closed the link
   * normally.
   */
  closed(reason?: string): void;
}

import type { LifeTimes } from "../base/life-watch.ts";

/**
 * One open way to a server, below sessions and above transports: requests go in, answers and notifications come out. A `Connection` over a
 * transport is one; a server in the same program can give another, which encodes nothing.
 */
export interface Link {
  /** Rejects with an RpcError that the server gave, or a ConnectionError when no answer will come. */
  request(method: string, params: unknown): Promise<unknown>;
  notify(method: string, params: unknown): void;
  /** After the handshake: ends when the server gives no sign of life any more. For links that can go away without a word. */
  expectLife?(times?: LifeTimes): void;
  /** Stops and restarts the delivery of answers and notifications, so that the server's writes wait. */
  pause(): void;
  resume(): void;
  /** Sends what is queued, then ends. */
  close(): void;
  /** Ends at once. */
  destroy(reason?: string): void;
}

/** What a link tells. Nothing is told before `OpenLink` has returned. */
export interface LinkEvents {
  notification(method: string, params: unknown): void;
  /** The end, told once, after every notification that came before it. `reason` is absent when the server simply left. */
  closed(reason?: string): void;
}

export type OpenLink = (events: LinkEvents) => Link;

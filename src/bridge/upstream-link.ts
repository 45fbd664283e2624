import { disconnected } from "../base/errors.ts";
import { shorten } from "../base/shorten.ts";
import {
  formatNotification,
  formatRequest,
  MalformedMessageError,
  type Message,
} from "../protocol/envelope.ts";
import { isTransportClosed } from "../rpc/error-wire.ts";
import type { Link } from "../rpc/link.ts";
import { PendingRequests } from "../rpc/pending-requests.ts";
import type { LongMessage, Transport } from "../transport/transport.ts";
import { RelayedMessage } from "./relayed-message.ts";

/** Events of a link for the bridge. */
export interface UpstreamEvents {
  /** A message for the client: anything but answers to the bridge's own requests. The receiver owns its memory. */
  message(message: RelayedMessage): void;
  /** Unsent bytes have drained; see `Transport`. */
  drain(): void;
  closed(reason?: string): void;
}

/**
 * One connection to the server. The client's messages pass unchanged, with the client's ids; the bridge's own requests
 * have ids that clients do not use.
 */
export class UpstreamLink implements Link {
  readonly #transport: Transport;
  readonly #prefix = `bridge-${crypto.randomUUID()}-`;
  /** Requests of the bridge itself. */
  readonly #own = new PendingRequests();
  #nextId = 1;
  #ended = false;
  #endReason: string | undefined;

  constructor(transport: Transport, events: UpstreamEvents) {
    this.#transport = transport;
    const receive = (read: () => RelayedMessage): void => {
      if (this.#ended) return;
      let message: RelayedMessage;
      try {
        message = read();
        const { envelope } = message;
        if (envelope.kind === "error" && isTransportClosed(envelope.error)) {
          message.release();
          this.destroy(envelope.error.message);
          return;
        }
        if (this.#settle(message)) return;
      } catch (error) {
        if (!(error instanceof MalformedMessageError)) throw error;
        this.destroy(`failed to parse ${transport.source}: ${shorten(error.message)}`);
        return;
      }
      events.message(message);
    };
    transport.open({
      message: (text) => receive(() => RelayedMessage.ofText(text)),
      longMessage: (long: LongMessage) => receive(() => RelayedMessage.ofLong(long)),
      drain: () => events.drain(),
      close: (reason) => {
        if (this.#ended) return;
        this.#ended = true;
        this.#endReason = reason;
        this.#own.end(reason);
        events.closed(reason);
      },
    });
  }

  get ended(): boolean {
    return this.#ended;
  }

  get queuedBytes(): number {
    return this.#transport.queuedBytes;
  }

  /** Sends a message of the client. */
  relay(message: RelayedMessage, flushed?: () => void): void {
    message.sendTo(this.#transport, flushed);
  }

  sendText(text: string): void {
    this.#transport.send(text);
  }

  request(method: string, params: unknown): Promise<unknown> {
    if (this.#ended) return Promise.reject(disconnected(this.#endReason));
    const id = JSON.stringify(`${this.#prefix}${this.#nextId}`);
    this.#nextId += 1;
    const text = formatRequest(id, method, params);
    const answer = this.#own.add(id, method, text.length);
    this.#transport.send(text);
    return answer;
  }

  notify(method: string, params: unknown): void {
    this.#transport.send(formatNotification(method, params));
  }

  pause(): void {
    this.#transport.pause();
  }

  resume(): void {
    this.#transport.resume();
  }

  close(): void {
    this.#transport.close();
  }

  destroy(reason?: string): void {
    this.#transport.destroy(reason);
  }

  /** True for an answer to a request of the bridge itself. */
  #settle(message: RelayedMessage): boolean {
    const { envelope } = message;
    if (envelope.kind !== "response" && envelope.kind !== "error") return false;
    if (this.#own.methodOf(envelope.id) === undefined) return false;
    const whole = message.whole() as Extract<Message, { kind: "response" | "error" }>;
    message.release();
    return this.#own.settle(whole);
  }
}

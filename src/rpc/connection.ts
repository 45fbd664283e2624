import { formatDuration } from "../base/duration.ts";
import { disconnected } from "../base/errors.ts";
import { shorten } from "../base/shorten.ts";
import { DEFAULT_LIFE, type LifeTimes, LifeWatch } from "../base/life-watch.ts";
import {
  formatError,
  formatNotification,
  formatResponse,
  type IdText,
  MalformedMessageError,
  type Message,
  parseMessage,
  type WireError,
} from "../protocol/envelope.ts";
import { MALFORMED_MESSAGE_ID } from "../protocol/limits.ts";
import type { Farewell, LongMessage, Transport } from "../transport/transport.ts";
import { parseLongRequest } from "./attachment.ts";
import { encodeRequest } from "./encode-request.ts";
import type { IncomingRequest } from "./incoming-request.ts";
import { PendingRequests } from "./pending-requests.ts";

/** What a connection hands up. Each side decides what it does about a peer that breaks the rules. */
export interface ConnectionHooks {
  /** `bytes` is about what the message takes. */
  request(request: IncomingRequest, bytes: number): void;
  notification(method: string, params: unknown): void;
  /** Text that is no message. `reason` names the source. */
  malformed(reason: string): void;
  /** A message is longer than the transport was told to take; the connection ends after this. */
  tooLong?(): void;
  /** An answer to nothing that was asked. */
  unsolicited(id: IdText): void;
  /** Unsent bytes have drained; see `Transport`. */
  drain(): void;
  closed(reason?: string): void;
}

/** While file work is under way, which can take long, a silence has to last 25 s. */
const FILE_WORK_PATIENCE = 5;

/** One peer: correlates requests with answers, in both directions, and ends once. */
export class Connection {
  readonly #transport: Transport;
  readonly #hooks: ConnectionHooks;
  readonly #pending = new PendingRequests();
  #nextId = 1;
  #receivedMessages = 0;
  #sentCharacters = 0;
  #paused = false;
  #watch: LifeWatch | undefined;
  #endReason: string | undefined;
  #ended = false;

  constructor(transport: Transport, hooks: ConnectionHooks) {
    this.#transport = transport;
    this.#hooks = hooks;
  }

  get ended(): boolean {
    return this.#ended;
  }

  get queuedBytes(): number {
    return this.#transport.queuedBytes;
  }

  /** See `Transport`. */
  get receivedBytes(): number | undefined {
    return this.#transport.receivedBytes;
  }

  /** See `Transport`. False when the carrier has no such question. */
  ping(answered: () => void): boolean {
    this.#transport.ping?.(answered);
    return this.#transport.ping !== undefined;
  }

  open(): void {
    this.#transport.open({
      message: (text) => this.#receive(text),
      longMessage: (message) => this.#receiveLong(message),
      tooLong: () => this.#hooks.tooLong?.(),
      drain: () => this.#hooks.drain(),
      close: (reason) => this.#end(reason),
    });
  }

  /** Rejects with a UsageError what no peer could read, before it is sent. */
  request(method: string, params: unknown): Promise<unknown> {
    if (this.#ended) return Promise.reject(disconnected(this.#endReason));
    const id = String(this.#nextId);
    let text: string;
    try {
      text = encodeRequest(id, method, params);
    } catch (error) {
      return Promise.reject(error);
    }
    this.#nextId += 1;
    this.#sentCharacters += text.length;
    const answer = this.#pending.add(id, method, text.length);
    this.#transport.send(text);
    return answer;
  }

  /** Asks the peer for signs of life, with small requests while nothing else comes, where the transport does not know of its end by itself. */
  expectLife(times: LifeTimes = DEFAULT_LIFE): void {
    if (this.#transport.mayGoSilent !== true || this.#ended) return;
    let asking = false;
    const asked = (): void => {
      asking = false;
    };
    this.#watch = new LifeWatch(
      {
        signs: () => ({
          received: this.#receivedMessages,
          sent: this.#sentCharacters - this.queuedBytes,
          queued: this.queuedBytes,
        }),
        isReading: () => !this.#paused,
        // Servers do the work of files in its order, and answer nothing that came behind it.
        patience: () => (this.#pending.some((method) => method.startsWith("fs/")) ? FILE_WORK_PATIENCE : 1),
        ask: () => {
          if (asking) return;
          asking = true;
          this.request("environment/status", {}).then(asked, asked);
        },
        lost: () => this.destroy(`the server has been silent for ${formatDuration(times.silenceMs)}`),
      },
      times,
    );
  }

  notify(method: string, params: unknown): void {
    this.#transport.send(formatNotification(method, params));
  }

  /** Sends a notification that is already text, together with others of this turn of the event loop. `flushed` gives the bytes back to their owner. */
  sendEncoded(message: string | Uint8Array, flushed?: () => void): void {
    this.#transport.sendLazily(message, flushed);
  }

  respond(id: IdText, resultJson: string): void {
    this.#transport.send(formatResponse(id, resultJson));
  }

  /** The same for an answer that took its time: a little more, to go out together with others, does not matter. */
  respondLazily(id: IdText, resultJson: string): void {
    this.#transport.sendLazily(formatResponse(id, resultJson));
  }

  /** `parts` are JSON, encoded and cut anywhere. `flushed` gives them back to their owner. */
  respondInParts(id: IdText, parts: readonly Uint8Array[], flushed?: () => void): void {
    const encoder = new TextEncoder();
    const head = encoder.encode(`{"id":${id},"result":`);
    this.#transport.sendParts([head, ...parts, encoder.encode("}")], flushed);
  }

  fail(id: IdText, error: WireError): void {
    this.#transport.send(formatError(id, error));
  }

  /** Answers a message whose id could not be read. */
  failMalformed(error: WireError): void {
    this.fail(String(MALFORMED_MESSAGE_ID), error);
  }

  pause(): void {
    this.#paused = true;
    this.#transport.pause();
  }

  resume(): void {
    this.#paused = false;
    this.#transport.resume();
  }

  close(farewell?: Farewell): void {
    this.#transport.close(farewell);
  }

  destroy(reason?: string): void {
    this.#transport.destroy(reason);
  }

  #receive(text: string): void {
    // A transport may hold messages it has already read when it is destroyed.
    if (this.#ended) return;
    let message: Message;
    try {
      message = parseMessage(text);
    } catch (error) {
      if (!(error instanceof MalformedMessageError)) throw error;
      this.#hooks.malformed(`failed to parse ${this.#transport.source}: ${shorten(error.message)}`);
      return;
    }
    this.#take(message, text.length);
  }

  #receiveLong(long: LongMessage): void {
    if (this.#ended) return;
    const request = parseLongRequest(long);
    if (request !== undefined) {
      this.#receivedMessages += 1;
      this.#hooks.request(request, long.value.length);
      return;
    }
    const text = long.text();
    long.release();
    this.#receive(text);
  }

  #take(message: Message, bytes: number): void {
    this.#receivedMessages += 1;
    switch (message.kind) {
      case "request":
        this.#hooks.request(message, bytes);
        break;
      case "notification":
        this.#hooks.notification(message.method, message.params);
        break;
      case "response":
      case "error":
        this.#settle(message);
        break;
    }
  }

  #settle(message: Extract<Message, { kind: "response" | "error" }>): void {
    if (this.#pending.settle(message)) return;
    const isUnread = message.kind === "error" && message.id === String(MALFORMED_MESSAGE_ID);
    if (!isUnread || !this.#pending.unread(message.error)) this.#hooks.unsolicited(message.id);
  }

  #end(reason: string | undefined): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#endReason = reason;
    this.#watch?.stop();
    this.#pending.end(reason);
    this.#hooks.closed(reason);
  }
}

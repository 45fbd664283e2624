import { abortable } from "../base/deadlines.ts";
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
import { RpcCode } from "../protocol/errors.ts";
import { MALFORMED_MESSAGE_ID } from "../protocol/wire-limits.ts";
import type { Farewell, LongMessage, Transport } from "../transport/transport.ts";
import { parseLongAnswer, parseLongRequest, idOfTooLongText } from "./attachment.ts";
import { encodeRequest } from "./encode-request.ts";
import { isTransportClosed } from "./error-wire.ts";
import type { IncomingRequest } from "./incoming-request.ts";
import { encodeLongRequest } from "./long-request.ts";
import { isTooMuchText, TOO_MUCH_TEXT } from "./request-text.ts";
import { PendingRequests, type UnreadableMessage } from "./pending-requests.ts";

/** Events of a connection. Each side decides how to treat a peer that violates the protocol. */
export interface ConnectionHooks {
  /** `bytes` is the approximate size of the message. */
  request(request: IncomingRequest, bytes: number): void;
  notification(method: string, params: unknown): void;
  /** Text that is not a message. `reason` names the source. */
  malformed(reason: string): void;
  /** A message exceeds the transport's limit; the connection ends after this. */
  tooLong?(): void;
  /** A response to a request that was not sent. */
  unsolicited(id: IdText): void;
  /** Unsent bytes have drained; see `Transport`. */
  drain(): void;
  /** See `TransportEvents.close`. */
  closed(reason?: string, code?: number): void;
}

/** Factor for pending file work, which can take long: silence must then last 25 s. */
const FILE_WORK_PATIENCE = 5;

/** One peer: correlates requests and responses in both directions, and ends once. */
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
  /** The last message before the end that could not be read. */
  #unreadable: UnreadableMessage | undefined;
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

  get sentBytes(): number | undefined {
    return this.#transport.sentBytes;
  }

  /** See `Transport`. False if the transport has no ping. */
  ping(answered: () => void): boolean {
    this.#transport.ping?.(answered);
    return this.#transport.ping !== undefined;
  }

  open(): void {
    this.#transport.open({
      message: (text) => this.#receive(text),
      longMessage: (message) => this.#receiveLong(message),
      tooLong: () => {
        this.#unreadable = { answerTo: undefined };
        this.#hooks.tooLong?.();
      },
      drain: () => this.#hooks.drain(),
      close: (reason, code) => this.#end(reason, code),
    });
  }

  /**
   * Rejects with a UsageError, before sending, if no peer could parse the request. If the signal is aborted, the answer
   * is not waited for, and a late one is ignored.
   */
  request(method: string, params: unknown, signal?: AbortSignal): Promise<unknown> {
    if (this.#ended) return Promise.reject(disconnected(this.#endReason));
    const id = String(this.#nextId);
    let message: string | Uint8Array;
    let release: (() => void) | undefined;
    try {
      const long = encodeLongRequest(id, method, params);
      message = long?.message ?? encodeRequest(id, method, params);
      release = long?.release;
    } catch (error) {
      return Promise.reject(error);
    }
    this.#nextId += 1;
    this.#sentCharacters += message.length;
    const answer = this.#pending.add(id, method, message.length);
    this.#transport.send(message, release);
    return signal === undefined ? answer : abortable(answer, signal).finally(() => this.#pending.giveUp(id));
  }

  /** True if a request with this id has been sent, answered or not. */
  hasSent(id: IdText): boolean {
    return /^[1-9]\d{0,15}$/.test(id) && Number(id) < this.#nextId;
  }

  /** Detects a silent peer, on transports that cannot, by sending small requests while nothing else arrives. */
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
        // Servers run file work in order and answer nothing queued behind it.
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

  /**
   * Queues an encoded notification, to be sent with others of this turn of the event loop. `flushed` is called when its
   * memory can be reused.
   */
  sendEncoded(message: string | Uint8Array, flushed?: () => void): void {
    this.#transport.sendLazily(message, flushed);
  }

  sendResult(id: IdText, resultJson: string): void {
    this.#transport.send(formatResponse(id, resultJson));
  }

  /** Like `respond`, for an answer that is not urgent: it may wait to be sent together with others. */
  sendResultLazily(id: IdText, resultJson: string): void {
    this.#transport.sendLazily(formatResponse(id, resultJson));
  }

  /** `parts` are encoded JSON, split anywhere. `flushed` returns them to their owner. */
  sendResultInParts(id: IdText, parts: readonly Uint8Array[], flushed?: () => void): void {
    const encoder = new TextEncoder();
    const head = encoder.encode(`{"id":${id},"result":`);
    this.#transport.sendParts([head, ...parts, encoder.encode("}")], flushed);
  }

  fail(id: IdText, error: WireError): void {
    this.#transport.send(formatError(id, error));
  }

  /** Answers a message whose id could not be parsed. */
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
    // A destroyed transport may still deliver messages it has already read.
    if (this.#ended) return;
    let message: Message;
    try {
      message = parseMessage(text);
    } catch (error) {
      if (!(error instanceof MalformedMessageError)) throw error;
      this.#unreadable = { answerTo: answeredIn(text) };
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
    const refused = idOfTooLongText(long);
    if (refused !== undefined) {
      long.release();
      this.#receivedMessages += 1;
      this.#refuse(refused);
      return;
    }
    const answer = parseLongAnswer(long, (id) => this.#pending.methodOf(id));
    if (answer !== undefined) {
      this.#take(answer, long.value.length);
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
        if (isTooMuchText(message.params, bytes)) this.#refuse(message.id);
        else this.#hooks.request(message, bytes);
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

  #refuse(id: IdText): void {
    this.fail(id, { code: RpcCode.invalidParams, message: TOO_MUCH_TEXT });
  }

  #settle(message: Extract<Message, { kind: "response" | "error" }>): void {
    if (message.kind === "error" && isTransportClosed(message.error) && this.hasSent(message.id)) {
      // The answer is lost, and so is everything else that is pending.
      this.destroy(message.error.message);
      return;
    }
    if (this.#pending.settle(message)) return;
    const isUnread = message.kind === "error" && message.id === String(MALFORMED_MESSAGE_ID);
    if (!isUnread || !this.#pending.unread(message.error)) this.#hooks.unsolicited(message.id);
  }

  #end(reason: string | undefined, code: number | undefined): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#endReason = reason;
    this.#watch?.stop();
    this.#pending.end(reason, this.#unreadable);
    this.#hooks.closed(reason, code);
  }
}

/** The id in an answer that begins as answers do. */
function answeredIn(text: string): IdText | undefined {
  return /^\{\s*"id"\s*:\s*(\d{1,16})\s*,\s*"(?:result|error)"/.exec(text)?.[1];
}

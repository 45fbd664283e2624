import { createDeferred, type Deferred } from "../base/deferred.ts";
import { after } from "../base/duration.ts";
import { disconnected, ProtocolError } from "../base/errors.ts";
import type { IdText, Message, WireError } from "../protocol/envelope.ts";
import { fromWire } from "./error-wire.ts";

/** Time that requests, one of which the server could not parse, still have to be answered. */
const SUSPICION_MS = 1_000;
/**
 * Number of given-up requests whose late answers are tolerated. Beyond it the oldest are forgotten, and their answers
 * count as unsolicited.
 */
const MAX_GIVEN_UP = 1_024;

/** A message of the peer that could not be read. */
export interface UnreadableMessage {
  /** The request that it answers, if that much could be read. Otherwise it may be the answer to any. */
  readonly answerTo: IdText | undefined;
}

interface Pending {
  readonly method: string;
  readonly answer: Deferred<unknown>;
  /** Length of the sent text in characters. */
  readonly length: number;
}

/** Requests that wait for their answers. */
export class PendingRequests {
  readonly #pending = new Map<IdText, Pending>();
  /** Candidates for the `#unread` requests that the peer could not parse. */
  readonly #suspects = new Map<IdText, ProtocolError>();
  /** Requests whose late answers are not unsolicited. */
  readonly #givenUp = new Set<IdText>();
  #unread = 0;
  #cancelTimer = (): void => {};

  add(id: IdText, method: string, length: number): Promise<unknown> {
    const answer = createDeferred<unknown>();
    this.#pending.set(id, { method, answer, length });
    return answer.promise;
  }

  /** Undefined if no request with this id is pending. */
  methodOf(id: IdText): string | undefined {
    return this.#pending.get(id)?.method;
  }

  /** True if a request with a matching method is pending. */
  some(matches: (method: string) => boolean): boolean {
    for (const { method } of this.#pending.values()) if (matches(method)) return true;
    return false;
  }

  /** False if no request has this id. */
  settle(message: Extract<Message, { kind: "response" | "error" }>): boolean {
    const pending = this.#pending.get(message.id);
    if (pending === undefined) return this.#givenUp.delete(message.id);
    this.#pending.delete(message.id);
    if (message.kind === "response") pending.answer.resolve(message.result);
    else pending.answer.reject(fromWire(message.error));
    if (this.#suspects.delete(message.id)) this.#scheduleRejection();
    return true;
  }

  /** Forgets an abandoned request, if it is still pending. */
  giveUp(id: IdText): void {
    if (!this.#pending.delete(id)) return;
    this.#suspects.delete(id);
    this.#tolerate(id);
  }

  /**
   * The peer could not parse a request and therefore cannot name it. Rejects the pending request if only one qualifies;
   * otherwise rejects those that are not answered soon. False if none is pending.
   */
  unread(error: WireError): boolean {
    if (this.#pending.size === 0) return false;
    const ids = [...this.#pending.keys()];
    const limit = messageLimit(error);
    const long = ids.filter((id) => this.#pending.get(id)!.length * 3 > limit);
    for (const id of long.length > 0 ? long : ids)
      this.#suspects.set(
        id,
        new ProtocolError(`the server could not read a request: ${error.message}`, {
          cause: fromWire(error),
        }),
      );
    this.#unread += 1;
    this.#scheduleRejection();
    return true;
  }

  /** If the connection ended because of an unreadable message, that is the cause for the requests it may answer. */
  end(reason: string | undefined, unreadable?: UnreadableMessage): void {
    this.#rejectSuspects();
    for (const [id, { method, answer }] of this.#pending) {
      const isUnread = unreadable !== undefined && (unreadable.answerTo ?? id) === id;
      const cause = isUnread
        ? new ProtocolError(`the answer to ${method} cannot be read: ${reason ?? "it is too long"}`)
        : undefined;
      answer.reject(disconnected(reason, cause));
    }
    this.#pending.clear();
  }

  #scheduleRejection(): void {
    this.#cancelTimer();
    if (this.#suspects.size <= this.#unread) this.#rejectSuspects();
    else this.#cancelTimer = after(SUSPICION_MS, () => this.#rejectSuspects());
  }

  #rejectSuspects(): void {
    this.#cancelTimer();
    this.#unread = 0;
    for (const [id, error] of this.#suspects) {
      this.#pending.get(id)?.answer.reject(error);
      this.#pending.delete(id);
      this.#tolerate(id);
    }
    this.#suspects.clear();
  }

  #tolerate(id: IdText): void {
    this.#givenUp.add(id);
    for (const oldest of this.#givenUp) if (this.#givenUp.size > MAX_GIVEN_UP) this.#givenUp.delete(oldest);
  }
}

/** A server with a lower message limit than the protocol's reports it. */
function messageLimit({ data }: WireError): number {
  const { limit, value } = (data ?? {}) as { limit?: unknown; value?: unknown };
  return limit === "maxMessageBytes" && typeof value === "number" ? value : 0;
}

import { shorten } from "../base/shorten.ts";
import { formatError, type IdText, type WireError } from "../protocol/envelope.ts";
import { RpcCode } from "../protocol/errors.ts";
import { lostAnswer } from "../client/calls/method-facts.ts";
import type { LostAnswer } from "../protocol/index.ts";
import type { RelayedMessage } from "./relayed-message.ts";
import type { UpstreamLink } from "./upstream-link.ts";

/** Limits of what the client may leave unanswered before it is no longer read. One message may exceed them. */
const MAX_UNANSWERED = 4_096;
const MAX_UNANSWERED_BYTES = 64 * 1024 * 1024;
/** The same for what waits for a connection. */
const MAX_WAITING_BYTES = 1024 * 1024;
/** A connection that ends this soon after a call was sent may have ended because of it. */
const SUDDEN_MS = 250;
/** How often in a row that may happen before a call is not sent again. */
const MAX_SUDDEN_ENDS = 8;
const MAX_NAME_CHARACTERS = 100;

/**
 * Repeated by the bridge, because it understands the answer: until `initialize` is answered there is no session, a
 * process has an id by which a repeated start is recognized, and what a repeated remove does not find is gone.
 */
const REPEATED: ReadonlySet<string> = new Set(["initialize", "process/start", "fs/remove"]);
/** A request of the client, or a notification, which has no id. */
export interface ClientCall {
  readonly id: IdText | undefined;
  readonly method: string;
  /** Kept until it is certain that it is not sent again. */
  readonly message: RelayedMessage;
  readonly fate: LostAnswer;
  /** It was sent on an earlier connection, and may have been carried out. */
  repeated: boolean;
  /** How many connections in a row ended right after it was sent. */
  suddenEnds: number;
  /**
   * Learns from the answer. May return another one for the client, or `held` if that needs more time: the call then
   * stays unanswered until `again` or `finish`.
   */
  readonly answered?: (answer: RelayedMessage, call: ClientCall) => RelayedMessage | "held" | undefined;
  /** The answer was lost, and the client gets an error. */
  readonly failed?: () => void;
}

/**
 * What the client has sent and the server has not answered. After a lost connection, everything idempotent is sent
 * again, in the same order; the rest is answered with an error.
 */
export class ClientCalls {
  readonly #answer: (text: string) => void;
  /** In sending order, with the time. */
  readonly #sent = new Map<ClientCall, number>();
  /** Those by comparable id. A client may use an id again before the answer. */
  readonly #byId = new Map<string, ClientCall[]>();
  #waiting: ClientCall[] = [];
  #waitingBytes = 0;
  #unansweredBytes = 0;
  #link: UpstreamLink | undefined;
  #allAnswered: (() => void) | undefined;

  /** `answer` sends text to the client. */
  constructor(answer: (text: string) => void) {
    this.#answer = answer;
  }

  /** True if the client should not be read. */
  get isFull(): boolean {
    return (
      this.#waitingBytes >= MAX_WAITING_BYTES ||
      this.#unansweredBytes >= MAX_UNANSWERED_BYTES ||
      this.#sent.size + this.#waiting.length >= MAX_UNANSWERED
    );
  }

  /** Resolves when everything has been answered. */
  answered(): Promise<void> {
    return new Promise((resolve) => {
      if (this.#sent.size === 0 && this.#waiting.length === 0) resolve();
      else this.#allAnswered = resolve;
    });
  }

  /** Sends a message of the client, now or when there is a connection. */
  add(call: ClientCall): void {
    if (this.#link === undefined) this.#wait(call);
    else this.#send(call, this.#link);
  }

  /** What the client gets for an answer; undefined for nothing yet. Answers to unknown requests are passed on. */
  settle(id: IdText, answer: RelayedMessage): RelayedMessage | undefined {
    const call = this.#byId.get(comparable(id))?.[0];
    if (call === undefined) return answer;
    const replaced = call.answered?.(answer, call);
    if (replaced !== undefined) answer.release();
    if (replaced === "held") return undefined;
    this.#forget(call);
    return replaced ?? answer;
  }

  /** Sends a held call again, unless its connection is gone. */
  again(call: ClientCall, link: UpstreamLink): void {
    if (link === this.#link) link.relay(call.message);
  }

  /** Answers a held call, unless it waits for another connection. */
  finish(call: ClientCall, text: string): void {
    if (!this.#sent.has(call)) return;
    this.#forget(call);
    this.#answer(text);
  }

  /**
   * The server could not read a message, and cannot say which: those beyond the limit that it names fail. False if it
   * names none, or none was that long.
   */
  refuse(error: WireError): boolean {
    const { limit, value } = (error.data ?? {}) as Readonly<Record<string, unknown>>;
    if (limit !== "maxMessageBytes" || typeof value !== "number") return false;
    const long = [...this.#sent.keys()].filter((call) => call.message.size > value);
    for (const call of long) this.#fail(call, error);
    return long.length > 0;
  }

  /** There is a link: sends what waits. `first` is sent after the first request, if that is `initialize`. */
  use(link: UpstreamLink, first: () => void): void {
    this.#link = link;
    const waiting = this.#waiting;
    this.#waiting = [];
    this.#waitingBytes = 0;
    for (const call of waiting) {
      this.#send(call, link);
      if (call.method === "initialize" && call.repeated) first();
    }
  }

  /** The link is gone. What may be repeated waits for the next one; the others fail. */
  lose(reason: string): void {
    this.#link = undefined;
    const later = this.#waiting;
    this.#waiting = [];
    this.#waitingBytes = 0;
    for (const [call, at] of this.#sent) {
      call.suddenEnds = performance.now() - at < SUDDEN_MS ? call.suddenEnds + 1 : 0;
      if (call.fate === "repeat" && call.suddenEnds <= MAX_SUDDEN_ENDS) {
        this.#unsent(call);
        call.repeated = true;
        this.#wait(call);
      } else {
        this.#fail(call, lostError(call, reason));
      }
    }
    for (const call of later) this.#wait(call);
  }

  #wait(call: ClientCall): void {
    this.#waiting.push(call);
    this.#waitingBytes += call.message.size;
  }

  #send(call: ClientCall, link: UpstreamLink): void {
    const { id, message } = call;
    if (id === undefined) {
      link.relay(message, () => message.release());
      return;
    }
    const key = comparable(id);
    this.#sent.set(call, performance.now());
    this.#byId.set(key, [...(this.#byId.get(key) ?? []), call]);
    this.#unansweredBytes += message.size;
    link.relay(message);
  }

  #fail(call: ClientCall, error: WireError): void {
    this.#forget(call);
    call.failed?.();
    this.#answer(formatError(call.id!, error));
  }

  #forget(call: ClientCall): void {
    this.#unsent(call);
    call.message.release();
    if (this.#sent.size === 0 && this.#waiting.length === 0) this.#allAnswered?.();
  }

  #unsent(call: ClientCall): void {
    this.#sent.delete(call);
    this.#unansweredBytes -= call.message.size;
    const key = comparable(call.id!);
    const others = this.#byId.get(key)?.filter((other) => other !== call) ?? [];
    if (others.length === 0) this.#byId.delete(key);
    else this.#byId.set(key, others);
  }
}

/** What a lost answer means for a request of the client. */
export function fateOf(method: string, params: unknown): LostAnswer {
  const lost = lostAnswer(method, params);
  // The client does not know that it has another connection, and gets there what it opened, as if it had asked later.
  return REPEATED.has(method) || lost === "opened" ? "repeat" : lost;
}

/** An id may be spelled in several ways, and servers answer with their own spelling. */
function comparable(id: IdText): string {
  return id.startsWith('"') ? JSON.stringify(JSON.parse(id)) : id;
}

function lostError({ method, fate }: ClientCall, reason: string): WireError {
  const name = shorten(method, MAX_NAME_CHARACTERS);
  if (fate === "ended")
    return { code: RpcCode.internal, message: `${name} ended with the connection: ${reason}` };
  return {
    code: RpcCode.internal,
    message: `${reason}; the session goes on, but whether ${name} took effect is not known`,
    data: { code: "EFFECT_UNKNOWN" },
  };
}

import { shorten } from "../base/shorten.ts";
import { formatError, type IdText, type WireError } from "../protocol/envelope.ts";
import { RpcCode } from "../protocol/errors.ts";
import { survivesRepeats } from "../client/calls/calls.ts";
import { lostAnswer } from "../client/calls/method-facts.ts";
import type { LostAnswer } from "../protocol/index.ts";
import type { RelayedMessage } from "./relayed-message.ts";
import type { UpstreamLink } from "./upstream-link.ts";

/** Limits on unanswered requests; beyond them the bridge stops reading from the client. One message may exceed them. */
const MAX_UNANSWERED = 4_096;
const MAX_UNANSWERED_BYTES = 64 * 1024 * 1024;
/** The same for what waits for a connection. */
const MAX_WAITING_BYTES = 1024 * 1024;
const MAX_NAME_CHARACTERS = 100;

/**
 * Repeated by the bridge, because it understands the answer: there is no session until `initialize` is answered, a
 * repeated start is recognized by its process id, and a repeated remove that finds nothing has succeeded.
 */
const REPEATED: ReadonlySet<string> = new Set(["initialize", "process/start", "fs/remove"]);
/** A client's request, or a notification, which has no id. */
export interface ClientCall {
  readonly id: IdText | undefined;
  readonly method: string;
  /** Kept until it is certain that it is not sent again. */
  readonly message: RelayedMessage;
  readonly fate: LostAnswer;
  /** Whether it was sent on an earlier connection, and may have been carried out. */
  repeated: boolean;
  /** Number of connections in a row that ended right after it was sent. */
  suddenEnds: number;
  /**
   * Handles the answer. May return a different one for the client, or `held` if that needs more time: the call then
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
  /** Sent calls in sending order, with the time. */
  readonly #sent = new Map<ClientCall, number>();
  /** Sent calls by comparable id. A client may reuse an id before the answer. */
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

  /** Sends a client's message, now or once there is a connection. */
  add(call: ClientCall): void {
    if (this.#link === undefined) this.#wait(call);
    else this.#send(call, this.#link);
  }

  /** The answer for the client; undefined if there is none yet. Answers to unknown requests are forwarded. */
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

  /** Sends what is waiting on a new link. `first` is sent after the first request, if that is `initialize`. */
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

  /** Handles the loss of the link: repeatable calls wait for the next one, the others fail. */
  lose(reason: string): void {
    this.#link = undefined;
    const later = this.#waiting;
    this.#waiting = [];
    this.#waitingBytes = 0;
    for (const [call, at] of this.#sent) {
      if (survivesRepeats(call, at) && call.fate === "repeat") {
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
export function lostAnswerOf(method: string, params: unknown): LostAnswer {
  const lost = lostAnswer(method, params);
  // The client does not know that it has another connection, so what it opened is opened again there, as if it had
  // asked later.
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

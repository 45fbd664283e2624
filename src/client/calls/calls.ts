import { createDeferred, type Deferred } from "../../base/deferred.ts";
import { ConnectionError, ExecError, ProtocolError } from "../../base/errors.ts";
import type { MethodName, Params, Result } from "../../protocol/index.ts";
import type { Link } from "../../rpc/link.ts";
import type { CallOptions } from "./caller.ts";
import { abortable } from "../../base/deadlines.ts";
import { after, formatDuration } from "../../base/duration.ts";
import { isPrompt, lostAnswer } from "./method-facts.ts";
import { checkedResult } from "./wire-check.ts";

const MAX_PENDING_REQUESTS = 1024;
/** A connection that ends this soon after a call was sent may have ended because of it. */
const SUDDEN_MS = 250;
/** Maximum number of times in a row before the call is not resent. */
const MAX_SUDDEN_ENDS = 8;
/** Maximum number of repeats after an unreadable answer. */
const MAX_UNREADABLE = 2;

interface Call {
  /** Calls are sent, and resent, in this order. */
  readonly order: number;
  readonly method: MethodName;
  readonly params: unknown;
  readonly answer: Deferred<unknown>;
  /** Whether its caller has given up on it. */
  abandoned: boolean;
  suddenEnds: number;
  /** Number of its answers that could not be read. */
  unreadable: number;
}

/** Callbacks of calls. */
export interface CallHooks {
  asked(): void;
  answered(): void;
}

/**
 * The calls of a session: each is sent on the current link, or in its turn once there is one. A call whose answer was
 * lost is repeated if it is idempotent; the others wait until the fate of the session is known, and reject accordingly.
 */
export class Calls {
  readonly #hooks: CallHooks;
  #link: Link | undefined;
  /** In sending order. */
  #waiting: Call[] = [];
  /** Calls whose answers were lost, and which are not resent. */
  #lost: { readonly call: Call; readonly error: ConnectionError }[] = [];
  #unanswered = 0;
  #nextOrder = 1;
  #end: ExecError | undefined;
  readonly #answerTimeoutMs: number;
  /** When the last answer came, to any call. */
  #answeredAt = 0;

  /** A call that a server answers at once fails if no answer to any call comes for `answerTimeoutMs`. */
  constructor(hooks: CallHooks, answerTimeoutMs = Number.POSITIVE_INFINITY) {
    this.#hooks = hooks;
    this.#answerTimeoutMs = answerTimeoutMs;
  }

  /** True if no further call is accepted; `reserved` slots are taken by others. */
  isFull(reserved: number): boolean {
    return this.#unanswered + this.#waiting.length + this.#lost.length + reserved >= MAX_PENDING_REQUESTS;
  }

  async request<M extends MethodName>(
    method: M,
    params: Params<M>,
    { signal }: CallOptions = {},
  ): Promise<Result<M>> {
    signal?.throwIfAborted();
    if (this.#end !== undefined) throw this.#end;
    const answer = createDeferred<unknown>();
    const call: Call = {
      order: this.#nextOrder,
      method,
      params,
      answer,
      abandoned: false,
      suddenEnds: 0,
      unreadable: 0,
    };
    this.#nextOrder += 1;
    if (this.#link === undefined) this.#waiting.push(call);
    else this.#send(call, this.#link);
    try {
      return (await abortable(answer.promise, signal)) as Result<M>;
    } catch (error) {
      this.#abandon(call);
      throw error;
    }
  }

  /** Sends one request on a link that is not in use yet, or that the caller has chosen. It is not repeated. */
  async once<M extends MethodName>(link: Link, method: M, params: Params<M>): Promise<Result<M>> {
    this.#unanswered += 1;
    this.#hooks.asked();
    try {
      return checkedResult(method, await link.request(method, params));
    } finally {
      this.#unanswered -= 1;
      this.#hooks.answered();
    }
  }

  /** Sends waiting calls on a new link, before any new call. */
  use(link: Link): void {
    this.#link = link;
    for (const { call, error } of this.#lost.splice(0)) call.answer.reject(lostError(call, error));
    for (const call of this.#waiting.splice(0)) this.#send(call, link);
  }

  /** The link is gone; another may follow. */
  lose(): void {
    this.#link = undefined;
  }

  /** Rejects everything: there will be no other link. */
  finish(error: ExecError): void {
    this.#end = error;
    this.#link = undefined;
    for (const { call } of this.#lost.splice(0)) call.answer.reject(error);
    for (const call of this.#waiting.splice(0)) call.answer.reject(error);
  }

  #send(call: Call, link: Link): void {
    this.#unanswered += 1;
    this.#hooks.asked();
    const sentAt = performance.now();
    const stopWaiting = this.#limitSilence(call, sentAt);
    const answered = (): void => {
      stopWaiting();
      this.#answeredAt = performance.now();
      this.#unanswered -= 1;
      this.#hooks.answered();
    };
    link.request(call.method, call.params).then(
      (result) => {
        answered();
        try {
          call.answer.resolve(checkedResult(call.method, result));
        } catch (error) {
          call.answer.reject(error);
        }
      },
      (error: unknown) => {
        if (error instanceof ConnectionError && !call.abandoned) this.#loseAnswer(call, link, sentAt, error);
        else call.answer.reject(error);
        answered();
      },
    );
  }

  /** Others may be answered first, slowly: only silence means that no answer will come. */
  #limitSilence(call: Call, sentAt: number): () => void {
    if (!isPrompt(call.method, call.params)) return () => {};
    let cancel = (): void => {};
    const wait = (): void => {
      const silentMs = performance.now() - Math.max(sentAt, this.#answeredAt);
      if (silentMs >= this.#answerTimeoutMs) call.answer.reject(this.#silence(call));
      else cancel = after(Math.ceil(this.#answerTimeoutMs - silentMs), wait);
    };
    wait();
    return () => cancel();
  }

  #silence({ method }: Call): ExecError {
    const duration = formatDuration(this.#answerTimeoutMs);
    return new ExecError(
      "TIMED_OUT",
      `the server has not answered ${method} within ${duration}; it hangs, or something on the way drops its answers`,
    );
  }

  #loseAnswer(call: Call, link: Link, sentAt: number, error: ConnectionError): void {
    if (this.#end !== undefined) {
      call.answer.reject(this.#end);
      return;
    }
    if (error.cause instanceof ProtocolError) {
      call.unreadable += 1;
      if (call.unreadable === MAX_UNREADABLE) {
        call.answer.reject(error.cause);
        return;
      }
    }
    const repeats = survivesRepeats(call, sentAt) && lostAnswer(call.method, call.params) === "repeat";
    const next = this.#link === link ? undefined : this.#link;
    if (repeats && next !== undefined) this.#send(call, next);
    else if (repeats) this.#wait(call);
    else if (next !== undefined) call.answer.reject(lostError(call, error));
    else this.#lost.push({ call, error });
  }

  /** Calls that have been sent before precede those that have not. */
  #wait(call: Call): void {
    let index = this.#waiting.length;
    while (index > 0 && this.#waiting[index - 1]!.order > call.order) index -= 1;
    this.#waiting.splice(index, 0, call);
  }

  #abandon(call: Call): void {
    call.abandoned = true;
    const waiting = this.#waiting.indexOf(call);
    if (waiting >= 0) this.#waiting.splice(waiting, 1);
    const lost = this.#lost.findIndex((entry) => entry.call === call);
    if (lost >= 0) this.#lost.splice(lost, 1);
  }
}

/** False if one connection after the other has ended right after a call was sent. Called at each end. */
export function survivesRepeats(call: { suddenEnds: number }, sentAt: number): boolean {
  call.suddenEnds = performance.now() - sentAt < SUDDEN_MS ? call.suddenEnds + 1 : 0;
  return call.suddenEnds <= MAX_SUDDEN_ENDS;
}

/** The error for more unanswered calls than a session may have. */
export function tooManyCalls(): ExecError {
  return new ExecError(
    "LIMIT_REACHED",
    `exec-server has reached its limit of ${MAX_PENDING_REQUESTS} pending requests`,
  );
}

function lostError({ method, params }: Call, error: ConnectionError): ConnectionError {
  const lost = lostAnswer(method, params);
  if (lost === "ended" || lost === "opened") return new ConnectionError(error.message, { cause: error });
  return new ConnectionError(
    `${error.message}; the session goes on, but whether ${method} took effect is not known`,
    { cause: error, code: "EFFECT_UNKNOWN" },
  );
}

import { setMaxListeners } from "node:events";
import { RpcError } from "../../base/errors.ts";
import { shorten } from "../../base/shorten.ts";
import type { Logger } from "../../base/logger.ts";
import {
  type Family,
  type NotificationName,
  type NotificationParams,
  type Params,
  RpcCode,
} from "../../protocol/index.ts";
import {
  CREDENTIAL_ENDED_CLOSE_CODE,
  SESSION_OVER_CLOSE_CODE,
  SESSION_TAKEN_CLOSE_CODE,
} from "../../protocol/wire-limits.ts";
import type { IncomingRequest } from "../../rpc/incoming-request.ts";
import { RequestQueue, type Task } from "../../rpc/request-queue.ts";
import { type HandlerResult, type Router, unknownMethod } from "../../rpc/router.ts";
import type { Transport } from "../../transport/transport.ts";
import { type Credential, watchValidity } from "../access/credential.ts";
import type { Rights } from "../access/rights.ts";
import { Answers } from "../wire/answers.ts";
import type { ByteBudget, ConnectionBudget } from "../wire/byte-budget.ts";
import { messageTooLong, type ServerLimits } from "../settings/limits.ts";
import type { Traffic } from "../settings/server-state.ts";
import { isFull, Peer } from "../wire/peer.ts";
import { ProcessOrder } from "./process-order.ts";
import { RequestIntake } from "../wire/request-intake.ts";
import { RequestTurn } from "../wire/request-turn.ts";
import type { Session } from "../sessions/session.ts";
import { sessionLabel } from "../wire/session-label.ts";
import type { SessionHolder, SessionRegistry } from "../sessions/session-registry.ts";
import type { ConnectionObservation, ProcessObservation } from "../wire/observation.ts";
import { giveSignOfLife } from "../wire/sign-of-life.ts";

export interface ClientConnectionOptions {
  readonly router: Router<ClientConnection>;
  readonly sessions: SessionRegistry;
  readonly logger: Logger;
  readonly concurrency: number;
  readonly limits: Pick<
    ServerLimits,
    "maxUnansweredRequests" | "maxBufferedBytesPerConnection" | "maxMessageBytes" | "initializeTimeoutMs"
  >;
  readonly budget: ByteBudget;
  /** False if a lost connection cannot be replaced: the session then ends with it. */
  readonly resumable: boolean;
  readonly credential: Credential;
  /** Reports this client's actions to observers; undefined if there are none. */
  readonly observed?: ConnectionObservation | undefined;
  ended(): void;
}

/** One client: its handshake, session and requests. Handlers receive it as their context. */
export class ClientConnection implements SessionHolder {
  /** Memory budget of this client. A handler that collects a lot reserves it first; see `ConnectionBudget`. */
  readonly budget: ConnectionBudget;
  readonly peer: Peer;
  readonly credential: Credential;
  readonly #options: ClientConnectionOptions;
  readonly #requests: RequestQueue;
  readonly #order = new ProcessOrder((processId) => this.#session?.isRunning(processId) ?? false);
  /** Created on demand: most connections never need it. */
  #abort: AbortController | undefined;
  #closing = false;
  #ended = false;
  #session: Session | undefined;
  /** The handshake waits for the connection that holds the session, and all later requests wait too. */
  #resuming = false;
  #initialized = false;
  #reportsStarts = false;
  #signOfLife: Promise<boolean> | undefined;
  /** The session now belongs to another connection. */
  #surrendered = false;
  /** Why the server has ended the connection. */
  #dismissal: string | undefined;
  readonly #drainWaiters: (() => void)[] = [];
  readonly #drainListeners: (() => void)[] = [];
  #hasViolated = false;
  #initializeTimer: NodeJS.Timeout | undefined;
  readonly #intake: RequestIntake;
  readonly #answers: Answers;
  /** Stops watching the credential. */
  readonly #validity: () => void;

  constructor(transport: Transport, options: ClientConnectionOptions) {
    this.#options = options;
    this.credential = options.credential;
    this.peer = new Peer(transport, {
      request: (request, bytes) => this.#enqueue(request, bytes),
      notification: (method) => {
        if (!this.#closing) this.#requests.submit(() => this.#notified(method), "ordinary");
      },
      tooLong: () => messageTooLong(options.limits.maxMessageBytes),
      violated: (reason) => this.#violated(reason),
      drain: () => this.#drained(),
      closed: (reason, code) => this.#closed(reason, code),
    });
    this.#intake = new RequestIntake(options.limits, this.peer);
    this.budget = options.budget.connect({
      queuedBytes: () => this.peer.queuedBytes,
      ping: (answered) => this.peer.ping(answered),
    });
    this.#answers = new Answers(this.peer, {
      budget: this.budget,
      intake: this.#intake,
      logger: options.logger,
    });
    // The session can be resumed with another credential of the same principal.
    this.#validity = watchValidity(options.credential, (reason) => {
      if (!this.#ended) this.#dismiss(CREDENTIAL_ENDED_CLOSE_CODE, reason);
    });
    const turn = new RequestTurn(() => this.#requests.resume());
    this.#requests = new RequestQueue(
      options.concurrency,
      () => !this.#resuming && this.budget.hasRoom && !turn.isOver(),
    );
  }

  /** See `SessionHolder`. */
  get principal(): string {
    return this.credential.principal;
  }

  get rights(): Rights {
    return this.credential.rights;
  }

  get traffic(): Traffic {
    return { ...this.#answers.counts, sentBytes: this.peer.sentBytes ?? 0 };
  }

  /** Aborted when the connection ends, for handlers that wait. */
  get signal(): AbortSignal {
    if (this.#abort === undefined) {
      this.#abort = new AbortController();
      // Every waiting request listens to it.
      setMaxListeners(0, this.#abort.signal);
      if (this.#ended) this.#abort.abort();
    }
    return this.#abort.signal;
  }

  open(): void {
    this.#options.observed?.open(this.peer);
    this.peer.open();
    const { resumable, limits } = this.#options;
    // The only client of a server on stdio or in this program has no deadline.
    if (!resumable || this.#session !== undefined || this.#ended) return;
    const drop = (): void => this.peer.destroy("no initialize in time");
    this.#initializeTimer = setTimeout(drop, limits.initializeTimeoutMs).unref();
  }

  /** Still sends what is queued, but ignores further requests. */
  close(): void {
    this.#closing = true;
    this.#requests.clear();
    this.peer.close();
    // The program may end before the connection has.
    this.#abort?.abort();
  }

  notify<N extends NotificationName>(method: N, params: NotificationParams<N>): void {
    this.peer.notify(method, params);
  }

  /** Reports a start to a client that requested it in its handshake. */
  reportStart<N extends "process/started" | "process/failed">(
    method: N,
    params: NotificationParams<N>,
  ): void {
    if (this.#reportsStarts) this.peer.notify(method, params);
  }

  /** True while bulk data has to wait. */
  get full(): boolean {
    return isFull(this.peer);
  }

  /** Resolves when the client has read enough to accept more bulk data, or is gone. */
  async drained(): Promise<void> {
    if (!this.full) return;
    await new Promise<void>((resolve) => this.#drainWaiters.push(resolve));
  }

  /** Calls `listener` each time there is room for more bulk, until the connection ends. */
  onDrain(listener: () => void): void {
    this.#drainListeners.push(listener);
  }

  /** Returns a callback for the process that a request starts; undefined without observers. */
  observeStart(processId: string): ProcessObservation | undefined {
    return this.#options.observed?.start(processId);
  }

  /** Throws unless the handshake is complete. */
  gate(family: Family): void {
    if (this.#session === undefined)
      throw new RpcError(
        RpcCode.invalidRequest,
        `client must call initialize before using ${family} methods`,
      );
    if (!this.#initialized)
      throw new RpcError(
        RpcCode.invalidRequest,
        `client must send initialized before using ${family} methods`,
      );
  }

  initialize(params: Params<"initialize">): Session | Promise<Session> {
    if (this.#session !== undefined)
      throw new RpcError(RpcCode.invalidRequest, "initialize may only be sent once per connection");
    this.#order.urgentInput = params.urgentInput ?? false;
    this.#reportsStarts = params.reportStarts ?? false;
    const { sessions } = this.#options;
    const sessionId = params.resumeSessionId ?? undefined;
    const session = sessionId === undefined ? sessions.open(this) : sessions.resume(sessionId, this);
    if (session instanceof Promise) return this.#resume(session);
    return this.#begin(session);
  }

  async #resume(resuming: Promise<Session>): Promise<Session> {
    this.#resuming = true;
    try {
      return this.#begin(await resuming);
    } finally {
      this.#resuming = false;
      // After the answer.
      setImmediate(() => this.#requests.resume());
    }
  }

  #begin(session: Session): Session {
    this.#session = session;
    this.#options.observed?.entered(session.id);
    clearTimeout(this.#initializeTimer);
    return session;
  }

  isAlive(): Promise<boolean> {
    // A paused client cannot be heard, so assume it is alive.
    if (this.#intake.isPaused && !this.#ended) return Promise.resolve(true);
    this.#signOfLife ??= giveSignOfLife(this.peer).finally(() => {
      this.#signOfLife = undefined;
    });
    return this.#signOfLife;
  }

  surrender(): void {
    this.#surrendered = true;
    this.#dismiss(SESSION_TAKEN_CLOSE_CODE, "another connection has taken over the session");
  }

  /** From now on, nothing more is done for the client. */
  #dismiss(code: number, reason: string): void {
    this.#closing = true;
    this.#dismissal = reason;
    this.#stop();
    this.peer.close({ code, reason });
  }

  /** Only for handlers that run after the handshake. */
  get session(): Session {
    if (this.#session === undefined) throw new Error("there is no session before initialize");
    return this.#session;
  }

  #notified(method: string): undefined {
    if (method === "initialized" && this.#session !== undefined) this.#initialized = true;
    else {
      this.#violated("unexpected notification");
      // Disconnects a peer that violates the protocol without an answer, as Codex does.
      this.peer.destroy(`unexpected notification ${shorten(method)}`);
    }
  }

  #enqueue(request: IncomingRequest, bytes: number): void {
    if (this.#closing) return;
    this.#intake.came(bytes);
    const run: Task = () => {
      const pending = this.#run(request);
      if (pending !== undefined) return pending.then(() => this.#intake.done(bytes));
      this.#intake.done(bytes);
      return undefined;
    };
    if (!this.#initialized || (this.#options.concurrency === 1 && this.#requests.isFree))
      this.#requests.submit(run, "ordinary");
    else this.#enqueueByPrecedence(request, run);
  }

  /** Requests without precedence wait, or run concurrently. */
  #enqueueByPrecedence({ method, params }: IncomingRequest, run: Task): void {
    const precedence = this.#options.router.precedenceOf(method);
    if (this.#order.mayOvertake(precedence, params)) {
      this.#requests.submit(run, "urgent");
      return;
    }
    const waited = this.#order.wait(precedence, params);
    const { lane = "ordinary" } = this.#options.concurrency > 1 ? precedence : {};
    this.#requests.submit(() => {
      waited();
      return run();
    }, lane);
  }

  #run({ id, method, params, attachment, traceparent }: IncomingRequest): Promise<void> | undefined {
    const route = this.#options.router.find(method);
    // Names of the table are found faster than equal ones of a client.
    const watch = this.#options.observed?.begin(route?.name ?? method, traceparent);
    let result: HandlerResult<unknown>;
    try {
      if (route === undefined) throw unknownMethod(method);
      result = route.call(this, params, attachment, watch);
    } catch (error) {
      watch?.refused(error, params);
      this.#answers.fail(id, method, error, watch);
      return undefined;
    }
    return this.#answers.settle(id, method, result, watch);
  }

  #drained(): void {
    this.budget.queueChanged();
    for (const resolve of this.#drainWaiters.splice(0)) resolve();
    this.#session?.drain();
    for (const listener of this.#drainListeners) listener();
    this.#answers.sendLate();
    this.#requests.resume();
  }

  /** Logged once for each connection: a client could fill the log. */
  #violated(reason: string): void {
    if (this.#hasViolated) return;
    this.#hasViolated = true;
    this.#options.logger.warn("a client violated the protocol", { session: this.#label, reason });
  }

  get #label(): string | undefined {
    return this.#session && sessionLabel(this.#session.id);
  }

  #closed(peerReason: string | undefined, code: number | undefined): void {
    const reason = this.#dismissal ?? peerReason;
    // A client that leaves in the usual way is no news.
    this.#options.logger[reason === undefined ? "debug" : "info"]("connection ended", {
      session: this.#label,
      reason,
    });
    clearTimeout(this.#initializeTimer);
    this.#validity();
    this.#stop();
    this.#options.observed?.close(reason);
    if (this.#session !== undefined && !this.#surrendered) {
      if (this.#options.resumable && code !== SESSION_OVER_CLOSE_CODE)
        this.#options.sessions.detach(this.#session);
      else void this.#options.sessions.end(this.#session);
    }
    this.#options.ended();
  }

  /** Releases everything that waits on this connection. */
  #stop(): void {
    this.#requests.clear();
    this.#answers.clear();
    this.#ended = true;
    this.budget.close();
    this.#abort?.abort();
    for (const resolve of this.#drainWaiters.splice(0)) resolve();
  }
}

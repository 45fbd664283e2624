import { createDeferred, type Deferred } from "../base/deferred.ts";
import { formatDuration } from "../base/duration.ts";
import {
  ConnectionError,
  disconnected,
  ExecError,
  messageOf,
  ProtocolError,
  UsageError,
} from "../base/errors.ts";
import type { Logger } from "../base/logger.ts";
import type { EnvironmentInfo } from "../protocol/environment.ts";
import type { MethodName, Params, Result } from "../protocol/index.ts";
import type { ReadResult } from "../protocol/process.ts";
import type { Link, LinkEvents } from "../rpc/link.ts";
import type { RequestOptions } from "./caller.ts";
import type { Connector } from "./connector.ts";
import { type HandshakeOptions, openSession } from "./handshake.ts";
import { FileWatches } from "./file-watches.ts";
import { FlowControl, type FlowOwner } from "./flow-control.ts";
import { HttpBodies } from "./http-bodies.ts";
import { processEventOf } from "./notifications.ts";
import { Orphans } from "./orphans.ts";
import { isPassing } from "./passing-errors.ts";
import { ProcessRoute, type RouteOwner } from "./process-route.ts";
import { abortable, pause, within } from "./waiting.ts";
import { checkedParams, checkedResult } from "./wire-check.ts";

const MAX_PENDING_REQUESTS = 1024;
const RETRY_PAUSE_MS = 100;
/** How long `close` waits for the server to take notice. */
const CLOSE_DEADLINE_MS = 2_000;

/** `recovering` while a lost connection is being replaced. */
export type SessionState = "connected" | "recovering" | "closed";

/** How a session begins, and how long it may take to recover. */
export interface SessionOptions extends HandshakeOptions {
  readonly recoveryTimeoutMs: number;
  readonly resumeSessionId?: string;
  readonly logger: Logger;
}

/** Why a session is over; without a reason, because it was closed here. */
export interface SessionEnd {
  readonly reason: string | undefined;
}

/** One session with a server, over as many connections as it takes. */
export class ClientSession implements FlowOwner, RouteOwner {
  readonly bodies = new HttpBodies({
    cancel: (requestId) => this.#cancel(requestId),
    hold: (requestId, on) => this.#flow.hold("http", requestId, on),
    ended: (requestId) => this.#flow.forget("http", requestId),
  });
  readonly watches = new FileWatches(this);
  readonly #flow = new FlowControl(this);
  readonly #connector: Connector;
  readonly #options: SessionOptions;
  readonly #routes = new Map<string, ProcessRoute>();
  readonly #listeners = new Set<(state: SessionState) => void>();
  readonly #closing = new AbortController();
  readonly #closed = createDeferred<SessionEnd>();
  readonly #orphans = new Orphans();
  /** Links that ended before they were taken into use. */
  readonly #dead = new WeakSet<Link>();
  #sessionId = "";
  #environment: EnvironmentInfo | undefined;
  #state: SessionState = "connected";
  #link: Link | undefined;
  /** A new link on which the session is being recovered. */
  #candidate: Link | undefined;
  #settled: Deferred<void> | undefined;
  #endMessage = disconnected(undefined).message;
  #pending = 0;
  /** Requests that are yet to be sent. */
  #waiting = 0;

  private constructor(connector: Connector, options: SessionOptions) {
    this.#connector = connector;
    this.#options = options;
  }

  static async open(
    connector: Connector,
    options: SessionOptions,
    signal: AbortSignal = new AbortController().signal,
  ): Promise<ClientSession> {
    const session = new ClientSession(connector, options);
    session.#connected(await session.#open(options.resumeSessionId, signal));
    return session;
  }

  get id(): string {
    return this.#sessionId;
  }

  get environment(): EnvironmentInfo | undefined {
    return this.#environment;
  }

  get state(): SessionState {
    return this.#state;
  }

  /** Resolves when the session is over, for whatever reason. */
  get closed(): Promise<SessionEnd> {
    return this.#closed.promise;
  }

  /** True for a method or field beyond Codex's wire that this server announced. */
  supports(extension: string): boolean {
    return this.#environment?.extensions?.includes(extension) ?? false;
  }

  onStateChange(listener: (state: SessionState) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  async request<M extends MethodName>(
    method: M,
    params: Params<M>,
    { signal }: RequestOptions = {},
  ): Promise<Result<M>> {
    signal?.throwIfAborted();
    if (this.#pending + this.#waiting >= MAX_PENDING_REQUESTS)
      throw new ExecError(
        "LIMIT_REACHED",
        `exec-server has reached its limit of ${MAX_PENDING_REQUESTS} pending requests`,
      );
    const link = this.#link ?? (await this.#waitForLink(signal));
    return abortable(this.#send(link, method, params), signal);
  }

  /** Makes a place for the events of a process that is about to be started. */
  register(processId: string): ProcessRoute {
    if (this.#state === "closed") throw new ConnectionError(this.#endMessage);
    if (this.#routes.has(processId))
      throw new UsageError(`session already registered for process ${processId}`);
    const route = new ProcessRoute(processId, this);
    this.#routes.set(processId, route);
    return route;
  }

  /** The process was not started, or nobody knows whether it was. */
  unregister(route: ProcessRoute, { orphan }: { orphan: boolean }): void {
    if (this.#routes.get(route.processId) === route) this.#routes.delete(route.processId);
    if (!orphan) return;
    this.#orphans.add(route.processId);
    if (this.#link !== undefined) this.#orphans.terminate(this.#link);
  }

  /** Ends the session and all that it still runs; with `detach` the server keeps it for a client that resumes it. */
  async close({ detach = false }: { detach?: boolean } = {}): Promise<void> {
    if (!this.#closing.signal.aborted) {
      this.#closing.abort();
      await this.#leave(detach);
    }
    await this.#closed.promise;
  }

  // What routes ask for.

  async readAfter(processId: string, afterSeq: number): Promise<ReadResult> {
    const params = { processId, afterSeq, maxBytes: null, waitMs: 0 };
    const link = this.#candidate ?? this.#link;
    // Not counted against the limit: without it a process would be lost.
    return link === undefined
      ? this.request("process/read", params)
      : this.#send(link, "process/read", params);
  }

  hold(processId: string, on: boolean): void {
    this.#flow.hold("process", processId, on);
  }

  overdue(route: ProcessRoute): void {
    // A new link can be this far before it is taken into use. Then its processes are about to catch up anyway, and must not wait for themselves.
    if (this.#link === undefined && this.#candidate === undefined) return;
    this.#catchUp(route).catch((error: unknown) => {
      // Recovery has to start anew anyway, and asks again.
      this.#options.logger.debug("a process could not catch up", {
        processId: route.processId,
        error: messageOf(error),
      });
    });
  }

  finished(route: ProcessRoute): void {
    this.#routes.delete(route.processId);
    this.#flow.forget("process", route.processId);
  }

  // Requests.

  #send<M extends MethodName>(link: Link, method: M, params: Params<M>): Promise<Result<M>> {
    this.#pending += 1;
    this.#flow.asked();
    const answered = (): void => {
      this.#pending -= 1;
      this.#flow.answered();
    };
    const answer = link.request(method, params);
    answer.then(answered, answered);
    return answer.then((result) => checkedResult(method, result));
  }

  async #waitForLink(signal: AbortSignal | undefined): Promise<Link> {
    this.#waiting += 1;
    try {
      return await abortable(this.#whenConnected(), signal);
    } finally {
      this.#waiting -= 1;
    }
  }

  async #whenConnected(): Promise<Link> {
    while (this.#link === undefined) {
      if (this.#settled === undefined) throw new ConnectionError(this.#endMessage);
      await this.#settled.promise;
    }
    return this.#link;
  }

  pauseLink(paused: boolean): void {
    if (paused) this.#link?.pause();
    else this.#link?.resume();
  }

  #cancel(requestId: string): void {
    if (!this.supports("http/cancel") || this.#link === undefined) return;
    this.#send(this.#link, "http/cancel", { requestId }).catch(() => {
      // The body ends with its connection anyway.
    });
  }

  // Links.

  #open(resumeSessionId: string | undefined, signal: AbortSignal) {
    let current: Link | undefined;
    const events: LinkEvents = {
      notification: (method, params) => {
        try {
          this.#notified(method, params);
        } catch (error) {
          // A fault of this side ends the connection, not the program.
          if (!(error instanceof ProtocolError))
            this.#options.logger.error("a notification was not understood", {
              method,
              error: messageOf(error),
            });
          current?.destroy(messageOf(error));
        }
      },
      closed: (reason) => {
        if (current === undefined) return;
        if (current === this.#link) this.#lost(reason);
        else this.#dead.add(current);
      },
    };
    const connector: Connector = {
      resumable: this.#connector.resumable,
      open: async (linkEvents, linkSignal) => {
        current = await this.#connector.open(linkEvents, linkSignal);
        return current;
      },
    };
    return openSession(connector, events, { ...this.#options, resumeSessionId, signal });
  }

  #connected({ link, sessionId, environmentInfo }: Awaited<ReturnType<typeof openSession>>): void {
    if (this.#dead.has(link)) throw disconnected(undefined);
    this.#link = link;
    this.#sessionId = sessionId;
    this.#environment = environmentInfo ?? this.#environment;
    this.#change("connected");
  }

  #notified(method: string, params: unknown): void {
    if (method.startsWith("process/")) this.#notifiedOfProcess(method, params);
    else if (method === "http/request/bodyDelta") this.bodies.receive(params);
    else if (method === "fs/watch/changed") this.watches.receive(params);
  }

  #notifiedOfProcess(method: string, params: unknown): void {
    try {
      const told = processEventOf(method, params);
      if (told !== undefined) this.#routes.get(told.processId)?.receive(told.event);
      else if (method === "process/gap") this.#missed(checkedParams(method, params).processId);
    } catch (error) {
      const processId = (params as { processId?: unknown } | null)?.processId;
      const route = typeof processId === "string" ? this.#routes.get(processId) : undefined;
      // When nobody is concerned, nothing that the server says can be relied on.
      if (route === undefined || !(error instanceof ProtocolError)) throw error;
      route.fail(error);
      this.unregister(route, { orphan: true });
    }
  }

  /** Of an attached process, events were dropped: what the server still has of them is read. */
  #missed(processId: string): void {
    const route = this.#routes.get(processId);
    if (route !== undefined) this.overdue(route);
  }

  #lost(reason: string | undefined): void {
    this.#link = undefined;
    const { message } = disconnected(reason);
    this.bodies.failAll(message);
    if (this.#closing.signal.aborted) this.#finish(undefined);
    else if (!this.#connector.resumable) this.#finish(message);
    else void this.#recover(message);
  }

  async #recover(message: string): Promise<void> {
    this.#settled = createDeferred();
    this.#change("recovering");
    const { recoveryTimeoutMs, logger } = this.#options;
    const deadline = Date.now() + recoveryTimeoutMs;
    const { signal } = this.#closing;
    while (!signal.aborted) {
      const leftMs = deadline - Date.now();
      if (leftMs <= 0) {
        this.#finish(`${message}; recovery timed out after ${formatDuration(recoveryTimeoutMs)}`);
        return;
      }
      try {
        await this.#recoverOnce(AbortSignal.any([signal, AbortSignal.timeout(leftMs)]));
        return;
      } catch (error) {
        logger.debug("a try to resume the session failed", { error: messageOf(error) });
        if (!signal.aborted && !isPassing(error)) {
          this.#finish(`${message}; failed to resume exec-server session: ${messageOf(error)}`);
          return;
        }
      }
      await pause(RETRY_PAUSE_MS, signal);
    }
    this.#finish(undefined);
  }

  async #recoverOnce(signal: AbortSignal): Promise<void> {
    const opened = await this.#open(this.#sessionId, signal);
    this.#candidate = opened.link;
    try {
      const started = [...this.#routes.values()].filter((route) => route.started);
      await abortable(Promise.all(started.map((route) => this.#catchUp(route))), signal);
      signal.throwIfAborted();
      this.#connected(opened);
    } catch (error) {
      opened.link.destroy();
      throw error;
    } finally {
      this.#candidate = undefined;
    }
    const settled = this.#settled;
    this.#settled = undefined;
    this.#flow.renew();
    this.watches.renew();
    this.#orphans.terminate(opened.link);
    settled?.resolve();
  }

  /** Rejects only when the connection is to blame. A process of which the server knows nothing more is lost by itself. */
  async #catchUp(route: ProcessRoute): Promise<void> {
    try {
      await route.catchUp();
    } catch (error) {
      if (isPassing(error)) throw error;
      const reason = `failed to recover process ${route.processId}: ${messageOf(error)}`;
      route.fail(error instanceof ProtocolError ? new ProtocolError(reason, { cause: error }) : reason);
      this.#orphans.add(route.processId);
    }
  }

  async #leave(detach: boolean): Promise<void> {
    const link = this.#link;
    if (link === undefined) return;
    // Answers have to be read, whatever readers do.
    link.resume();
    if (!detach) {
      const ends = [...this.#routes.keys()].map((processId) =>
        link.request("process/terminate", { processId }),
      );
      await within(Promise.allSettled(ends), CLOSE_DEADLINE_MS, () => new Error("late")).catch(() => {});
    }
    link.close();
    await within(this.#closed.promise, CLOSE_DEADLINE_MS, () => new Error("late")).catch(() =>
      link.destroy(),
    );
  }

  #finish(reason: string | undefined): void {
    this.#link = undefined;
    this.#endMessage = reason ?? "the exec-server client was closed";
    for (const route of this.#routes.values()) route.fail(this.#endMessage);
    this.bodies.failAll(this.#endMessage);
    this.watches.endAll(new ConnectionError(this.#endMessage));
    const settled = this.#settled;
    this.#settled = undefined;
    settled?.resolve();
    this.#change("closed");
    this.#listeners.clear();
    this.#closed.resolve({ reason });
  }

  #change(state: SessionState): void {
    if (this.#state === state) return;
    this.#state = state;
    for (const listener of this.#listeners) {
      try {
        listener(state);
      } catch (error) {
        this.#options.logger.error("a listener of the session's state failed", { error: messageOf(error) });
      }
    }
  }
}

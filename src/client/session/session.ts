import { createDeferred } from "../../base/deferred.ts";
import {
  ConnectionError,
  disconnected,
  type ExecError,
  messageOf,
  ProtocolError,
  UsageError,
} from "../../base/errors.ts";
import type { Logger } from "../../base/logger.ts";
import type { EnvironmentInfo } from "../../protocol/environment.ts";
import type { MethodName, Params, Result } from "../../protocol/index.ts";
import type { ReadResult } from "../../protocol/process.ts";
import { SESSION_OVER_CLOSE_CODE } from "../../protocol/wire-limits.ts";
import type { Link, LinkEvents } from "../../rpc/link.ts";
import type { Caller, CallOptions } from "../calls/caller.ts";
import { Calls, tooManyCalls } from "../calls/calls.ts";
import type { Connector } from "../link/connectors.ts";
import { endProcesses } from "../routes/end-processes.ts";
import { type HandshakeOptions, openSession } from "../link/handshake.ts";
import { FileWatches } from "../files/file-watches.ts";
import { FlowControl } from "../routes/flow-control.ts";
import { HttpBodies } from "../http/http-bodies.ts";
import { EventFeed } from "./event-feed.ts";
import { type Recipients, receiveNotification } from "./incoming.ts";
import { ObservedState } from "../calls/observed-state.ts";
import { Orphans } from "./orphans.ts";
import { ServerRequests } from "./server-requests.ts";
import { isTransient } from "../calls/transient-errors.ts";
import type { ProcessEvent, StartedEvent } from "../routes/process-events.ts";
import { ProcessRoute, type RouteOwner } from "../routes/process-route.ts";
import { RecoveryBudget } from "../link/recovery-budget.ts";
import { recover } from "./recovery.ts";
import { closedHere, type SessionEnd, unrecovered } from "../calls/session-end.ts";
import { abortable, settledWithin } from "../../base/deadlines.ts";

/** How long `close` waits for the server to react. */
const CLOSE_DEADLINE_MS = 1_000;

/** `recovering` while a lost connection is being replaced. */
export type SessionState = "connected" | "recovering" | "closed";

/** How a session is opened, and how long it may take to recover. */
export interface SessionOptions extends HandshakeOptions {
  readonly recoveryTimeoutMs: number;
  readonly answerTimeoutMs: number;
  readonly resumeSessionId?: string;
  readonly logger: Logger;
}

/** One session with a server, over as many connections as needed. */
export class ClientSession implements Caller, RouteOwner {
  readonly bodies = new HttpBodies({
    cancel: (requestId) => this.#cancel(requestId),
    hold: (requestId, on) => this.#flow.hold("http", requestId, on),
    ended: (requestId) => this.#flow.forget("http", requestId),
  });
  readonly watches = new FileWatches(this);
  /** Answers what the server asks. */
  readonly serverRequests = new ServerRequests();
  readonly #flow = new FlowControl({
    supports: (extension) => this.supports(extension),
    // Also answers while the session is being closed.
    request: (method, params) => this.#request(method, params),
    pauseLink: (paused) => {
      if (paused) this.#link?.pause();
      else this.#link?.resume();
    },
  });
  readonly #calls: Calls;
  readonly #connector: Connector;
  readonly #options: SessionOptions;
  readonly #budget: RecoveryBudget;
  readonly #state: ObservedState<SessionState>;
  readonly #routes = new Map<string, ProcessRoute>();
  readonly #recipients: Recipients = {
    routes: this.#routes,
    bodies: this.bodies,
    watches: this.watches,
    started: (route, pid) => this.published(route, { kind: "started", pid }),
    overdue: (route) => this.overdue(route),
    failed: (route, error) => {
      route.fail(error);
      this.unregister(route, { orphan: route.kept === undefined });
    },
  };
  readonly #closing = new AbortController();
  readonly #closed = createDeferred<SessionEnd>();
  /** Resolves when the session is over for any reason. */
  readonly closed = this.#closed.promise;
  readonly #feeds = new Set<EventFeed>();
  readonly #orphans = new Orphans();
  /** Links that ended before they were used. */
  readonly #dead = new WeakSet<Link>();
  #sessionId = "";
  #environment: EnvironmentInfo | undefined;
  #link: Link | undefined;
  /** A new link on which the session is being recovered. */
  #candidate: Link | undefined;
  #connections = 0;
  #end: ExecError | undefined;

  private constructor(connector: Connector, options: SessionOptions) {
    this.#connector = connector;
    this.#options = options;
    this.#calls = new Calls(this.#flow, options.answerTimeoutMs);
    this.#budget = new RecoveryBudget(options.recoveryTimeoutMs);
    this.#state = new ObservedState<SessionState>("connected", options.logger);
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
    return this.#state.value;
  }

  /** Number of connections so far. */
  get connections(): number {
    return this.#connections;
  }

  /** True as soon as the session has been closed here. */
  get isClosing(): boolean {
    return this.#closing.signal.aborted;
  }

  /** An older server does not name a session, so it cannot be resumed. */
  get #isResumable(): boolean {
    return this.#connector.resumable && this.#sessionId !== "";
  }

  /** True for an extension of Codex's protocol that this server announced: a method or a field. */
  supports(extension: string): boolean {
    return this.#environment?.extensions?.includes(extension) ?? false;
  }

  onStateChange(listener: (state: SessionState) => void): () => void {
    return this.#state.listen(listener);
  }

  async request<M extends MethodName>(
    method: M,
    params: Params<M>,
    options?: CallOptions,
  ): Promise<Result<M>> {
    if (this.isClosing) throw this.#end ?? closedHere();
    return this.#request(method, params, options);
  }

  async #request<M extends MethodName>(
    method: M,
    params: Params<M>,
    options?: CallOptions,
  ): Promise<Result<M>> {
    if (this.#calls.isFull(this.#orphans.size)) throw tooManyCalls();
    return this.#calls.request(method, params, options);
  }

  /** Registers a route for the events of a process that is about to start. */
  register(processId: string): ProcessRoute {
    if (this.#end !== undefined || this.isClosing) throw this.#end ?? closedHere();
    if (this.#routes.has(processId))
      throw new UsageError(`session already registered for process ${processId}`);
    const route = new ProcessRoute(processId, this);
    this.#routes.set(processId, route);
    return route;
  }

  /** The process was not started, or it is unknown whether it was. */
  unregister(route: ProcessRoute, { orphan }: { orphan: boolean }): void {
    this.#forget(route);
    if (!orphan) return;
    this.#orphans.add(route.processId);
    if (this.#link !== undefined) this.#orphans.terminate(this.#link);
  }

  /**
   * Ends the session and everything it still runs, except kept processes, and lets readers receive the end; with
   * `detach` the server keeps everything for a client that resumes the session.
   */
  async close({ detach = false }: { detach?: boolean } = {}): Promise<void> {
    if (!this.isClosing) {
      this.#closing.abort();
      await this.#leave(detach);
    }
    await this.closed;
  }

  // Requests of routes and flow control.

  readForCatchUp(route: ProcessRoute, afterSeq: number): Promise<ReadResult> {
    const link = this.#candidate ?? this.#link;
    // Recovery waits for started routes, so they must not wait for it. They catch up on the next link.
    if (route.started && link !== undefined)
      return this.#calls.once(link, "process/read", readParams(route.processId, afterSeq));
    // Does not count against the limit: without it a process would be lost.
    return this.#calls.request("process/read", readParams(route.processId, afterSeq));
  }

  readAgain(
    processId: string,
    afterSeq: number,
    { fromDisk }: { readonly fromDisk: boolean },
  ): Promise<ReadResult> {
    const spooled = fromDisk ? { spooled: true } : {};
    return this.#calls.request("process/read", { ...readParams(processId, afterSeq), ...spooled });
  }

  get readsBack(): boolean {
    return this.supports("process/read.spooled");
  }

  hold(processId: string, on: boolean): void {
    this.#flow.hold("process", processId, on);
  }

  /** Returns false without a connection; the next one catches up. */
  overdue(route: ProcessRoute): boolean {
    // A new link can get here before it is used. Its processes are about to catch up anyway, and must not wait for
    // themselves.
    if (this.#link === undefined && this.#candidate === undefined) return false;
    this.#catchUp(route).catch((error: unknown) => {
      // Recovery has to start again anyway, and asks again.
      this.#options.logger.debug("a process could not catch up", {
        processId: route.processId,
        error: messageOf(error),
      });
    });
    return true;
  }

  published(route: ProcessRoute, event: ProcessEvent | StartedEvent): void {
    for (const feed of this.#feeds) feed.push(route.processId, event);
  }

  /** The events of all processes from now on. Ends with the session. */
  events({ signal }: { signal?: AbortSignal | undefined }): EventFeed {
    const feed = new EventFeed(signal, (left) => this.#feeds.delete(left));
    if (this.#end === undefined) this.#feeds.add(feed);
    else feed.end();
    return feed;
  }

  finished(route: ProcessRoute): void {
    this.#forget(route);
    this.#flow.forget("process", route.processId);
  }

  #forget(route: ProcessRoute): void {
    if (this.#routes.get(route.processId) !== route) return;
    this.#routes.delete(route.processId);
    this.serverRequests.forget(route.processId);
  }

  #cancel(requestId: string): void {
    if (!this.supports("http/cancel") || this.#link === undefined) return;
    this.#calls.once(this.#link, "http/cancel", { requestId }).catch(() => {
      // The body ends with its connection anyway.
    });
  }

  // Links.

  #open(resumeSessionId: string | undefined, signal: AbortSignal) {
    let current: Link | undefined;
    const events: LinkEvents = {
      request: (method, params) => this.serverRequests.answer(method, params),
      notification: (method, params) => {
        try {
          receiveNotification(this.#recipients, method, params);
        } catch (error) {
          // An internal fault ends the connection, not the program.
          if (!(error instanceof ProtocolError))
            this.#options.logger.error("a notification is invalid", {
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
    this.#connections += 1;
    this.#budget.connected();
    this.#sessionId = sessionId;
    this.#environment = environmentInfo ?? this.#environment;
    this.#flow.renew();
    this.#calls.use(link);
    this.#state.change("connected");
  }

  #lost(reason: string | undefined): void {
    this.#link = undefined;
    this.#calls.lose();
    this.#budget.lost();
    const { message } = disconnected(reason);
    this.bodies.failAll(message);
    if (this.isClosing) this.#finish(undefined);
    else if (!this.#isResumable) this.#finish(new ConnectionError(message));
    else void this.#recover(message);
  }

  async #recover(message: string): Promise<void> {
    this.#state.change("recovering");
    const result = await recover(message, {
      budget: this.#budget,
      timeoutMs: this.#options.recoveryTimeoutMs,
      closing: this.#closing.signal,
      logger: this.#options.logger,
      attempt: (signal) => this.#recoverOnce(signal),
    });
    if (result !== "recovered") this.#finish(result === "closed" ? undefined : result);
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
    this.watches.renew();
    this.#orphans.terminate(opened.link);
  }

  /** Rejects only if the connection failed. A process that the server no longer knows is lost on its own. */
  async #catchUp(route: ProcessRoute): Promise<void> {
    try {
      await route.catchUp();
    } catch (error) {
      if (isTransient(error)) throw error;
      route.fail(unrecovered(route.processId, error));
      if (route.kept === undefined) this.#orphans.add(route.processId);
    }
  }

  async #leave(detach: boolean): Promise<void> {
    const link = this.#link;
    if (link === undefined) return;
    // Answers and the last events must be read, whatever readers do.
    this.#flow.release();
    link.resume();
    const own = [...this.#routes.values()].filter(({ kept }) => kept === undefined);
    if (!detach) await endProcesses(link, own);
    // Otherwise the server keeps the session for a while. Only servers with extensions are known to take the word.
    if (detach || this.#environment?.extensions === undefined) link.close();
    else link.close({ code: SESSION_OVER_CLOSE_CODE, reason: "" });
    await settledWithin(this.closed, CLOSE_DEADLINE_MS);
    link.destroy();
  }

  /** Without an error, this side closed the session. */
  #finish(error: ExecError | undefined): void {
    const end = error ?? closedHere();
    this.#end = end;
    this.#link = undefined;
    for (const route of this.#routes.values()) route.fail(end);
    for (const feed of this.#feeds) feed.end();
    this.#calls.finish(end);
    this.bodies.failAll(end.message);
    this.watches.endAll(end);
    this.#state.change("closed");
    this.#state.forget();
    this.#closed.resolve({ reason: error?.message, code: error?.code });
  }
}

/** Requests everything that the server still has after a number. */
function readParams(processId: string, afterSeq: number): Params<"process/read"> {
  return { processId, afterSeq, maxBytes: null, waitMs: 0 };
}

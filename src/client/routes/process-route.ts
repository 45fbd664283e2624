import { createDeferred, type Deferred } from "../../base/deferred.ts";
import { after } from "../../base/duration.ts";
import { ProtocolError, UsageError, type ExecError } from "../../base/errors.ts";
import type { ReadResult } from "../../protocol/process.ts";
import { EventHistory } from "./event-history.ts";
import { EventOrder } from "./event-order.ts";
import { type ExitReport, type NumberedEvent, type ProcessEvent, reportOf } from "./process-events.ts";
import { eventsOfRead, withGaps } from "./read-events.ts";
import { type Followed, type Reread, Subscription, type SubscriptionOptions } from "./subscription.ts";

/** How long a number may be missing after later ones have arrived. Servers may swap neighbouring events. */
const MISSING_MS = 500;
/** How often the server is asked for a missing number before it becomes a gap. */
const MAX_ASKED = 3;
/** Timeout for the answer to that, which comes behind all output that is under way. */
const ANSWER_MS = 30_000;

/** What a route needs from its session. */
export interface RouteOwner {
  /** Reads everything the server still has after a number, for `ProcessRoute.catchUp`. */
  readForCatchUp(route: ProcessRoute, afterSeq: number): Promise<ReadResult>;
  /** The same for a reader, as far as one answer goes: it is retried until there is one. */
  readAgain(
    processId: string,
    afterSeq: number,
    options: { readonly fromDisk: boolean },
  ): Promise<ReadResult>;
  /** Whether the server can have more of the output than its memory holds. */
  readonly readsBack: boolean;
  /** Asks the server to pause or resume this process. */
  hold(processId: string, on: boolean): void;
  /**
   * An event is missing and will not arrive on its own: the route must catch up. False if that has to wait for a
   * connection.
   */
  overdue(route: ProcessRoute): boolean;
  /** Called with every event, in order, for readers that follow every process. */
  published(route: ProcessRoute, event: ProcessEvent): void;
  /** No more events will arrive: the route can be forgotten. */
  finished(route: ProcessRoute): void;
}

/** How a kept process is attached. */
export interface KeptRoute {
  readonly name: string;
  readonly mode: "follow" | "control";
  /** Undefined for the client's own process. */
  readonly owner?: string;
}

/** Receives the events of one process, puts them in order and passes them on. */
export class ProcessRoute implements Followed {
  readonly processId: string;
  /** The server knows the process. A start may have to wait for a connection. */
  started = false;
  /** Set once the server has reported the start, if that was requested. */
  pid: number | undefined;
  /** Set for a kept process, which does not end with the session. */
  kept: KeptRoute | undefined;
  #firstSeq = 1;
  readonly #owner: RouteOwner;
  readonly #order = new EventOrder((event) => this.#publish(event));
  readonly #history = new EventHistory();
  readonly #subscriptions = new Set<Subscription>();
  readonly #exited = createDeferred<ExitReport>();
  readonly #closed = createDeferred<void>();
  readonly exited = this.#exited.promise;
  readonly closed = this.#closed.promise;
  /** The last two events, which must outlive the history. */
  readonly #ends: NumberedEvent[] = [];
  #exitKnown = false;
  #holds = 0;
  /** Events were dropped since the server was last asked. */
  #missed = false;
  #catchingUp: Promise<void> | undefined;
  #wake = 0;
  #woken: Deferred<void> | undefined;
  #failure: ExecError | undefined;
  /** Cancels waiting for a missing number, if any. */
  #stopMissing: (() => void) | undefined;
  #asked = 0;
  #finished = false;

  constructor(processId: string, owner: RouteOwner) {
    this.processId = processId;
    this.#owner = owner;
    // Unhandled rejections are fine: not every caller waits.
    this.exited.catch(() => {});
    this.closed.catch(() => {});
  }

  get finished(): boolean {
    return this.#finished;
  }

  get failure(): ExecError | undefined {
    return this.#failure;
  }

  /** True if the process has ended, though its output may not have. */
  get exitKnown(): boolean {
    return this.#exitKnown || this.#finished;
  }

  get lastSeq(): number {
    return this.#order.lastSeq;
  }

  /** Number of the first event that readers get. */
  get firstSeq(): number {
    return this.#firstSeq;
  }

  /** Leaves out earlier events. Catch up afterwards. */
  startAt(seq: number): void {
    this.#firstSeq = seq;
    this.#order.startAt(seq);
  }

  get held(): boolean {
    return this.#holds > 0;
  }

  /** Increases with every event; for readers that poll. */
  get wake(): number {
    return this.#wake;
  }

  /** Resolves when `wake` is no longer `after`. */
  async woken(after: number): Promise<number> {
    while (this.#wake === after && !this.#finished) {
      this.#woken ??= createDeferred();
      await this.#woken.promise;
    }
    return this.#wake;
  }

  /** An event from the server, in any order. */
  receive(event: NumberedEvent): void {
    if (this.#finished) return;
    this.#wakeReaders(Math.max(this.#wake, event.seq));
    const { lastSeq } = this.#order;
    if (!this.#order.add(event)) {
      this.#missed = true;
      this.#owner.overdue(this);
    } else if (this.#order.lastSeq > lastSeq) {
      this.#asked = 0;
      this.#watchMissing();
    } else if (this.#stopMissing === undefined) {
      this.#watchMissing();
    }
  }

  /**
   * Rereads missing events. Resolves when the route is up to date with the server; rejects if the server cannot tell.
   */
  catchUp(): Promise<void> {
    this.#catchingUp ??= this.#catchUp().finally(() => {
      this.#catchingUp = undefined;
    });
    return this.#catchingUp;
  }

  /** Reported at once, and at most once. */
  fail(error: ExecError): void {
    if (this.#finished) return;
    this.#failure = error;
    this.#finished = true;
    this.#stopMissing?.();
    this.#wakeReaders(this.#wake + 1);
    this.#hand({ kind: "failed", message: error.message, code: error.code });
    this.#exited.reject(error);
    this.#closed.reject(error);
    this.#owner.finished(this);
  }

  /** Events from the first one on. A reader that stops makes the process wait. */
  subscribe(options?: SubscriptionOptions): Subscription {
    const subscription = new Subscription(this, this.#history, options);
    if (!this.#finished) this.#subscriptions.add(subscription);
    return subscription;
  }

  hold(on: boolean): void {
    this.#holds += on ? 1 : -1;
    if (!this.#finished && this.#holds === (on ? 1 : 0)) this.#owner.hold(this.processId, on);
  }

  get readsBack(): boolean {
    return this.#owner.readsBack;
  }

  async readAgain(afterSeq: number, options: { readonly fromDisk: boolean }): Promise<Reread> {
    try {
      const read = await this.#owner.readAgain(this.processId, afterSeq, options);
      return { events: eventsOfRead(afterSeq, read, false), isPart: read.more === true };
    } catch (error) {
      if (!this.#finished || this.#failure !== undefined) throw error;
      // The server has forgotten the process, but this side knows how it ended.
      const ends = this.#ends.filter((event) => event.seq > afterSeq);
      return { events: withGaps(afterSeq, ends, this.#order.lastSeq), isPart: false };
    }
  }

  unsubscribe(subscription: Subscription): void {
    this.#subscriptions.delete(subscription);
  }

  async #catchUp(): Promise<void> {
    do {
      this.#missed = false;
      const afterSeq = this.#order.lastSeq;
      const read = await this.#owner.readForCatchUp(this, afterSeq);
      this.#order.merge(eventsOfRead(afterSeq, read, this.#exitKnown));
    } while (this.#missed && !this.#finished);
    this.#watchMissing();
  }

  /**
   * Requests a number that is missing although later ones have arrived, and finally gives up on it: a known end must
   * not wait forever.
   */
  #watchMissing(): void {
    this.#stopMissing?.();
    this.#stopMissing = undefined;
    if (this.#finished || !this.#order.isWaiting) return;
    this.#stopMissing = after(MISSING_MS, () => {
      this.#stopMissing = undefined;
      if (this.#asked >= MAX_ASKED) {
        this.#skipMissing();
      } else if (this.#owner.overdue(this)) {
        this.#asked += 1;
        const question = this.#catchingUp;
        // The answer arrives here again.
        this.#stopMissing ??= after(ANSWER_MS, () => this.#unanswered(question));
      } else {
        this.#watchMissing();
      }
    });
  }

  /** Throws if the process may only be read. */
  needsControl(): void {
    const { kept } = this;
    if (kept?.mode === "follow")
      throw new UsageError(
        `the kept process ${kept.name} is attached in mode follow; attach in mode control to change it`,
      );
  }

  /** A question that was lost with its connection says nothing about the server. */
  #unanswered(question: Promise<void> | undefined): void {
    if (question !== undefined && question === this.#catchingUp) {
      this.#skipMissing();
      return;
    }
    this.#asked -= 1;
    this.#watchMissing();
  }

  #skipMissing(): void {
    this.#asked = 0;
    this.#order.skipMissing();
    this.#watchMissing();
  }

  #publish(event: NumberedEvent): void {
    this.#wakeReaders(Math.max(this.#wake, event.seq));
    if (event.kind === "exited") {
      if (this.#exitKnown) {
        this.fail(new ProtocolError(`the server reported that process ${this.processId} exited twice`));
        return;
      }
      this.#exitKnown = true;
      this.#ends.push(event);
    }
    this.#hand(event);
    if (event.kind === "exited") {
      this.#exited.resolve(reportOf(event));
    } else if (event.kind === "closed") {
      this.#ends.push(event);
      this.#finished = true;
      this.#stopMissing?.();
      this.#exited.resolve({ exitCode: null, sandboxDenied: false });
      this.#closed.resolve();
      this.#owner.finished(this);
    }
  }

  #hand(event: ProcessEvent): void {
    this.#history.add(event);
    this.#owner.published(this, event);
    for (const subscription of this.#subscriptions) subscription.push(event);
  }

  #wakeReaders(wake: number): void {
    if (wake === this.#wake) return;
    this.#wake = wake;
    this.#woken?.resolve();
    this.#woken = undefined;
  }
}

import { createDeferred, type Deferred } from "../base/deferred.ts";
import { ConnectionError, ProtocolError } from "../base/errors.ts";
import type { ReadResult } from "../protocol/process.ts";
import { EventHistory } from "./event-history.ts";
import { EventOrder } from "./event-order.ts";
import {
  type ExitReport,
  failedEvent,
  type NumberedEvent,
  type ProcessEvent,
  reportOf,
} from "./process-events.ts";
import { eventsOfRead, withGaps } from "./read-events.ts";
import { type Followed, Subscription, type SubscriptionOptions } from "./subscription.ts";

/** What a route needs of its session. */
export interface RouteOwner {
  /** Reads everything after a number that the server still has. */
  readAfter(processId: string, afterSeq: number): Promise<ReadResult>;
  /** Asks the server to wait with this process, or not to. */
  hold(processId: string, on: boolean): void;
  /** An event is missing and will not come by itself: the route has to catch up. */
  overdue(route: ProcessRoute): void;
  /** No further event will come: the route may be forgotten. */
  finished(route: ProcessRoute): void;
}

/** Where the events of one process arrive, are put in order and handed on. */
export class ProcessRoute implements Followed {
  readonly processId: string;
  /** The server knows the process. A start may have to wait for a connection. */
  started = false;
  readonly #owner: RouteOwner;
  readonly #order = new EventOrder((event) => this.#publish(event));
  readonly #history = new EventHistory();
  readonly #subscriptions = new Set<Subscription>();
  readonly #exited = createDeferred<ExitReport>();
  readonly #closed = createDeferred<void>();
  /** The last two events, which must outlive the history. */
  readonly #ends: NumberedEvent[] = [];
  #exitKnown = false;
  #holds = 0;
  /** Events were given up since the server was last asked. */
  #missed = false;
  #catchingUp: Promise<void> | undefined;
  #wake = 0;
  #woken: Deferred<void> | undefined;
  #failure: string | undefined;
  #finished = false;

  constructor(processId: string, owner: RouteOwner) {
    this.processId = processId;
    this.#owner = owner;
    // Whoever waits is told; nobody has to.
    this.#exited.promise.catch(() => {});
    this.#closed.promise.catch(() => {});
  }

  get exited(): Promise<ExitReport> {
    return this.#exited.promise;
  }

  get closed(): Promise<void> {
    return this.#closed.promise;
  }

  get finished(): boolean {
    return this.#finished;
  }

  get failure(): string | undefined {
    return this.#failure;
  }

  get lastSeq(): number {
    return this.#order.lastSeq;
  }

  get held(): boolean {
    return this.#holds > 0;
  }

  /** Grows with every event; for readers that poll. */
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

  /** An event that the server told, in whatever order. */
  receive(event: NumberedEvent): void {
    if (this.#finished) return;
    this.#wakeReaders(Math.max(this.#wake, event.seq));
    if (this.#order.add(event)) return;
    this.#missed = true;
    this.#owner.overdue(this);
  }

  /** Reads again what is missing. Resolves when the route is as new as the server; rejects when the server cannot say. */
  catchUp(): Promise<void> {
    this.#catchingUp ??= this.#catchUp().finally(() => {
      this.#catchingUp = undefined;
    });
    return this.#catchingUp;
  }

  /** Told at once, and at most once. */
  fail(reason: string | ProtocolError): void {
    if (this.#finished) return;
    const error = typeof reason === "string" ? new ConnectionError(reason) : reason;
    this.#failure = error.message;
    this.#finished = true;
    this.#wakeReaders(this.#wake + 1);
    this.#hand(failedEvent(error));
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

  async readAgain(afterSeq: number): Promise<readonly NumberedEvent[]> {
    try {
      const read = await this.#owner.readAfter(this.processId, afterSeq);
      return eventsOfRead(afterSeq, read, false);
    } catch (error) {
      if (!this.#finished || this.#failure !== undefined) throw error;
      // The server has forgotten the process. How it ended is known here.
      const ends = this.#ends.filter((event) => event.seq > afterSeq);
      return withGaps(afterSeq, ends, this.#order.lastSeq);
    }
  }

  unsubscribe(subscription: Subscription): void {
    this.#subscriptions.delete(subscription);
  }

  async #catchUp(): Promise<void> {
    do {
      this.#missed = false;
      const afterSeq = this.#order.lastSeq;
      const read = await this.#owner.readAfter(this.processId, afterSeq);
      this.#order.merge(eventsOfRead(afterSeq, read, this.#exitKnown));
    } while (this.#missed && !this.#finished);
  }

  #publish(event: NumberedEvent): void {
    this.#wakeReaders(Math.max(this.#wake, event.seq));
    if (event.kind === "exited") {
      if (this.#exitKnown) {
        this.fail(new ProtocolError(`process ${this.processId} was told to have exited twice`));
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
      this.#exited.resolve({ exitCode: null, sandboxDenied: false });
      this.#closed.resolve();
      this.#owner.finished(this);
    }
  }

  #hand(event: ProcessEvent): void {
    this.#history.add(event);
    for (const subscription of this.#subscriptions) subscription.push(event);
  }

  #wakeReaders(wake: number): void {
    if (wake === this.#wake) return;
    this.#wake = wake;
    this.#woken?.resolve();
    this.#woken = undefined;
  }
}

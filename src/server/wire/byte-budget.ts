import { RpcError } from "../../base/errors.ts";
import { Fifo } from "../../base/fifo.ts";
import { RpcCode } from "../../protocol/errors.ts";
import { HIGH_WATER_BYTES } from "../../transport/transport.ts";
import type { ServerLimits } from "../settings/limits.ts";

type BudgetLimits = Pick<ServerLimits, "maxBufferedBytes" | "maxBufferedBytesPerConnection">;

/** Bytes that every connection may hold regardless of others, so that its small requests never wait for them. */
const GUARANTEED_BYTES = HIGH_WATER_BYTES;
/** Time that a client admitted beyond the server's budget has to read before another is admitted. */
const PATIENCE_MS = 2_000;

/** The client that the bytes are for. */
export interface BudgetedClient {
  /** Bytes it has not read. */
  queuedBytes(): number;
  /** Calls back when the client has shown that it reads; returns false if it cannot be asked. */
  ping(answered: () => void): boolean;
}

/** A reservation that was admitted by the third rule; it may grow without waiting again. */
interface Exception {
  readonly connection: ConnectionBudget;
  readonly reservation: Reservation;
  readonly since: number;
}

/**
 * Memory that the server spends on its clients: unread answers and answers in preparation. A request that wants bytes
 * gets them by the first rule that holds:
 *
 * 1. Its connection stays below the guaranteed bytes. So clients that have stopped reading cannot stop the others.
 * 2. Its connection stays below its own limit, and the server below its own. A single reservation of a connection may
 *    exceed the former, or an answer longer than the limit could never be sent.
 * 3. The server is full, but the connection is the first of those that answered a ping, and therefore read; and the one
 *    that was last admitted in this way has sent what it held, or has had its time.
 *
 * Otherwise it waits: for its own connection, or in the server's line.
 */
export class ByteBudget {
  readonly #limits: BudgetLimits;
  #reserved = 0;
  /** Connections whose unread bytes exceed the guarantee. */
  readonly #heavy = new Set<ConnectionBudget>();
  /**
   * Connections that wait for the server's budget, not their own, and have been pinged to find out whether they read.
   */
  readonly #asked = new Set<ConnectionBudget>();
  /** Connections that answered the ping, longest waiting first. */
  readonly #line = new Set<ConnectionBudget>();
  readonly #woken = new Set<ConnectionBudget>();
  #wakeScheduled = false;
  /** The connection last admitted beyond the budget. */
  #exception: Exception | undefined;
  #isPatient = false;

  constructor(limits: BudgetLimits) {
    this.#limits = limits;
  }

  connect(client: BudgetedClient): ConnectionBudget {
    return new ConnectionBudget(this, this.#limits.maxBufferedBytesPerConnection, client);
  }

  get isFull(): boolean {
    return this.used >= this.#limits.maxBufferedBytes;
  }

  /** Only for `ConnectionBudget`. */
  add(bytes: number): void {
    this.#reserved += bytes;
  }

  setHeavy(connection: ConnectionBudget, isHeavy: boolean): void {
    if (isHeavy) this.#heavy.add(connection);
    else this.#heavy.delete(connection);
  }

  /** True if the reservation may grow by `bytes`. Otherwise its connection joins the line and is woken to retry. */
  admits(connection: ConnectionBudget, reservation: Reservation, bytes: number): boolean {
    const [first] = this.#line;
    // A client that does not read does not block others.
    const isNext = first === undefined || first === connection;
    const mayExceed = first === connection;
    const fits = this.used + bytes <= this.#limits.maxBufferedBytes;
    const isException = this.#exception?.reservation === reservation;
    if (isException || (fits && isNext) || (mayExceed && this.#makeException(connection, reservation))) {
      this.leaveLine(connection);
      return true;
    }
    this.#ask(connection);
    this.#wakeLater();
    return false;
  }

  /** Lets waiting connections retry, after the one that freed memory has sent its answer. */
  wake(connection?: ConnectionBudget): void {
    if (connection !== undefined) this.#woken.add(connection);
    if (this.#wakeScheduled || this.#woken.size + this.#line.size + this.#asked.size === 0) return;
    this.#wakeScheduled = true;
    setImmediate(() => {
      this.#wakeScheduled = false;
      const waiting = [...this.#line, ...this.#asked, ...this.#woken];
      this.#woken.clear();
      for (const connection of waiting) connection.grant();
    });
  }

  leaveLine(connection: ConnectionBudget): void {
    this.#line.delete(connection);
    this.#asked.delete(connection);
  }

  forget(connection: ConnectionBudget): void {
    this.#heavy.delete(connection);
    this.leaveLine(connection);
    this.#woken.delete(connection);
    if (this.#exception?.connection === connection) this.#exception = undefined;
    this.wake();
  }

  /** Memory that all clients use. */
  get used(): number {
    let used = this.#reserved;
    for (const connection of this.#heavy) used += connection.queued;
    return used;
  }

  #ask(connection: ConnectionBudget): void {
    if (this.#line.has(connection) || this.#asked.has(connection)) return;
    this.#asked.add(connection);
    const answered = (): void => {
      // It may have been admitted in the meantime, or be gone.
      if (!this.#asked.delete(connection)) return;
      this.#line.add(connection);
      this.wake();
    };
    if (!connection.ping(answered)) answered();
  }

  #wakeLater(): void {
    if (this.#isPatient) return;
    this.#isPatient = true;
    setTimeout(() => {
      this.#isPatient = false;
      this.wake();
    }, PATIENCE_MS).unref();
  }

  #makeException(connection: ConnectionBudget, reservation: Reservation): boolean {
    const now = performance.now();
    const earlier = this.#exception;
    if (earlier !== undefined && !earlier.connection.isIdle && now - earlier.since < PATIENCE_MS)
      return false;
    this.#exception = { connection, reservation, since: now };
    return true;
  }
}

interface Waiter {
  readonly reservation: Reservation;
  readonly bytes: number;
  readonly resolve: () => void;
  readonly reject: (error: Error) => void;
}

/** The memory of one connection: answers in preparation, unread answers, stream data. */
export class ConnectionBudget {
  readonly #server: ByteBudget;
  readonly #maxBytes: number;
  readonly #client: BudgetedClient;
  readonly #waiters = new Fifo<Waiter>();
  /** Waiters of the overdrawn reservation, which go first. */
  readonly #urgent = new Fifo<Waiter>();
  #reserved = 0;
  /**
   * The one reservation that may exceed the budget, so that it can finish: others wait for it, it waits for none of
   * them.
   */
  #overdrawn: Reservation | undefined;
  #closed = false;

  constructor(server: ByteBudget, maxBytes: number, client: BudgetedClient) {
    this.#server = server;
    this.#maxBytes = maxBytes;
    this.#client = client;
  }

  /** Bytes the client has not read. */
  get queued(): number {
    return this.#client.queuedBytes();
  }

  ping(answered: () => void): boolean {
    return this.#client.ping(answered);
  }

  /** True if it holds less than the guaranteed bytes. */
  get isIdle(): boolean {
    return this.#reserved + this.queued < GUARANTEED_BYTES;
  }

  /** True if a request may start that reserves nothing for its answer. */
  get hasRoom(): boolean {
    const { queued } = this;
    if (queued < GUARANTEED_BYTES) return true;
    if (!this.#closed) this.#server.setHeavy(this, true);
    return queued + this.#reserved < this.#maxBytes && !this.#server.isFull;
  }

  /** An empty reservation that can grow. */
  open(): Reservation {
    return new Reservation(this);
  }

  /** Only for `Reservation`. */
  take(reservation: Reservation, bytes: number): Promise<void> | undefined {
    if (this.#closed) return Promise.reject(connectionEnded());
    const isUrgent = this.#overdrawn === reservation;
    if ((isUrgent || !this.#isAwaited) && this.#mayTake(reservation, bytes)) {
      this.#add(reservation, bytes);
      return undefined;
    }
    return new Promise((resolve, reject) => {
      (isUrgent ? this.#urgent : this.#waiters).push({ reservation, bytes, resolve, reject });
    });
  }

  /** Only for `Reservation`. */
  giveBack(reservation: Reservation, bytes: number): void {
    if (this.#overdrawn === reservation) this.#overdrawn = undefined;
    this.#reserved -= bytes;
    this.#server.add(-bytes);
    this.#server.wake(this.#isAwaited ? this : undefined);
  }

  /** Call when data was queued for the client, or taken by it. */
  queueChanged(): void {
    const isHeavy = this.queued >= GUARANTEED_BYTES;
    if (!this.#closed) this.#server.setHeavy(this, isHeavy);
    if (!isHeavy) this.#server.wake(this.#isAwaited ? this : undefined);
  }

  /** Admits every waiter that fits. */
  grant(): void {
    while (this.#isAwaited) {
      const waiters = this.#urgent.size > 0 ? this.#urgent : this.#waiters;
      const { reservation, bytes, resolve } = waiters.peek()!;
      if (!reservation.released && !this.#mayTake(reservation, bytes)) return;
      waiters.shift();
      if (!reservation.released) this.#add(reservation, bytes);
      resolve();
    }
    this.#server.leaveLine(this);
  }

  /** The connection is gone: nothing more is granted. */
  close(): void {
    this.#closed = true;
    for (const waiters of [this.#urgent, this.#waiters])
      for (let waiter = waiters.shift(); waiter !== undefined; waiter = waiters.shift())
        waiter.reject(connectionEnded());
    this.#server.forget(this);
  }

  get #isAwaited(): boolean {
    return this.#waiters.size > 0 || this.#urgent.size > 0;
  }

  #add(reservation: Reservation, bytes: number): void {
    reservation.bytes += bytes;
    this.#reserved += bytes;
    this.#server.add(bytes);
  }

  #mayTake(reservation: Reservation, bytes: number): boolean {
    const held = this.#reserved + this.queued + bytes;
    if (held <= GUARANTEED_BYTES) return true;
    if (held <= this.#maxBytes || this.#mayOverdraw(reservation))
      return this.#server.admits(this, reservation, bytes);
    this.#server.leaveLine(this);
    return false;
  }

  /** Not while answers are unread: each would make room for the next. */
  #mayOverdraw(reservation: Reservation): boolean {
    if (this.#overdrawn === undefined && this.queued < GUARANTEED_BYTES) this.#overdrawn = reservation;
    return this.#overdrawn === reservation;
  }
}

/** Bytes that one request may hold. */
export class Reservation {
  readonly #connection: ConnectionBudget;
  /** Written only by the connection's budget. */
  bytes = 0;
  released = false;

  constructor(connection: ConnectionBudget) {
    this.#connection = connection;
  }

  /**
   * Grows the reservation to at least `bytes`: at once, or when the promise resolves. It rejects if the connection
   * ends.
   */
  grow(bytes: number): Promise<void> | undefined {
    return bytes <= this.bytes || this.released ? undefined : this.#connection.take(this, bytes - this.bytes);
  }

  /** Returns everything. Send the answer in the same turn of the event loop. */
  release(): void {
    if (this.released) return;
    this.released = true;
    this.#connection.giveBack(this, this.bytes);
  }
}

function connectionEnded(): RpcError {
  return new RpcError(RpcCode.internal, "the connection has ended");
}

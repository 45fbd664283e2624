import { RpcError } from "../base/errors.ts";
import { Fifo } from "../base/fifo.ts";
import { RpcCode } from "../protocol/errors.ts";
import { HIGH_WATER_BYTES } from "../transport/transport.ts";
import type { ServerLimits } from "./limits.ts";

type BudgetLimits = Pick<ServerLimits, "maxBufferedBytes" | "maxBufferedBytesPerConnection">;

/** What a connection may hold whatever others do, so that its small requests never wait for them. */
export const GUARANTEED_BYTES = HIGH_WATER_BYTES;
/** Who was let past the server's budget has this long to read, before another is let past it too. */
const PATIENCE_MS = 2_000;

/** Whom the bytes are for. */
export interface BudgetedClient {
  /** What it has not read. */
  queuedBytes(): number;
  /** Calls back when the client has shown that it reads; returns false when it cannot be asked. */
  ping(answered: () => void): boolean;
}

interface Favour {
  readonly connection: ConnectionBudget;
  readonly reservation: Reservation;
  readonly since: number;
}

/**
 * The memory that the server spends on its clients: what waits to be read by them, and what is being made for them. Beyond the budget requests wait. Clients that
 * have stopped reading can use it up; then others still have their guaranteed bytes, and who answers a ping, and so reads, goes beyond the budget in its turn.
 */
export class ByteBudget {
  readonly #limits: BudgetLimits;
  #reserved = 0;
  /** Connections whose unread bytes exceed what is guaranteed. */
  readonly #heavy = new Set<ConnectionBudget>();
  /** Connections that wait for the server's budget, not for their own, and that were asked whether they read. */
  readonly #asked = new Set<ConnectionBudget>();
  /** Those that do, the longest waiting first. */
  readonly #line = new Set<ConnectionBudget>();
  readonly #woken = new Set<ConnectionBudget>();
  #wakeScheduled = false;
  /** The last one that was let past the budget. */
  #favoured: Favour | undefined;
  #isPatient = false;

  constructor(limits: BudgetLimits) {
    this.#limits = limits;
  }

  connect(client: BudgetedClient): ConnectionBudget {
    return new ConnectionBudget(this, this.#limits.maxBufferedBytesPerConnection, client);
  }

  get isFull(): boolean {
    return this.#used >= this.#limits.maxBufferedBytes;
  }

  /** Only for connections. */
  add(bytes: number): void {
    this.#reserved += bytes;
  }

  setHeavy(connection: ConnectionBudget, isHeavy: boolean): void {
    if (isHeavy) this.#heavy.add(connection);
    else this.#heavy.delete(connection);
  }

  /** True when a reservation may take that much more. Otherwise its connection is in the line, and asked to try again. */
  admits(connection: ConnectionBudget, reservation: Reservation, bytes: number): boolean {
    const [first] = this.#line;
    // A client that does not read stands in nobody's way.
    const isNext = first === undefined || first === connection;
    const mayExceed = first === connection;
    const fits = this.#used + bytes <= this.#limits.maxBufferedBytes;
    const isFavoured = this.#favoured?.reservation === reservation;
    if (isFavoured || (fits && isNext) || (mayExceed && this.#favour(connection, reservation))) {
      this.leaveLine(connection);
      return true;
    }
    this.#ask(connection);
    this.#wakeLater();
    return false;
  }

  /** Asks those who wait to try again, later than whoever has freed something has sent what it was for. */
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
    if (this.#favoured?.connection === connection) this.#favoured = undefined;
    this.wake();
  }

  get #used(): number {
    let used = this.#reserved;
    for (const connection of this.#heavy) used += connection.queued;
    return used;
  }

  #ask(connection: ConnectionBudget): void {
    if (this.#line.has(connection) || this.#asked.has(connection)) return;
    this.#asked.add(connection);
    const answered = (): void => {
      // It may have got what it wanted in the meantime, or be gone.
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

  #favour(connection: ConnectionBudget, reservation: Reservation): boolean {
    const now = performance.now();
    const earlier = this.#favoured;
    if (earlier !== undefined && !earlier.connection.isIdle && now - earlier.since < PATIENCE_MS)
      return false;
    this.#favoured = { connection, reservation, since: now };
    return true;
  }
}

interface Waiter {
  readonly reservation: Reservation;
  readonly bytes: number;
  readonly resolve: () => void;
  readonly reject: (error: Error) => void;
}

/** What one connection may hold: answers that are being made, unread ones, pieces of streams. */
export class ConnectionBudget {
  readonly #server: ByteBudget;
  readonly #maxBytes: number;
  readonly #client: BudgetedClient;
  readonly #waiters = new Fifo<Waiter>();
  /** Those of the overdrawn reservation, which go first. */
  readonly #urgent = new Fifo<Waiter>();
  #reserved = 0;
  /** The one that may go beyond the budget, so that it can end: others wait for it and not it for them. */
  #overdrawn: Reservation | undefined;
  #closed = false;

  constructor(server: ByteBudget, maxBytes: number, client: BudgetedClient) {
    this.#server = server;
    this.#maxBytes = maxBytes;
    this.#client = client;
  }

  /** What the client has not read. */
  get queued(): number {
    return this.#client.queuedBytes();
  }

  ping(answered: () => void): boolean {
    return this.#client.ping(answered);
  }

  /** True when it holds no more than every connection may. */
  get isIdle(): boolean {
    return this.#reserved + this.queued < GUARANTEED_BYTES;
  }

  /** True when a request may be started whose answer is not reserved for. */
  get hasRoom(): boolean {
    const { queued } = this;
    if (queued < GUARANTEED_BYTES) return true;
    if (!this.#closed) this.#server.setHeavy(this, true);
    return queued + this.#reserved < this.#maxBytes && !this.#server.isFull;
  }

  /** A reservation of nothing, which can grow. */
  open(): Reservation {
    return new Reservation(this);
  }

  /** Resolves when that much may be held. Rejects when the connection ends first. Release it when the answer is given. */
  async reserve(bytes: number): Promise<Reservation> {
    const reservation = this.open();
    await reservation.grow(bytes);
    return reservation;
  }

  /** For reservations. */
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

  /** For reservations. */
  giveBack(reservation: Reservation, bytes: number): void {
    if (this.#overdrawn === reservation) this.#overdrawn = undefined;
    this.#reserved -= bytes;
    this.#server.add(-bytes);
    this.#server.wake(this.#isAwaited ? this : undefined);
  }

  /** Something was queued for the client, or taken by it. */
  queueChanged(): void {
    const isHeavy = this.queued >= GUARANTEED_BYTES;
    if (!this.#closed) this.#server.setHeavy(this, isHeavy);
    if (!isHeavy) this.#server.wake(this.#isAwaited ? this : undefined);
  }

  /** Lets those go on who may. */
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

  /** The connection is gone: nothing is granted any more. */
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

  /** Not while the client leaves its answers unread: each would make room for the next one. */
  #mayOverdraw(reservation: Reservation): boolean {
    if (this.#overdrawn === undefined && this.queued < GUARANTEED_BYTES) this.#overdrawn = reservation;
    return this.#overdrawn === reservation;
  }
}

/** Bytes that one request may hold. */
export class Reservation {
  readonly #connection: ConnectionBudget;
  /** Only its connection's budget writes it. */
  bytes = 0;
  released = false;

  constructor(connection: ConnectionBudget) {
    this.#connection = connection;
  }

  /** Makes it at least that large: at once, or when the promise resolves, which rejects when the connection ends. */
  grow(bytes: number): Promise<void> | undefined {
    return bytes <= this.bytes || this.released ? undefined : this.#connection.take(this, bytes - this.bytes);
  }

  /** Gives everything back. Whoever answers with what it was for does so in the same turn of the event loop. */
  release(): void {
    if (this.released) return;
    this.released = true;
    this.#connection.giveBack(this, this.bytes);
  }
}

function connectionEnded(): RpcError {
  return new RpcError(RpcCode.internal, "the connection has ended");
}

import { setImmediate as nextTurn } from "node:timers/promises";
import { abortable, within } from "../base/deadlines.ts";
import { formatDuration } from "../base/duration.ts";
import { ConnectionError } from "../base/errors.ts";
import type { Transport } from "../transport/transport.ts";
import { inboxOf } from "./address.ts";
import type { Beat } from "./beat.ts";
import type { Bus } from "./bus.ts";
import { dial, type DialOptions, type FollowRuns } from "./dial.ts";
import type { FleetAddress } from "./fleet-address.ts";
import { Mailboxes } from "./mailboxes.ts";
import { openBus, type OpenBusOptions } from "./open-bus.ts";
import { Roster, type RosterChange } from "./roster.ts";
import { BEATS, isConnectionOfExecutor, ROLL_CALL } from "./subjects.ts";

/** A bus with this end as its only user. */
export interface OwnBus extends Bus {
  flush(): Promise<void>;
  close(): Promise<void>;
}

/** `recovering` while NATS is away: the list stands still, and connections wait or are resumed later. */
export type FleetLinkState = "connected" | "recovering" | "closed";

/** One connection to NATS, for the list of executors and for all connections to them. */
export class FleetLink {
  readonly #bus: OwnBus;
  readonly #mailboxes: Mailboxes;
  readonly #roster: Roster;
  readonly #unwatch: () => void;
  /** Changes with each connection to NATS: an answer to an earlier one may be lost. */
  #epoch = 0;
  /** Shared by everyone who wants the current state of the executors. */
  #lastCall: Promise<void> = Promise.resolve();
  #nextCall: Promise<void> | undefined;
  /** A subject without which the executors cannot be listed. */
  #denied: string | undefined;
  #endReason: string | undefined;

  constructor(bus: OwnBus, inbox: string, stateChanged: (state: FleetLinkState) => void) {
    this.#bus = bus;
    const needed = new Set([`${inbox}.*`, BEATS, ROLL_CALL]);
    this.#unwatch = bus.watch({
      disconnected: () => stateChanged("recovering"),
      reconnected: () => {
        this.#epoch += 1;
        stateChanged("connected");
      },
      denied: (subject) => {
        if (needed.has(subject)) this.#denied ??= subject;
      },
      ended: (reason) => {
        this.#endReason ??= reason;
        stateChanged("closed");
      },
    });
    this.#mailboxes = new Mailboxes(bus, inbox, isConnectionOfExecutor);
    this.#roster = new Roster(bus, this.#mailboxes);
  }

  /** Resolves when the list is complete. Rejects with a ConnectionError. */
  static async open(
    address: FleetAddress,
    { timeoutMs, signal }: OpenBusOptions,
    stateChanged: (state: FleetLinkState) => void,
  ): Promise<FleetLink> {
    const inbox = inboxOf(address);
    const started = performance.now();
    const link = new FleetLink(await openBus(address, { timeoutMs, signal }), inbox, stateChanged);
    const left = Math.max(0, timeoutMs - (performance.now() - started));
    const late = (): Error =>
      new ConnectionError(`the fleet could not be listed within ${formatDuration(timeoutMs)}`, {
        code: "TIMED_OUT",
      });
    try {
      await abortable(within(link.complete(), left, late), signal);
      return link;
    } catch (error) {
      await link.close();
      throw error;
    }
  }

  /** Resolves when everyone has answered a call that NATS did not interrupt. */
  async complete(): Promise<void> {
    for (let calling = this.#roster.ready; ; calling = this.#roster.call()) {
      const epoch = this.#epoch;
      await this.#bus.flush().catch(() => {}); // NATS is away again, which the end of the loop sees.
      // A denial arrives before the answer to the flush, but is reported in a later turn.
      await nextTurn();
      if (this.#denied !== undefined)
        throw new ConnectionError(
          `NATS does not permit this client to list the executors: it may not use the subject ${this.#denied}`,
          { status: 403 },
        );
      await calling;
      if (this.#endReason !== undefined) throw new ConnectionError(this.#endReason);
      if (epoch === this.#epoch && this.#bus.isConnected) return;
    }
  }

  /** Resolves when everyone has announced its condition. */
  refresh(): Promise<void> {
    // A call in progress may already have been answered. Requests that arrive meanwhile share the next one.
    this.#nextCall ??= this.#lastCall.then(() => {
      this.#nextCall = undefined;
      this.#lastCall = this.#roster.call();
      return this.#lastCall;
    });
    return this.#nextCall;
  }

  list(): Beat[] {
    return this.#roster.list();
  }

  watch(watcher: (change: RosterChange) => void): () => void {
    return this.#roster.watch(watcher);
  }

  /** See `dial`. */
  async dial(id: string, options: DialOptions): Promise<Transport> {
    if (this.#endReason !== undefined) throw new ConnectionError(this.#endReason);
    const followRuns: FollowRuns = (...runs) => this.#roster.follow(...runs);
    return dial(this.#bus, this.#mailboxes, id, { ...options, followRuns });
  }

  async close(): Promise<void> {
    this.#endReason ??= "the fleet is closed";
    this.#unwatch();
    this.#roster.close();
    this.#mailboxes.close();
    await this.#bus.close();
  }
}

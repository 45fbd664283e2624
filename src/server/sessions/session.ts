import { RpcError } from "../../base/errors.ts";
import type { ProcessStarter } from "../../capabilities/process/process-starter.ts";
import { RpcCode } from "../../protocol/errors.ts";
import { DeliveryReceipts } from "../processes/delivery-receipts.ts";
import { EventPump } from "../processes/event-pump.ts";
import type { Peer } from "../connection/peer.ts";
import { PolicyClient } from "../network/policy-client.ts";
import type { ProcessSlot } from "../processes/process-quota.ts";
import { type ProcessEntry, ProcessTable } from "../processes/process-table.ts";

/** Maximum number of attached processes of other sessions per connection. */
const MAX_GUESTS = 1024;

/** A process of another session. */
export interface Guest {
  readonly owner: Session;
  readonly processId: string;
  readonly entry: ProcessEntry;
}

function isKnown({ owner, processId, entry }: Guest): boolean {
  return owner.processes.get(processId) === entry;
}

/** What outlives a connection: processes, and the connection that currently follows them. */
export class Session {
  readonly id: string;
  /** Takes a slot for a process that is not in the session's table; throws if none is free. */
  readonly takeSlot: () => ProcessSlot;
  readonly processes: ProcessTable;
  /** Asks the client about the network of processes. */
  readonly policyClient = new PolicyClient(() => this.#peer);
  #peer: Peer | undefined;
  #pump: EventPump | undefined;
  #receipts: DeliveryReceipts | undefined;
  /** Attached processes of other sessions, by their ids on this connection. */
  readonly #guests = new Map<string, Guest>();

  constructor(
    id: string,
    options: {
      starter: ProcessStarter;
      retentionMs: number;
      maxUnheard: number;
      takeSlot: () => ProcessSlot;
    },
  ) {
    this.id = id;
    this.takeSlot = options.takeSlot;
    this.processes = new ProcessTable({
      starter: options.starter,
      retentionMs: options.retentionMs,
      maxUnheard: options.maxUnheard,
      takeSlot: options.takeSlot,
      // The connection attached by now follows it, which may not be the one that asked.
      started: (processId, process) => this.#pump?.follow(processId, process),
      closed: (processId) => {
        // If the pump follows the process, it reports when the last event was sent; without a connection, wait for the
        // next one.
        if (this.#pump?.isFollowed(processId) === false) this.#told(processId);
      },
    });
  }

  /** Sends live events to this connection from now on. Earlier events are read with process/read. */
  attach(peer: Peer): void {
    this.#peer = peer;
    const pump = new EventPump(peer, (processId) => this.#told(processId));
    this.#pump = pump;
    this.#receipts = new DeliveryReceipts(peer);
    for (const [id, { process }] of this.processes)
      if (process.state.closed) this.#told(id);
      else pump.follow(id, process);
  }

  detach(): void {
    this.#peer = undefined;
    this.#pump?.stop();
    this.#pump = undefined;
    this.#receipts?.stop();
    this.#receipts = undefined;
    this.#guests.clear();
  }

  /** The client has been sent the end of a process, or can find out. It has heard of it once it has read that far. */
  #told(processId: string): void {
    const entry = this.processes.get(processId);
    if (entry === undefined) return;
    this.#receipts?.confirm(() => this.processes.heard(entry));
  }

  drain(): void {
    this.#pump?.drain();
  }

  /** Stops or restarts sending events of a process; false if they are not sent at all. */
  setFlow(processId: string, { paused }: { paused: boolean }): boolean {
    return (paused ? this.#pump?.hold(processId) : this.#pump?.release(processId)) ?? false;
  }

  /** True if events of that id are sent to the connection. */
  isFollowed(processId: string): boolean {
    return this.#pump?.isFollowed(processId) ?? false;
  }

  /** Sends the events of one of the session's own processes again. */
  follow(processId: string, { process }: ProcessEntry, fromSeq: number | undefined): void {
    this.#pump?.follow(processId, process, fromSeq === undefined ? {} : { fromSeq });
  }

  /** Sends the events of another session's process, which never waits for this connection. */
  followGuest(id: string, guest: Guest, fromSeq: number | undefined): void {
    if (this.#guests.size >= MAX_GUESTS) this.#forgetGoneGuests();
    if (this.#guests.size >= MAX_GUESTS)
      throw new RpcError(
        RpcCode.invalidRequest,
        `process/attach: the connection has ${MAX_GUESTS} attached processes`,
      );
    this.#guests.set(id, guest);
    this.#pump?.follow(id, guest.entry.process, {
      loose: true,
      ...(fromSeq === undefined ? {} : { fromSeq }),
    });
  }

  unfollow(processId: string): void {
    this.#pump?.unfollow(processId);
    this.#guests.delete(processId);
  }

  /** A process attached under that id, as long as its own session knows it. */
  guest(id: string): ProcessEntry | undefined {
    const guest = this.#guests.get(id);
    return guest !== undefined && isKnown(guest) ? guest.entry : undefined;
  }

  #forgetGoneGuests(): void {
    for (const [id, guest] of this.#guests) if (!isKnown(guest)) this.unfollow(id);
  }

  /** True if the id names a process that has not ended, and no start with it is in progress. */
  isRunning(processId: string): boolean {
    if (this.processes.starting(processId) !== undefined) return false;
    const entry = this.processes.get(processId) ?? this.guest(processId);
    return entry !== undefined && entry.process.state.exitCode === undefined;
  }

  /** Kills what still runs. Its last events are sent if a connection is attached. */
  async end(): Promise<void> {
    await this.processes.killAll();
    this.detach();
  }
}

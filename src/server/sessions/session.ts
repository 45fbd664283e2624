import { RpcError } from "../../base/errors.ts";
import type { ManagedProcess } from "../../capabilities/process/managed-process.ts";
import type { TerminalSize } from "../../native/spawn.ts";
import { RpcCode } from "../../protocol/errors.ts";
import { DeliveryReceipts } from "./delivery-receipts.ts";
import { EventPump } from "./event-pump.ts";
import type { Party } from "../access/credential.ts";
import type { Peer } from "../wire/peer.ts";
import { PolicyClient } from "../sandbox/policy-client.ts";
import type { ProcessSlot } from "./process-quota.ts";
import { type ProcessEntry, ProcessTable, type ProcessTableOptions } from "./process-table.ts";
import type { Attachment } from "./attachment.ts";
import type { WriteIds } from "./write-ids.ts";

/** Maximum number of attachments per session. */
const MAX_ATTACHMENTS = 1024;
/**
 * Maximum number of closed processes per session whose end is known. At 200 short processes a second, all of them are
 * still kept for the usual 80 s.
 */
const MAX_HEARD_PROCESSES = 16_384;

/** A process that a client may change: one of its session, or a kept one that it controls. */
export interface Controlled {
  readonly process: ManagedProcess;
  /** Ids of applied writes, if any; a client repeats a write whose answer was lost. */
  writeIds?: WriteIds;
  /** Called on input: other clients control the process too, and the last writer matters. */
  typed?(): void;
  /** Others share the window. */
  resize?(size: TerminalSize): void;
}

interface AttachedConnection {
  readonly peer: Peer;
  readonly pump: EventPump;
  readonly receipts: DeliveryReceipts;
}

/** The state that outlives a connection: processes, and the connection that currently follows them. */
export class Session {
  readonly id: string;
  readonly openedAtMs = Date.now();
  /** The client's own name for itself. */
  clientName = "";
  /** Takes a slot for a process that is not in the session's table; throws if none is free. */
  readonly takeSlot: () => ProcessSlot;
  readonly processes: ProcessTable;
  /** Asks the client about the network of processes. */
  readonly policyClient = new PolicyClient(() => this.#connection?.peer);
  #connection: AttachedConnection | undefined;
  /** Processes that do not belong to the session, by their ids on its connections. */
  readonly #attachments = new Map<string, Attachment>();
  readonly #keptStarts = new Map<string, Promise<unknown>>();

  constructor(id: string, options: Omit<ProcessTableOptions, "maxHeard" | "started" | "closed">) {
    this.id = id;
    this.takeSlot = options.takeSlot;
    this.processes = new ProcessTable({
      ...options,
      maxHeard: MAX_HEARD_PROCESSES,
      // The currently attached connection follows it, which may not be the one that requested it.
      started: (processId, process) => this.#connection?.pump.follow(processId, process),
      closed: (processId) => {
        // If the pump follows the process, it reports when the last event was sent; without a connection, wait for the
        // next one.
        if (this.#connection?.pump.isFollowed(processId) === false) this.#closedReported(processId);
      },
    });
  }

  /**
   * Sends live events to this connection from now on. Earlier events are read with process/read. Kept processes stay
   * attached if the client may still use them.
   */
  attach(client: Party & { readonly peer: Peer }): void {
    const { peer } = client;
    const pump = new EventPump(peer, (processId) => this.#closedReported(processId));
    this.#connection = { peer, pump, receipts: new DeliveryReceipts(peer) };
    for (const [id, { process }] of this.processes)
      if (process.state.closed) this.#closedReported(id);
      else pump.follow(id, process);
    for (const [id, attached] of this.#attachments) {
      if (!attached.isKnown || !attached.isFor(client)) {
        this.#attachments.delete(id);
        continue;
      }
      attached.join();
      if (!attached.process.state.closed) pump.follow(id, attached.process, { loose: true });
    }
  }

  detach(): void {
    this.#connection?.pump.stop();
    this.#connection?.receipts.stop();
    this.#connection = undefined;
    for (const [id, attached] of this.#attachments) {
      attached.leave();
      if (!attached.isKept) this.#attachments.delete(id);
    }
  }

  /** The client has been sent the end of a process, or can find out. It has heard of it once it has read that far. */
  #closedReported(processId: string): void {
    const entry = this.processes.get(processId);
    if (entry === undefined) return;
    this.#connection?.receipts.confirm(() => this.processes.heard(entry));
  }

  drain(): void {
    this.#connection?.pump.drain();
  }

  /** Stops or restarts sending events of a process; false if they are not sent at all. */
  setFlow(processId: string, flow: { paused: boolean }): boolean {
    return this.#connection?.pump.setFlow(processId, flow) ?? false;
  }

  /** True if events of that id are sent to the connection. */
  isFollowed(processId: string): boolean {
    return this.#connection?.pump.isFollowed(processId) ?? false;
  }

  /** Sends the events of one of the session's own processes again. */
  follow(processId: string, { process }: ProcessEntry, fromSeq: number | undefined): void {
    this.#connection?.pump.follow(processId, process, { fromSeq });
  }

  /** Throws if the session has as many attachments as it may have. */
  checkAttachments(): void {
    const isFull = (): boolean => this.#attachments.size + this.#keptStarts.size >= MAX_ATTACHMENTS;
    if (isFull()) this.#forgetAttachments((attached) => !attached.isKnown);
    if (isFull()) this.#forgetAttachments(({ process }, id) => process.state.closed && !this.isFollowed(id));
    if (isFull())
      throw new RpcError(
        RpcCode.invalidRequest,
        `process/attach: the connection has ${MAX_ATTACHMENTS} attached processes`,
      );
  }

  /** Sends the events of a process that does not belong to the session, and never waits for this connection. */
  followAttached(id: string, attached: Attachment, fromSeq?: number): void {
    this.#attachments.set(id, attached);
    const pump = this.#connection?.pump;
    if (pump === undefined) return;
    attached.join();
    if (fromSeq === undefined && attached.process.state.closed) return;
    pump.follow(id, attached.process, { loose: true, fromSeq });
  }

  unfollow(processId: string): void {
    this.#connection?.pump.unfollow(processId);
    this.#attachments.get(processId)?.leave();
    this.#attachments.delete(processId);
  }

  /** A process attached under that id, as long as it is known where it belongs. */
  attached(id: string): Attachment | undefined {
    const attached = this.#attachments.get(id);
    return attached?.isKnown === true ? attached : undefined;
  }

  #forgetAttachments(isOld: (attached: Attachment, id: string) => boolean): void {
    for (const [id, attached] of this.#attachments) if (isOld(attached, id)) this.unfollow(id);
  }

  /** A process of the session, or one that it has attached to. */
  visible(processId: string): ProcessEntry | undefined {
    return this.processes.get(processId) ?? this.attached(processId)?.entry;
  }

  /** A process that the client may change. */
  controlled(processId: string): Controlled | undefined {
    const own = this.processes.get(processId);
    if (own !== undefined) return own;
    const attached = this.attached(processId);
    return attached?.mode === "control" ? attached : undefined;
  }

  /** A kept process is being started, which the session will control under that id. */
  startsKept(processId: string, started: Promise<void>): void {
    const forget = (): boolean => this.#keptStarts.delete(processId);
    this.#keptStarts.set(processId, started.then(forget, forget));
  }

  /** Settles, without an error, when the start with that id has succeeded or failed; undefined if none is in progress. */
  starting(processId: string): Promise<unknown> | undefined {
    return this.processes.starting(processId) ?? this.#keptStarts.get(processId);
  }

  /** True if the id names a process that has not ended, and no start with it is in progress. */
  isRunning(processId: string): boolean {
    if (this.starting(processId) !== undefined) return false;
    const entry = this.visible(processId);
    return entry !== undefined && entry.process.state.exitCode === undefined;
  }

  /** Kills what is still running. Its last events are sent if a connection is attached, and those of `others`. */
  async end(others?: Promise<void>): Promise<void> {
    await Promise.all([this.processes.killAll(), others]);
    this.detach();
    this.#attachments.clear();
  }
}

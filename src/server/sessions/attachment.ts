import type { ManagedProcess } from "../../capabilities/process/managed-process.ts";
import type { TerminalSize } from "../../native/spawn.ts";
import { Watcher } from "./audience.ts";
import type { ProcessEntry, ProcessTable } from "./process-table.ts";
import type { Party } from "../access/credential.ts";
import { modeFor } from "./kept-access.ts";
import type { WriteIds } from "./write-ids.ts";

/** Where a process is known. */
interface Origin {
  readonly table: Pick<ProcessTable, "get" | "forget">;
  readonly entry: ProcessEntry;
}

/** How a kept process is attached. */
interface KeptOptions {
  /** Owner of the process. */
  readonly owner: string;
  readonly mode: "follow" | "control";
  /** Stands for the connection that attaches. */
  readonly connection: object;
}

/** A process that belongs to another session, or is kept, under an id of the session that has attached to it. */
export class Attachment {
  readonly entry: ProcessEntry;
  /** Ids of applied writes; each controlling client counts its own. */
  writeIds?: WriteIds;
  readonly #origin: Origin;
  readonly #kept: KeptOptions | undefined;
  readonly #watcher: Watcher | undefined;

  constructor(origin: Origin, kept?: KeptOptions) {
    this.entry = origin.entry;
    this.#origin = origin;
    this.#kept = kept;
    this.#watcher = kept && new Watcher(kept.connection);
  }

  get process(): ManagedProcess {
    return this.entry.process;
  }

  get mode(): "follow" | "control" {
    return this.#kept?.mode ?? "follow";
  }

  /** Owner of a kept process; undefined for a process of another session. */
  get owner(): string | undefined {
    return this.#kept?.owner;
  }

  get isKept(): boolean {
    return this.#kept !== undefined;
  }

  /** Whether a client may attach to a kept process in this mode. */
  isFor(client: Party): boolean {
    if (this.#kept === undefined) return false;
    const most = modeFor(client, this.#kept.owner, this.entry);
    return most === "control" || most === this.mode;
  }

  /** False as soon as the process is forgotten where it belongs. */
  get isKnown(): boolean {
    return this.#origin.table.get(this.entry.id) === this.entry;
  }

  /** Forgets the process if it has ended. */
  forget(): void {
    if (this.isKnown) this.#origin.table.forget(this.entry.id);
  }

  /** Called when the client has a connection. */
  join(): void {
    if (this.#watcher !== undefined) this.entry.audience?.join(this.#watcher);
  }

  /** Called when its connection is lost, or it has detached. */
  leave(): void {
    if (this.#watcher !== undefined) this.entry.audience?.leave(this.#watcher);
  }

  /** Input has been written. */
  typed(): void {
    if (this.#watcher !== undefined) this.entry.audience?.typed(this.#watcher);
  }

  /** The window of this client has another size; whether it counts depends on the others. */
  resize(size: TerminalSize): void {
    if (this.#watcher !== undefined) this.entry.audience?.resized(this.#watcher, size);
  }
}

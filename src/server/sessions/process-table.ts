import type { ProcessStarter } from "../../capabilities/process/process-starter.ts";
import type { StartRequest } from "../../capabilities/process/start-request.ts";
import type { ManagedProcess } from "../../capabilities/process/managed-process.ts";
import { retryIfViewChanges } from "../../capabilities/sandbox/bubblewrap/pinned-paths.ts";
import type { Confinement } from "../../capabilities/sandbox/sandbox.ts";
import type { Enforced } from "../../protocol/process.ts";
import type { Rights } from "../access/rights.ts";
import type { Audience } from "./audience.ts";
import type { ProcessObservation } from "../wire/observation.ts";
import type { ProcessNetwork } from "../sandbox/process-network.ts";
import type { ProcessSlot } from "./process-quota.ts";
import type { WriteIds } from "./write-ids.ts";

export interface ProcessEntry {
  /** Its key in the table: the id that its client chose, or the name of a kept process. */
  id: string;
  readonly process: ManagedProcess;
  /** Ids of applied writes, if any; a client repeats a write whose answer was lost. */
  writeIds?: WriteIds;
  readonly argv: readonly string[];
  readonly cwd: string | Uint8Array;
  readonly startedAtMs: number;
  /** Undefined while it runs. */
  endedAtMs?: number;
  /** Clients attached to a kept process. */
  readonly audience?: Audience;
  readonly label: string | undefined;
  /** Rights of the client that has started a kept process. */
  readonly rights?: Rights;
  readonly enforced: Enforced | undefined;
}

/** Facts about a start that matter to its client, not to the process. */
export interface StartDetails {
  readonly label?: string | undefined;
  /** Rights of the client that starts a kept process. */
  readonly rights?: Rights;
  /** The process's confinement. */
  readonly confine?: (() => Confinement | Promise<Confinement>) | undefined;
  /** Makes the start repeatable; `body` is the whole request. */
  readonly idempotency?: { readonly key: string; readonly body: unknown } | undefined;
  /** Opens the network of the process before it is started. */
  readonly openNetwork?: ((request: StartRequest) => Promise<ProcessNetwork>) | undefined;
  /** Creates the audience of a kept process. */
  readonly createAudience?: (process: ManagedProcess) => Audience;
  /** Reports the process to observers. */
  readonly observe?: ProcessObservation | undefined;
  /** Called in the step in which the process enters the table. */
  readonly started?: () => void;
}

export interface ProcessTableOptions {
  readonly starter: ProcessStarter;
  /** Time for which a process is kept after its client has received the end. */
  readonly retentionMs: number;
  /** Beyond this, the oldest ended processes count as heard. */
  readonly maxUnheard: number;
  /** Beyond this, the oldest processes whose end was delivered are forgotten early. Default: no limit. */
  readonly maxHeard?: number;
  readonly takeSlot: () => ProcessSlot;
  /** Called in the same step in which a process enters the table. */
  readonly started?: (processId: string, process: ManagedProcess) => void;
  /** Called when a process has ended; call `heard` when the client knows that. */
  readonly closed?: (processId: string) => void;
  readonly forgotten?: (entry: ProcessEntry, cause: ForgetCause) => void;
}

/**
 * Why an ended process was forgotten: its retention time has passed, newer ones need its room or its name, or a client
 * requested it.
 */
export type ForgetCause = "age" | "number" | "replaced" | "request";

interface ClosedProcess {
  readonly slot: ProcessSlot;
  readonly key: string | undefined;
  /** When to forget it, by the clock of `performance`; set once its client has received the end. */
  forgetAt: number;
}

/**
 * Processes of one session by the ids its client chose, or kept processes by their names. An ended process stays until
 * its client has received the end, and for a while after that, so that its output can still be read.
 */
export class ProcessTable {
  readonly #options: ProcessTableOptions;
  readonly #slots = new Set<ProcessSlot>();
  /** Ended processes whose client may not know it yet, oldest first. */
  readonly #unheard = new Map<ProcessEntry, ClosedProcess>();
  readonly #entries = new Map<string, ProcessEntry>();
  readonly #starting = new Map<string, Promise<unknown>>();
  #startsInProgress = 0;
  readonly #keys = new Map<string, { processId: string; body: unknown }>();
  /** Processes whose client has received the end, earliest first. One timer serves all. */
  readonly #closed = new Map<ProcessEntry, ClosedProcess>();
  #forgetTimer: NodeJS.Timeout | undefined;
  /** Forgotten processes that have left something running. */
  readonly #lingering = new Set<ManagedProcess>();
  #ended = false;

  constructor(options: ProcessTableOptions) {
    this.#options = options;
  }

  get(processId: string): ProcessEntry | undefined {
    return this.#entries.get(processId);
  }

  /**
   * Settles, without an error, when the start with that id has succeeded or failed; undefined if none is in progress.
   */
  starting(processId: string): Promise<unknown> | undefined {
    return this.#starting.get(processId);
  }

  /** Number of processes that have not closed, including those that are being started. */
  get unclosed(): number {
    return this.#entries.size - this.#unheard.size - this.#closed.size + this.#startsInProgress;
  }

  get size(): number {
    return this.#entries.size;
  }

  /** In start order. */
  [Symbol.iterator](): IterableIterator<[string, ProcessEntry]> {
    return this.#entries.entries();
  }

  /**
   * The id must be free or that of a process that may be forgotten, and not be the id of a start in progress. Throws if
   * no slot is free.
   */
  start(processId: string, request: StartRequest, details: StartDetails = {}): Promise<void> {
    const slot = this.#options.takeSlot();
    this.#slots.add(slot);
    this.#startsInProgress += 1;
    const started = this.#start(processId, request, details, slot);
    const { idempotency } = details;
    if (idempotency !== undefined) this.#keys.set(idempotency.key, { processId, body: idempotency.body });
    // `start` reports the error to its caller.
    const settled = started.catch(() => {
      this.#startsInProgress -= 1;
      this.#free(slot);
      if (idempotency !== undefined) this.#keys.delete(idempotency.key);
    });
    this.#starting.set(
      processId,
      settled.then(() => this.#starting.delete(processId)),
    );
    return started;
  }

  /** The process started with that key, as long as it is known. */
  startedWith(key: string): { processId: string; body: unknown } | undefined {
    return this.#keys.get(key);
  }

  /** Kills everything started here that is still running; resolves when it has ended. */
  async killAll(): Promise<void> {
    this.#ended = true;
    const ends: Promise<unknown>[] = [...this.#starting.values()];
    for (const { process } of this.#entries.values()) {
      if (!process.state.closed) ends.push(closed(process));
      process.dispose();
    }
    for (const process of this.#lingering) process.dispose();
    this.#lingering.clear();
    clearTimeout(this.#forgetTimer);
    await Promise.all(ends);
    for (const { process } of this.#entries.values()) process.spool?.remove();
    this.#entries.clear();
    this.#keys.clear();
    this.#unheard.clear();
    this.#closed.clear();
    for (const slot of this.#slots) this.#free(slot);
  }

  async #start(
    processId: string,
    wanted: StartRequest,
    { label, rights, idempotency, confine, openNetwork, createAudience, observe, started }: StartDetails,
    slot: ProcessSlot,
  ): Promise<void> {
    const { process, request, confinement } = await this.#spawn(wanted, { confine, openNetwork });
    if (this.#ended) process.dispose();
    const { argv, cwd } = request;
    const enforced = confinement && enforcedBy(confinement);
    const entry: ProcessEntry = {
      id: processId,
      process,
      argv,
      cwd,
      startedAtMs: Date.now(),
      label,
      enforced,
      ...(rights === undefined ? {} : { rights }),
      ...(createAudience === undefined ? {} : { audience: createAudience(process) }),
    };
    this.forget(processId, "replaced");
    this.#entries.set(processId, entry);
    this.#startsInProgress -= 1;
    process.listen((event) => {
      if (event.kind === "exited") entry.endedAtMs = Date.now();
      if (event.kind !== "closed") return;
      slot.closed(process.outputBytes.retained);
      this.#closedNow(entry, { slot, key: idempotency?.key, forgetAt: 0 });
      for (const other of this.#lingering) if (other.gone) this.#lingering.delete(other);
    });
    this.#options.started?.(processId, process);
    observe?.(process, { argv, isConfined: confinement !== undefined });
    started?.();
  }

  #spawn(
    wanted: StartRequest,
    { confine, openNetwork }: Pick<StartDetails, "confine" | "openNetwork">,
  ): Promise<{ process: ManagedProcess; request: StartRequest; confinement: Confinement | undefined }> {
    return retryIfViewChanges(async () => {
      const confining = confine?.();
      const confinement = confining instanceof Promise ? await confining : confining;
      const request: StartRequest = confinement === undefined ? wanted : { ...wanted, confinement };
      const process =
        openNetwork === undefined
          ? await this.#options.starter.start(request)
          : await this.#startWithNetwork(await openNetwork(request));
      return { process, request, confinement };
    });
  }

  async #startWithNetwork(network: ProcessNetwork): Promise<ManagedProcess> {
    try {
      const process = await this.#options.starter.start(network.request);
      void closed(process).then(() => network.close());
      return process;
    } catch (error) {
      network.close();
      throw error;
    } finally {
      network.started();
    }
  }

  /** The client knows that this process has ended. */
  heard(entry: ProcessEntry): void {
    const closed = this.#unheard.get(entry);
    if (closed === undefined) return;
    this.#unheard.delete(entry);
    this.#forgetLater(entry, closed);
  }

  /** Forgets a process before its time if it has ended and its client knows that; false otherwise. */
  forget(processId: string, cause: ForgetCause = "request"): boolean {
    const entry = this.#entries.get(processId);
    const closed = entry && this.#closed.get(entry);
    if (entry === undefined || closed === undefined) return false;
    this.#forget(entry, closed, cause);
    return true;
  }

  /** Gives a process another id, which must be free. It keeps its turn in the order. */
  rename(entry: ProcessEntry, id: string): void {
    const entries = [...this.#entries.values()];
    for (const [key, start] of this.#keys)
      if (start.processId === entry.id) this.#keys.set(key, { ...start, processId: id });
    entry.id = id;
    this.#entries.clear();
    for (const each of entries) this.#entries.set(each.id, each);
  }

  /** Forgets the process whose end has been known longest; false if there is none. */
  forgetOldest(): boolean {
    const [oldest] = this.#closed;
    if (oldest !== undefined) this.#forget(...oldest, "number");
    return oldest !== undefined;
  }

  #closedNow(entry: ProcessEntry, closed: ClosedProcess): void {
    if (this.#ended) return;
    this.#unheard.set(entry, closed);
    const [oldest] = this.#unheard.keys();
    if (this.#unheard.size > this.#options.maxUnheard && oldest !== undefined) this.heard(oldest);
    this.#options.closed?.(entry.id);
  }

  #forgetLater(entry: ProcessEntry, closed: ClosedProcess): void {
    const { retentionMs, maxHeard = Number.POSITIVE_INFINITY } = this.#options;
    closed.forgetAt = performance.now() + retentionMs;
    this.#closed.set(entry, closed);
    if (this.#closed.size > maxHeard) this.forgetOldest();
    this.#forgetTimer ??= setTimeout(() => this.#forgetOld(), retentionMs).unref();
  }

  #forgetOld(): void {
    this.#forgetTimer = undefined;
    for (const [entry, closed] of this.#closed) {
      const leftMs = closed.forgetAt - performance.now();
      if (leftMs > 0) {
        this.#forgetTimer = setTimeout(() => this.#forgetOld(), Math.ceil(leftMs)).unref();
        return;
      }
      this.#forget(entry, closed, "age");
    }
  }

  #forget(entry: ProcessEntry, { slot, key }: ClosedProcess, cause: ForgetCause): void {
    if (!entry.process.gone) this.#lingering.add(entry.process);
    entry.process.spool?.remove();
    this.#closed.delete(entry);
    this.#entries.delete(entry.id);
    this.#free(slot);
    if (key !== undefined) this.#keys.delete(key);
    this.#options.forgotten?.(entry, cause);
  }

  #free(slot: ProcessSlot): void {
    slot.free();
    this.#slots.delete(slot);
  }
}

function closed(process: ManagedProcess): Promise<void> {
  return new Promise((resolve) => {
    process.listen((event) => {
      if (event.kind === "closed") resolve();
    });
  });
}

function enforcedBy({ view, network }: Confinement): Enforced {
  const isOpen = view.root === "writable" && view.mounts.length === 0;
  return { files: isOpen ? "unrestricted" : "restricted", network };
}

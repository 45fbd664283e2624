import type { ProcessStarter } from "../../capabilities/process/process-starter.ts";
import type { StartRequest } from "../../capabilities/process/start-request.ts";
import type { ManagedProcess } from "../../capabilities/process/managed-process.ts";
import type { Confinement } from "../../capabilities/sandbox/sandbox.ts";
import type { Enforced } from "../../protocol/process.ts";
import type { Rights } from "../access/rights.ts";
import type { Audience } from "./audience.ts";
import type { ProcessObservation } from "../wire/observation.ts";
import type { ProcessNetwork } from "../sandbox/process-network.ts";
import type { ProcessSlot } from "./process-quota.ts";
import type { WriteIds } from "./write-ids.ts";

export interface ProcessEntry {
  readonly process: ManagedProcess;
  /** Ids of applied writes, if any; a client repeats a write whose answer was lost. */
  writeIds?: WriteIds;
  readonly argv: readonly string[];
  readonly cwd: string | Uint8Array;
  readonly startedAtMs: number;
  /** Undefined while it runs. */
  endedAtMs?: number;
  /** Who is attached to a kept process. */
  readonly audience?: Audience;
  readonly label: string | undefined;
  /** Rights of the client that has started a kept process. */
  readonly rights?: Rights;
  readonly enforced: Enforced | undefined;
}

/** Facts about a start that matter to its client, not to the process. */
export interface StartDetails {
  readonly label?: string;
  /** Rights of the client that starts a kept process. */
  readonly rights?: Rights;
  /** What confines the process. */
  readonly confine?: () => Confinement | Promise<Confinement>;
  /** Makes the start repeatable; `body` is the whole request. */
  readonly idempotency?: { readonly key: string; readonly body: unknown };
  /** Opens the network of the process before it is started. */
  readonly openNetwork?: (request: StartRequest) => Promise<ProcessNetwork>;
  /** Creates the audience of a kept process. */
  readonly createAudience?: (process: ManagedProcess) => Audience;
  /** Reports the process to observers. */
  readonly observe?: ProcessObservation | undefined;
  /** Called in the step in which the process enters the table. */
  readonly started?: () => void;
}

interface ClosedProcess {
  readonly processId: string;
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
  readonly #starter: ProcessStarter;
  readonly #retentionMs: number;
  readonly #maxUnheard: number;
  readonly #maxHeard: number;
  readonly #takeSlot: () => ProcessSlot;
  readonly #slots = new Set<ProcessSlot>();
  readonly #started: (processId: string, process: ManagedProcess) => void;
  readonly #onClosed: (processId: string) => void;
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

  /**
   * `started` is called in the same step in which a process enters the table, `closed` when it has ended; call `heard`
   * when the client knows that. Beyond `maxUnheard`, the oldest count as heard, and beyond `maxHeard` the oldest of those
   * are forgotten before their time. Default: no limit.
   */
  constructor(options: {
    starter: ProcessStarter;
    retentionMs: number;
    maxUnheard: number;
    maxHeard?: number;
    takeSlot: () => ProcessSlot;
    started: (processId: string, process: ManagedProcess) => void;
    closed: (processId: string) => void;
  }) {
    this.#starter = options.starter;
    this.#retentionMs = options.retentionMs;
    this.#takeSlot = options.takeSlot;
    this.#started = options.started;
    this.#onClosed = options.closed;
    this.#maxUnheard = options.maxUnheard;
    this.#maxHeard = options.maxHeard ?? Number.POSITIVE_INFINITY;
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
   * The id must be free or that of a process that may be forgotten, and no start with it in progress. Throws if there is
   * no slot for another process.
   */
  start(processId: string, request: StartRequest, details: StartDetails = {}): Promise<void> {
    const slot = this.#takeSlot();
    this.#slots.add(slot);
    this.#startsInProgress += 1;
    const started = this.#start(processId, request, details, slot);
    const key = details.idempotency?.key;
    if (details.idempotency !== undefined)
      this.#keys.set(details.idempotency.key, { processId, body: details.idempotency.body });
    // `start` reports the error to its caller.
    const settled = started.catch(() => {
      this.#startsInProgress -= 1;
      this.#free(slot);
      if (key !== undefined) this.#keys.delete(key);
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
    const confining = confine?.();
    const confinement = confining instanceof Promise ? await confining : confining;
    const request: StartRequest = confinement === undefined ? wanted : { ...wanted, confinement };
    const process =
      openNetwork === undefined
        ? await this.#starter.start(request)
        : await this.#startWithNetwork(await openNetwork(request));
    if (this.#ended) process.dispose();
    const { argv, cwd } = request;
    const enforced = confinement && enforcedBy(confinement);
    const entry: ProcessEntry = {
      process,
      argv,
      cwd,
      startedAtMs: Date.now(),
      label,
      enforced,
      ...(rights === undefined ? {} : { rights }),
      ...(createAudience === undefined ? {} : { audience: createAudience(process) }),
    };
    this.forget(processId);
    this.#entries.set(processId, entry);
    this.#startsInProgress -= 1;
    process.listen((event) => {
      if (event.kind === "exited") entry.endedAtMs = Date.now();
      if (event.kind !== "closed") return;
      slot.closed(process.outputBytes.retained);
      this.#closedNow(entry, { processId, slot, key: idempotency?.key, forgetAt: 0 });
      for (const other of this.#lingering) if (other.gone) this.#lingering.delete(other);
    });
    this.#started(processId, process);
    observe?.(process, { argv, isConfined: confinement !== undefined });
    started?.();
  }

  async #startWithNetwork(network: ProcessNetwork): Promise<ManagedProcess> {
    try {
      const process = await this.#starter.start(network.request);
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
  forget(processId: string): boolean {
    const entry = this.#entries.get(processId);
    const closed = entry && this.#closed.get(entry);
    if (entry === undefined || closed === undefined) return false;
    this.#forget(entry, closed);
    return true;
  }

  /** Forgets the process whose end has been known for longest; false if there is none. */
  forgetOldest(): boolean {
    const [oldest] = this.#closed;
    if (oldest !== undefined) this.#forget(...oldest);
    return oldest !== undefined;
  }

  #closedNow(entry: ProcessEntry, closed: ClosedProcess): void {
    if (this.#ended) return;
    this.#unheard.set(entry, closed);
    const [oldest] = this.#unheard.keys();
    if (this.#unheard.size > this.#maxUnheard && oldest !== undefined) this.heard(oldest);
    this.#onClosed(closed.processId);
  }

  #forgetLater(entry: ProcessEntry, closed: ClosedProcess): void {
    closed.forgetAt = performance.now() + this.#retentionMs;
    this.#closed.set(entry, closed);
    if (this.#closed.size > this.#maxHeard) this.forgetOldest();
    this.#forgetTimer ??= setTimeout(() => this.#forgetOld(), this.#retentionMs).unref();
  }

  #forgetOld(): void {
    this.#forgetTimer = undefined;
    for (const [entry, closed] of this.#closed) {
      const leftMs = closed.forgetAt - performance.now();
      if (leftMs > 0) {
        this.#forgetTimer = setTimeout(() => this.#forgetOld(), Math.ceil(leftMs)).unref();
        return;
      }
      this.#forget(entry, closed);
    }
  }

  #forget(entry: ProcessEntry, { processId, slot, key }: ClosedProcess): void {
    if (!entry.process.gone) this.#lingering.add(entry.process);
    this.#closed.delete(entry);
    this.#entries.delete(processId);
    this.#free(slot);
    if (key !== undefined) this.#keys.delete(key);
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

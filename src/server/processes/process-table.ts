import { Fifo } from "../../base/fifo.ts";
import type { ProcessStarter } from "../../capabilities/process/process-starter.ts";
import type { StartRequest } from "../../capabilities/process/start-request.ts";
import type { ManagedProcess } from "../../capabilities/process/managed-process.ts";
import type { Confinement } from "../../capabilities/sandbox/sandbox.ts";
import type { Enforced } from "../../protocol/process.ts";
import type { ProcessNetwork } from "../network/process-network.ts";
import type { ProcessSlot } from "./process-quota.ts";
import type { WriteIds } from "./write-ids.ts";

export interface ProcessEntry {
  readonly process: ManagedProcess;
  /** Ids of applied writes, if any; a client repeats a write whose answer was lost. */
  writeIds?: WriteIds;
  readonly argv: readonly string[];
  readonly cwd: string | Uint8Array;
  readonly startedAtMs: number;
  readonly label: string | undefined;
  readonly enforced: Enforced | undefined;
}

/** Facts about a start that matter to its client, not to the process. */
export interface StartDetails {
  readonly label?: string;
  /** What confines the process. */
  readonly confine?: () => Confinement | Promise<Confinement>;
  /** Makes the start repeatable; `body` is the whole request. */
  readonly idempotency?: { readonly key: string; readonly body: unknown };
  /** Opens the network of the process before it is started. */
  readonly openNetwork?: (request: StartRequest) => Promise<ProcessNetwork>;
}

interface ClosedProcess {
  readonly processId: string;
  readonly place: ProcessSlot;
  readonly key: string | undefined;
}

/**
 * Processes of one session, by the ids its client chose. An ended process stays until its client has received the end,
 * and for a while after that, so that its output can still be read.
 */
export class ProcessTable {
  readonly #starter: ProcessStarter;
  readonly #retentionMs: number;
  readonly #maxUnheard: number;
  readonly #takeSlot: () => ProcessSlot;
  readonly #places = new Set<ProcessSlot>();
  readonly #started: (processId: string, process: ManagedProcess) => void;
  readonly #onClosed: (processId: string) => void;
  /** Ended processes whose client may not know it yet, oldest first. */
  readonly #unheard = new Map<ProcessEntry, ClosedProcess>();
  readonly #entries = new Map<string, ProcessEntry>();
  readonly #starting = new Map<string, Promise<unknown>>();
  readonly #keys = new Map<string, { processId: string; body: unknown }>();
  /** Processes whose client has received the end, earliest first. One timer serves all. */
  readonly #closed = new Fifo<ClosedProcess & { readonly forgetAt: number }>();
  #forgetTimer: NodeJS.Timeout | undefined;
  /** Forgotten processes that have left something running. */
  readonly #lingering = new Set<ManagedProcess>();
  #ended = false;

  /**
   * `started` is called in the same step in which a process enters the table, `closed` when it has ended; call `heard`
   * when the client knows that. Beyond `maxUnheard`, the oldest count as heard.
   */
  constructor(options: {
    starter: ProcessStarter;
    retentionMs: number;
    maxUnheard: number;
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

  /** In start order. */
  [Symbol.iterator](): IterableIterator<[string, ProcessEntry]> {
    return this.#entries.entries();
  }

  /** The id must be free, and no start with it in progress. Throws if there is no slot for another process. */
  start(processId: string, request: StartRequest, details: StartDetails = {}): Promise<void> {
    const place = this.#takeSlot();
    this.#places.add(place);
    const started = this.#start(processId, request, details, place);
    const key = details.idempotency?.key;
    if (details.idempotency !== undefined)
      this.#keys.set(details.idempotency.key, { processId, body: details.idempotency.body });
    // `start` reports the error to its caller.
    const settled = started.catch(() => {
      this.#free(place);
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
    for (const place of this.#places) this.#free(place);
  }

  async #start(
    processId: string,
    wanted: StartRequest,
    { label, idempotency, confine, openNetwork }: StartDetails,
    place: ProcessSlot,
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
    const entry: ProcessEntry = { process, argv, cwd, startedAtMs: Date.now(), label, enforced };
    this.#entries.set(processId, entry);
    process.listen((event) => {
      if (event.kind !== "closed") return;
      place.closed(process.outputBytes.retained);
      this.#closedNow(entry, { processId, place, key: idempotency?.key });
      for (const other of this.#lingering) if (other.gone) this.#lingering.delete(other);
    });
    this.#started(processId, process);
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
    this.#forgetLater(closed);
  }

  #closedNow(entry: ProcessEntry, closed: ClosedProcess): void {
    if (this.#ended) return;
    this.#unheard.set(entry, closed);
    const [oldest] = this.#unheard.keys();
    if (this.#unheard.size > this.#maxUnheard && oldest !== undefined) this.heard(oldest);
    this.#onClosed(closed.processId);
  }

  #forgetLater(closed: ClosedProcess): void {
    this.#closed.push({ ...closed, forgetAt: performance.now() + this.#retentionMs });
    this.#forgetTimer ??= setTimeout(() => this.#forgetOld(), this.#retentionMs).unref();
  }

  #forgetOld(): void {
    this.#forgetTimer = undefined;
    for (let oldest = this.#closed.peek(); oldest !== undefined; oldest = this.#closed.peek()) {
      const leftMs = oldest.forgetAt - performance.now();
      if (leftMs > 0) {
        this.#forgetTimer = setTimeout(() => this.#forgetOld(), Math.ceil(leftMs)).unref();
        return;
      }
      this.#closed.shift();
      this.#forget(oldest);
    }
  }

  #forget({ processId, place, key }: ClosedProcess): void {
    const process = this.#entries.get(processId)?.process;
    if (process?.gone === false) this.#lingering.add(process);
    this.#entries.delete(processId);
    this.#free(place);
    if (key !== undefined) this.#keys.delete(key);
  }

  #free(place: ProcessSlot): void {
    place.free();
    this.#places.delete(place);
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

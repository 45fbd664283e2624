import { Fifo } from "../base/fifo.ts";
import type { ProcessStarter, StartRequest } from "../capabilities/process/process-starter.ts";
import type { ManagedProcess } from "../capabilities/process/managed-process.ts";
import type { ProcessPlace } from "./process-quota.ts";
import type { WriteIds } from "./write-ids.ts";

export interface ProcessEntry {
  readonly process: ManagedProcess;
  /** Writes that were applied, if any were; a client repeats one when its answer was lost. */
  writeIds?: WriteIds;
  readonly argv: readonly string[];
  readonly cwd: string | Uint8Array;
  readonly startedAtMs: number;
  readonly label: string | undefined;
}

/** What a start means to its client, besides what is started. */
export interface StartDetails {
  readonly label?: string;
  /** Makes a start that can be repeated; `body` is all that the client said. */
  readonly idempotency?: { readonly key: string; readonly body: unknown };
}

interface ClosedProcess {
  readonly processId: string;
  readonly place: ProcessPlace;
  readonly key: string | undefined;
}

/**
 * The processes of one session, by the ids its client chose. An ended one stays until its client has heard of it, and then for a while, so that its output can
 * still be read.
 */
export class ProcessTable {
  readonly #starter: ProcessStarter;
  readonly #retentionMs: number;
  readonly #maxUnheard: number;
  readonly #takePlace: () => ProcessPlace;
  readonly #places = new Set<ProcessPlace>();
  readonly #started: (processId: string, process: ManagedProcess) => void;
  readonly #onClosed: (processId: string) => void;
  /** Those that have ended, and whose client may not know it yet, the oldest first. */
  readonly #unheard = new Map<ProcessEntry, ClosedProcess>();
  readonly #entries = new Map<string, ProcessEntry>();
  readonly #starting = new Map<string, Promise<unknown>>();
  readonly #keys = new Map<string, { processId: string; body: unknown }>();
  /** Those whose client has heard of their end, the earliest first. One timer serves all. */
  readonly #closed = new Fifo<ClosedProcess & { readonly forgetAt: number }>();
  #forgetTimer: NodeJS.Timeout | undefined;
  /** Forgotten, but not without remains. */
  readonly #lingering = new Set<ManagedProcess>();
  #ended = false;

  /**
   * `started` is called in the same step in which a process enters the table, `closed` when it has ended; `heard` is to be called when the client knows that. Of
   * more than `maxUnheard` the oldest count as heard of.
   */
  constructor(options: {
    starter: ProcessStarter;
    retentionMs: number;
    maxUnheard: number;
    takePlace: () => ProcessPlace;
    started: (processId: string, process: ManagedProcess) => void;
    closed: (processId: string) => void;
  }) {
    this.#starter = options.starter;
    this.#retentionMs = options.retentionMs;
    this.#takePlace = options.takePlace;
    this.#started = options.started;
    this.#onClosed = options.closed;
    this.#maxUnheard = options.maxUnheard;
  }

  get(processId: string): ProcessEntry | undefined {
    return this.#entries.get(processId);
  }

  /** Settles, without an error, when the start with that id has succeeded or failed; undefined when there is none under way. */
  starting(processId: string): Promise<unknown> | undefined {
    return this.#starting.get(processId);
  }

  [Symbol.iterator](): IterableIterator<[string, ProcessEntry]> {
    return this.#entries.entries();
  }

  /** The id must be free, and no start with it under way. Throws when there is no place for another process. */
  start(processId: string, request: StartRequest, details: StartDetails = {}): Promise<void> {
    const place = this.#takePlace();
    this.#places.add(place);
    const started = this.#start(processId, request, details, place);
    const key = details.idempotency?.key;
    if (details.idempotency !== undefined)
      this.#keys.set(details.idempotency.key, { processId, body: details.idempotency.body });
    // The caller of `start` is told.
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

  /** What was started with that key, as long as it is known. */
  startedWith(key: string): { processId: string; body: unknown } | undefined {
    return this.#keys.get(key);
  }

  /** Kills everything that was started here and is still there; resolves when it has ended. */
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
    request: StartRequest,
    { label, idempotency }: StartDetails,
    place: ProcessPlace,
  ): Promise<void> {
    const process = await this.#starter.start(request);
    if (this.#ended) process.dispose();
    const { argv, cwd } = request;
    const entry: ProcessEntry = { process, argv, cwd, startedAtMs: Date.now(), label };
    this.#entries.set(processId, entry);
    process.listen((event) => {
      if (event.kind !== "closed") return;
      place.closed(process.outputBytes.retained);
      this.#closedNow(entry, { processId, place, key: idempotency?.key });
      for (const other of this.#lingering) if (other.gone) this.#lingering.delete(other);
    });
    this.#started(processId, process);
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

  #free(place: ProcessPlace): void {
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

import { Fifo } from "../base/fifo.ts";
import type { Launcher, LaunchRequest } from "../capabilities/process/launcher.ts";
import type { ManagedProcess } from "../capabilities/process/managed-process.ts";
import type { ProcessPlace } from "./process-quota.ts";

export interface ProcessEntry {
  readonly process: ManagedProcess;
  /** Writes that were applied, if any were; a client repeats one when its answer was lost. */
  writeIds?: Set<string>;
  readonly argv: readonly string[];
  readonly cwd: string | Uint8Array;
  readonly startedAtMs: number;
  readonly label: string | undefined;
}

/** What a start means to its client, besides what is launched. */
export interface StartDetails {
  readonly label?: string;
  /** Makes a start that can be repeated; `body` is all that the client said. */
  readonly idempotency?: { readonly key: string; readonly body: unknown };
}

interface ClosedProcess {
  readonly processId: string;
  readonly place: ProcessPlace;
  readonly key: string | undefined;
  readonly forgetAt: number;
}

/** The processes of one session, by the ids its client chose. An ended one stays for a while, so that its output can still be read. */
export class ProcessTable {
  readonly #launcher: Launcher;
  readonly #retentionMs: number;
  readonly #takePlace: () => ProcessPlace;
  readonly #places = new Set<ProcessPlace>();
  readonly #started: (processId: string, process: ManagedProcess) => void;
  readonly #entries = new Map<string, ProcessEntry>();
  readonly #starting = new Map<string, Promise<unknown>>();
  readonly #keys = new Map<string, { processId: string; body: unknown }>();
  /** Those that have ended, the oldest first. One timer serves all. */
  readonly #closed = new Fifo<ClosedProcess>();
  #forgetTimer: NodeJS.Timeout | undefined;
  /** Forgotten, but not without remains. */
  readonly #lingering = new Set<ManagedProcess>();
  #ended = false;

  /** `started` is called in the same step in which a process enters the table. */
  constructor(options: {
    launcher: Launcher;
    retentionMs: number;
    takePlace: () => ProcessPlace;
    started: (processId: string, process: ManagedProcess) => void;
  }) {
    this.#launcher = options.launcher;
    this.#retentionMs = options.retentionMs;
    this.#takePlace = options.takePlace;
    this.#started = options.started;
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
  start(processId: string, request: LaunchRequest, details: StartDetails = {}): Promise<void> {
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
    this.#closed.clear();
    for (const place of this.#places) this.#free(place);
  }

  async #start(
    processId: string,
    request: LaunchRequest,
    { label, idempotency }: StartDetails,
    place: ProcessPlace,
  ): Promise<void> {
    const process = await this.#launcher.launch(request);
    if (this.#ended) process.dispose();
    const { argv, cwd } = request;
    this.#entries.set(processId, {
      process,
      argv,
      cwd,
      startedAtMs: Date.now(),
      label,
    });
    process.listen((event) => {
      if (event.kind !== "closed") return;
      place.closed(process.outputBytes.retained);
      this.#forgetLater(processId, place, idempotency?.key);
      for (const other of this.#lingering) if (other.gone) this.#lingering.delete(other);
    });
    this.#started(processId, process);
  }

  #forgetLater(processId: string, place: ProcessPlace, key: string | undefined): void {
    if (this.#ended) return;
    this.#closed.push({ processId, place, key, forgetAt: performance.now() + this.#retentionMs });
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

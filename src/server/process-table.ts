import type { Launcher, LaunchRequest } from "../capabilities/process/launcher.ts";
import type { ManagedProcess } from "../capabilities/process/managed-process.ts";

export interface ProcessEntry {
  readonly process: ManagedProcess;
  /** Writes that were applied; a client repeats one when its answer was lost. */
  readonly writeIds: Set<string>;
}

/** The processes of one session, by the ids its client chose. An ended one stays for a while, so that its output can still be read. */
export class ProcessTable {
  readonly #launcher: Launcher;
  readonly #retentionMs: number;
  readonly #entries = new Map<string, ProcessEntry>();
  readonly #timers = new Set<NodeJS.Timeout>();

  constructor(launcher: Launcher, retentionMs: number) {
    this.#launcher = launcher;
    this.#retentionMs = retentionMs;
  }

  get(processId: string): ProcessEntry | undefined {
    return this.#entries.get(processId);
  }

  [Symbol.iterator](): IterableIterator<[string, ProcessEntry]> {
    return this.#entries.entries();
  }

  /** The id must be free. */
  start(processId: string, request: LaunchRequest): ManagedProcess {
    const process = this.#launcher.launch(request);
    this.#entries.set(processId, { process, writeIds: new Set() });
    process.listen((event) => {
      if (event.kind === "closed") this.#forgetLater(processId);
    });
    return process;
  }

  /** Kills everything that was started here and is still there; resolves when it has ended. */
  async killAll(): Promise<void> {
    const ends: Promise<void>[] = [];
    for (const { process } of this.#entries.values()) {
      if (process.state.closed) continue;
      ends.push(closed(process));
      process.dispose();
    }
    for (const timer of this.#timers) clearTimeout(timer);
    this.#timers.clear();
    await Promise.all(ends);
    this.#entries.clear();
  }

  #forgetLater(processId: string): void {
    const timer = setTimeout(() => {
      this.#timers.delete(timer);
      this.#entries.delete(processId);
    }, this.#retentionMs).unref();
    this.#timers.add(timer);
  }
}

function closed(process: ManagedProcess): Promise<void> {
  return new Promise((resolve) => {
    process.listen((event) => {
      if (event.kind === "closed") resolve();
    });
  });
}

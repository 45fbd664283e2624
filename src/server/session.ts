import type { Launcher, LaunchRequest } from "../capabilities/process/launcher.ts";
import { EventPump } from "./event-pump.ts";
import type { Peer } from "./peer.ts";
import type { ProcessPlace } from "./process-quota.ts";
import { type ProcessEntry, ProcessTable, type StartDetails } from "./process-table.ts";

/** What outlives a connection: processes, and whoever follows them at the moment. */
export class Session {
  readonly id: string;
  /** Takes a place for a process that is not in the session's table; throws when there is none. */
  readonly takePlace: () => ProcessPlace;
  readonly #processes: ProcessTable;
  #pump: EventPump | undefined;

  constructor(
    id: string,
    options: { launcher: Launcher; retentionMs: number; takePlace: () => ProcessPlace },
  ) {
    this.id = id;
    this.takePlace = options.takePlace;
    this.#processes = new ProcessTable({
      launcher: options.launcher,
      retentionMs: options.retentionMs,
      takePlace: options.takePlace,
      // Whoever is attached by now follows it; that may be another connection than the one that asked.
      started: (processId, process) => this.#pump?.follow(processId, process),
    });
  }

  get attached(): boolean {
    return this.#pump !== undefined;
  }

  /** Live events go to this connection from now on. What happened before is read with process/read. */
  attach(peer: Peer): void {
    const pump = new EventPump(peer);
    this.#pump = pump;
    for (const [id, { process }] of this.#processes) if (!process.state.closed) pump.follow(id, process);
  }

  detach(): void {
    this.#pump?.stop();
    this.#pump = undefined;
  }

  drain(): void {
    this.#pump?.drain();
  }

  /** In the order of their start. */
  get processes(): Iterable<[string, ProcessEntry]> {
    return this.#processes;
  }

  /** Stops or restarts the sending of a process's events; false when they are not sent at all. */
  setFlow(processId: string, { paused }: { paused: boolean }): boolean {
    return (paused ? this.#pump?.hold(processId) : this.#pump?.release(processId)) ?? false;
  }

  process(processId: string): ProcessEntry | undefined {
    return this.#processes.get(processId);
  }

  /** See `ProcessTable.starting`. */
  starting(processId: string): Promise<unknown> | undefined {
    return this.#processes.starting(processId);
  }

  start(processId: string, request: LaunchRequest, details: StartDetails): Promise<void> {
    return this.#processes.start(processId, request, details);
  }

  /** See `ProcessTable.startedWith`. */
  startedWith(key: string): { processId: string; body: unknown } | undefined {
    return this.#processes.startedWith(key);
  }

  /** Kills what still runs. Its last events are sent if somebody is attached. */
  async end(): Promise<void> {
    await this.#processes.killAll();
    this.detach();
  }
}

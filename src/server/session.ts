import type { Launcher, LaunchRequest } from "../capabilities/process/launcher.ts";
import type { ManagedProcess } from "../capabilities/process/managed-process.ts";
import type { Connection } from "../rpc/connection.ts";
import type { EventEncoder } from "./event-encoder.ts";
import { EventPump } from "./event-pump.ts";
import { type ProcessEntry, ProcessTable } from "./process-table.ts";

/** What outlives a connection: processes, and whoever follows them at the moment. */
export class Session {
  readonly id: string;
  readonly #processes: ProcessTable;
  readonly #encoder: EventEncoder;
  #pump: EventPump | undefined;

  constructor(id: string, options: { launcher: Launcher; encoder: EventEncoder; retentionMs: number }) {
    this.id = id;
    this.#encoder = options.encoder;
    this.#processes = new ProcessTable(options.launcher, options.retentionMs);
  }

  get attached(): boolean {
    return this.#pump !== undefined;
  }

  /** Live events go to this connection from now on. What happened before is read with process/read. */
  attach(connection: Connection): void {
    const pump = new EventPump(connection, this.#encoder);
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

  process(processId: string): ProcessEntry | undefined {
    return this.#processes.get(processId);
  }

  start(processId: string, request: LaunchRequest): ManagedProcess {
    const process = this.#processes.start(processId, request);
    this.#pump?.follow(processId, process);
    return process;
  }

  /** Kills what still runs. Its last events are sent if somebody is attached. */
  async end(): Promise<void> {
    await this.#processes.killAll();
    this.detach();
  }
}

import { AsyncLocalStorage } from "node:async_hooks";
import { ExecError } from "../../base/errors.ts";
import type { Host } from "../../client/host/host.ts";
import type { StartOptions } from "../../client/process/start-request.ts";
import type {
  ToolHost,
  ToolProcess,
  ToolStartOptions,
  ToolTerminalSize,
} from "../../client/tools/tool-host.ts";
import type { Place } from "../machine/workspace.ts";

/** Starts each process in the place of its call: a machine may be reached anew, and its roots may become narrower. */
export class PlacedHost implements ToolHost {
  readonly #places = new AsyncLocalStorage<Place>();
  readonly #processes = new Map<string, ToolProcess>();
  /** Hosts without control groups. Elsewhere nothing outlives its process, even if it leaves the process's group. */
  readonly #cannotContain = new WeakSet<Host>();

  /** What `work` starts, it starts in this place. */
  in<T>(place: Place, work: () => T): T {
    return this.#places.run(place, work);
  }

  get environment(): ToolHost["environment"] {
    return this.#places.getStore()?.host.environment;
  }

  async start(argv: readonly string[], options: ToolStartOptions): Promise<ToolProcess> {
    const { host } = this.#place;
    return await this.#begin((more) => host.start(argv, { ...options, ...more }));
  }

  async terminal(
    argv: readonly string[],
    options: ToolStartOptions & Partial<ToolTerminalSize>,
  ): Promise<ToolProcess> {
    const { host } = this.#place;
    return await this.#begin((more) => host.terminal(argv, { ...options, ...more }));
  }

  /** A process that has not been forgotten. */
  process(id: string): ToolProcess | undefined {
    return this.#processes.get(id);
  }

  forget(id: string): void {
    this.#processes.delete(id);
  }

  get #place(): Place {
    const place = this.#places.getStore();
    if (place === undefined) throw new Error("a process was started outside of any place");
    return place;
  }

  async #begin(
    start: (more: Pick<StartOptions, "sandbox" | "contain">) => Promise<ToolProcess>,
  ): Promise<ToolProcess> {
    const { host, sandbox } = this.#place;
    if (sandbox !== undefined) return this.#keep(await start({ sandbox }));
    if (this.#cannotContain.has(host)) return this.#keep(await start({}));
    try {
      return this.#keep(await start({ contain: true }));
    } catch (error) {
      if (!(error instanceof ExecError) || error.code !== "UNSUPPORTED") throw error;
      this.#cannotContain.add(host);
      return this.#keep(await start({}));
    }
  }

  #keep(process: ToolProcess): ToolProcess {
    this.#processes.set(process.id, process);
    return process;
  }
}

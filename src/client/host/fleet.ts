import { ConnectionError, messageOf } from "../../base/errors.ts";
import { type Logger, silentLogger } from "../../base/logger.ts";
import type { Beat } from "../../fleet/beat.ts";
import type { FleetAddress } from "../../fleet/fleet-address.ts";
import type { FleetLink } from "../../fleet/fleet-link.ts";
import { transportConnector, headerToken } from "../link/connectors.ts";
import { type ConnectOptions, connectTimeout, openHost } from "./open-host.ts";
import { copyTree } from "../files/local/copy-tree.ts";
import type { Host } from "./host.ts";
import { ObservedState } from "../calls/observed-state.ts";
import { needs } from "../calls/unsupported.ts";
import { type Executor, type ExecutorChange, executorOf } from "./executor.ts";
import { pickExecutor, type PickOptions } from "./pick-executor.ts";

/** `recovering` while NATS is away: the list stands still, and requests wait. */
export type FleetState = "connected" | "recovering" | "closed";

/** How to open a fleet. Apart from `signal`, also how to connect to its executors. */
export type OpenFleetOptions = Omit<ConnectOptions, "resumeSessionId">;

/** The executors of a fleet, over one connection to NATS. */
export interface Fleet extends AsyncDisposable {
  /** `recovering` while a lost connection to NATS is being replaced. */
  readonly state: FleetState;
  /** Calls `listener` on every change of `state`, until the returned function is called. */
  onStateChange(listener: (state: FleetState) => void): () => void;
  /** The executors, by name. Complete when the fleet is opened, and kept current. */
  list(): Executor[];
  /** Calls `watcher` on every change of the list, until the returned function is called. */
  watch(watcher: (change: ExecutorChange) => void): () => void;
  /**
   * The ready executor with these labels that has the most free slots, then the least load. Executors picked since
   * their last report count as busier. Throws an ExecError with the code NOT_FOUND if there is none.
   */
  pick(options?: PickOptions): Executor;
  /** Connects to an executor. Options that are not given come from the fleet. */
  connect(id: string, options?: ConnectOptions): Promise<Host>;
  /**
   * Stops new work for an executor: `pick` passes over it. What runs there keeps running. Lasts until `uncordon`, or
   * until its server ends. The token must have the right to `server/cordon`. Resolves when the list shows it.
   */
  cordon(id: string): Promise<void>;
  uncordon(id: string): Promise<void>;
  /** Closes all its hosts, and the connection to NATS. */
  close(): Promise<void>;
}

/** Enters a fleet. Resolves when its executors are known; rejects with a ConnectionError if NATS cannot be reached. */
export async function openFleet(address: FleetAddress, options: OpenFleetOptions = {}): Promise<Fleet> {
  const logger = options.logger ?? silentLogger;
  const state = new ObservedState<FleetState>("connected", logger);
  const timeoutMs = connectTimeout(options);
  if (options.token !== undefined) headerToken(options.token);
  // Only a fleet needs the NATS library.
  const { FleetLink: Link } = await import("../../fleet/fleet-link.ts");
  const link = await Link.open(address, { timeoutMs, signal: options.signal }, (now) => state.change(now));
  return new OpenFleet(link, state, { ...options, logger });
}

class OpenFleet implements Fleet {
  readonly #link: FleetLink;
  readonly #state: ObservedState<FleetState>;
  readonly #options: Omit<OpenFleetOptions, "signal">;
  readonly #logger: Logger;
  readonly #hosts = new Set<Host>();
  /** Attempts to connect. */
  readonly #attempts = new Set<AbortController>();
  /** Number of times an executor was picked since this report. */
  readonly #picks = new WeakMap<Beat, number>();
  #closing: Promise<void> | undefined;

  constructor(
    link: FleetLink,
    state: ObservedState<FleetState>,
    { signal: _signal, ...options }: OpenFleetOptions & { logger: Logger },
  ) {
    this.#link = link;
    this.#state = state;
    this.#options = options;
    this.#logger = options.logger;
  }

  get state(): FleetState {
    return this.#state.value;
  }

  onStateChange(listener: (state: FleetState) => void): () => void {
    return this.#state.listen(listener);
  }

  list(): Executor[] {
    return this.#link.list().map(executorOf);
  }

  watch(watcher: (change: ExecutorChange) => void): () => void {
    return this.#link.watch(({ kind, executor }) => {
      try {
        watcher({ kind, executor: executorOf(executor) });
      } catch (error) {
        this.#logger.error("a watcher of the fleet failed", { error: messageOf(error) });
      }
    });
  }

  pick(options: PickOptions = {}): Executor {
    const beats = new Map(this.#link.list().map((beat) => [beat.id, beat]));
    const picksOf = (id: string): number => this.#picks.get(beats.get(id)!) ?? 0;
    const picked = pickExecutor([...beats.values()].map(executorOf), options, picksOf);
    this.#picks.set(beats.get(picked.id)!, picksOf(picked.id) + 1);
    return picked;
  }

  async connect(id: string, overrides: ConnectOptions = {}): Promise<Host> {
    const { signal, ...options } = { ...this.#options, ...overrides };
    const token = options.token === undefined ? undefined : headerToken(options.token);
    const timeoutMs = connectTimeout(options);
    const connector = transportConnector(
      (dialling) => this.#link.dial(id, { token, timeoutMs, signal: dialling }),
      { resumable: true, onMessage: options.onMessage },
    );
    return this.#whileOpen(signal, async (attempt) => {
      const host = await openHost(connector, { ...options, signal: attempt }, copyTree);
      if (this.#closing !== undefined) {
        await host.close();
        throw isClosed();
      }
      this.#hosts.add(host);
      void host.closed.then(() => this.#hosts.delete(host));
      return host;
    });
  }

  cordon(id: string): Promise<void> {
    return this.#setCordoned(id, true);
  }

  uncordon(id: string): Promise<void> {
    return this.#setCordoned(id, false);
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #setCordoned(id: string, cordoned: boolean): Promise<void> {
    await using host = await this.connect(id);
    needs(host, "server/cordon");
    await host.request("server/cordon", { cordoned });
    // An executor that was already cordoned does not announce a change, and its last beat may be outdated.
    await this.#link.refresh();
  }

  async #close(): Promise<void> {
    for (const attempt of this.#attempts) attempt.abort(isClosed());
    await Promise.all([...this.#hosts].map((host) => host.close()));
    await this.#link.close();
    this.#state.change("closed");
    this.#state.forget();
  }

  /** Runs an attempt that ends with the fleet, or with the caller's signal. */
  async #whileOpen<T>(
    signal: AbortSignal | undefined,
    attempt: (signal: AbortSignal) => Promise<T>,
  ): Promise<T> {
    if (this.#closing !== undefined) throw isClosed();
    const stopping = new AbortController();
    const abort = (): void => stopping.abort(signal?.reason);
    this.#attempts.add(stopping);
    signal?.addEventListener("abort", abort, { once: true });
    if (signal?.aborted === true) abort();
    try {
      return await attempt(stopping.signal);
    } finally {
      this.#attempts.delete(stopping);
      signal?.removeEventListener("abort", abort);
    }
  }
}

function isClosed(): ConnectionError {
  return new ConnectionError("the fleet is closed");
}

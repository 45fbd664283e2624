import { settledWithin } from "../../base/deadlines.ts";
import { after, checkDuration } from "../../base/duration.ts";
import { ConnectionError, ExecError } from "../../base/errors.ts";
import { RECOVERY_TIMEOUT_MS } from "../../client/link/recovery-budget.ts";
import type { Host } from "../../client/host/host.ts";
import type { Places } from "../engine/places.ts";
import { Machine } from "./machine.ts";
import { describeLabels, hasLabels, type RowsFleetOptions, type RowsMachine } from "./rows-fleet.ts";
import { whyRowsWait } from "./why-rows-wait.ts";

/** Connections that are opened at a time. */
const MAX_CONNECTING = 8;
/** Time before a machine is connected to again that was lost, or could not be reached. */
const FIRST_HOLD_MS = 500;
const MAX_HOLD_MS = 10_000;
/** Time before a machine gets rows again that has refused one. */
const REFUSED_MS = 60_000;
/** How long nothing may run because no machine is usable. */
const PATIENCE_MS = 60_000;
const CLOSE_MS = 5_000;
const MAX_NAMED = 5;

export interface MachinePoolOptions extends RowsFleetOptions {
  /** Called with every new connection before rows run there, and with whether leftovers of this job may be there. */
  readonly prepare: (id: string, host: Host, hasLeftovers: boolean) => Promise<void>;
}

/** The machines of a job. Connects to as many as the rows need, and to those that join or return. */
export class MachinePool implements Places {
  readonly #options: MachinePoolOptions;
  readonly #lostAfterMs: number;
  readonly #machines = new Map<string, Machine>();
  readonly #watchers = new Set<() => void>();
  readonly #unwatch: () => void;
  readonly #closing = new AbortController();
  #connecting = 0;
  #running = 0;
  /** Since when nothing runs and no machine can be used. */
  #idleSince: number | undefined;
  #cancelWake: () => void = () => {};

  constructor(options: MachinePoolOptions) {
    const { fleet, on = {} } = options;
    this.#options = options;
    this.#lostAfterMs = checkDuration("lostAfterMs", options.lostAfterMs ?? RECOVERY_TIMEOUT_MS);
    for (const machine of fleet.list()) this.#hear(machine);
    this.#unwatch = fleet.watch(({ kind, executor }) => {
      if (kind === "left") this.#machines.get(executor.id)?.leave();
      else this.#hear(executor);
      this.#changed();
    });
    if (![...this.#machines.values()].some(({ isListed }) => isListed)) {
      this.#unwatch();
      throw new ExecError("NOT_FOUND", `there is no machine in ${describeLabels(on)}`);
    }
  }

  get count(): number {
    return [...this.#machines.values()].filter(({ isReady, isConnected }) => isReady && isConnected).length;
  }

  get waiting(): string {
    return whyRowsWait([...this.#machines.values()]);
  }

  take(): string | undefined {
    const now = performance.now();
    const ready = [...this.#machines.values()].filter(({ room, heldUntil }) => room > 0 && heldUntil <= now);
    const best = roomiest(ready.filter(({ isConnected }) => isConnected));
    const other = roomiest(
      ready.filter(({ host, connecting }) => host === undefined && connecting === undefined),
    );
    if (other !== undefined && other.room > (best?.room ?? 0)) void this.#connect(other);
    if (best === undefined) {
      this.#expectRoom(now);
      return undefined;
    }
    this.occupy(best.id);
    return best.id;
  }

  occupy(place: string): void {
    this.#machine(place).occupy();
    this.#running += 1;
    this.#idleSince = undefined;
  }

  release(place: string): void {
    this.#machine(place).release();
    this.#running -= 1;
    this.#changed();
  }

  watch(changed: () => void): () => void {
    this.#watchers.add(changed);
    return () => void this.#watchers.delete(changed);
  }

  /** The connection to a machine on which an attempt begins; undefined if it was lost meanwhile. */
  hostAt(place: string): Host | undefined {
    return this.#machine(place).host;
  }

  /**
   * Connects to a machine, whether it takes new rows or not. Resolves with undefined if it cannot be reached for as long
   * as a machine may be out of sight.
   */
  async reach(place: string, signal: AbortSignal, timeoutMs = this.#lostAfterMs): Promise<Host | undefined> {
    const machine = this.#machine(place);
    const until = performance.now() + timeoutMs;
    for (;;) {
      signal.throwIfAborted();
      if (machine.isConnected) return machine.host;
      const now = performance.now();
      if (now >= until || machine.refusal !== undefined) return undefined;
      const isDue = machine.isListed && machine.host === undefined && machine.heldUntil <= now;
      if (isDue && machine.connecting === undefined) void this.#connect(machine);
      await this.#change(signal, Math.min(until, machine.heldUntil > now ? machine.heldUntil : until) - now);
    }
  }

  /** A machine does not take rows: it gets none for a while. */
  refuse(place: string, reason: string, holdMs = REFUSED_MS): void {
    const machine = this.#machine(place);
    machine.refusal = reason;
    this.#hold(machine, holdMs);
  }

  /** Whether another machine could accept a row at once. */
  hasOther(place: string): boolean {
    const now = performance.now();
    return [...this.#machines.values()].some(
      ({ id, room, heldUntil }) => id !== place && room > 0 && heldUntil <= now,
    );
  }

  /** Whether the job may have left processes on a machine. */
  hasLeftovers(place: string): boolean {
    return this.#machine(place).hasLeftovers;
  }

  noteLeftovers(place: string, hasLeftovers = true): void {
    this.#machine(place).hasLeftovers = hasLeftovers;
  }

  async close(): Promise<void> {
    this.#unwatch();
    this.#cancelWake();
    this.#closing.abort(new ExecError("CONNECTION_CLOSED", "the job has ended"));
    const machines = [...this.#machines.values()];
    for (const machine of machines) machine.hold(0, () => {});
    const closed = machines.map(async (machine) => {
      await machine.connecting;
      await machine.host?.close();
    });
    await settledWithin(Promise.allSettled(closed), CLOSE_MS);
  }

  #machine(id: string): Machine {
    const machine = this.#machines.get(id) ?? new Machine(id);
    this.#machines.set(id, machine);
    return machine;
  }

  /** A machine that has lost its labels gets no new rows, like one that has left. */
  #hear(reported: RowsMachine): void {
    const isWanted = hasLabels(reported, this.#options.on ?? {});
    if (isWanted || this.#machines.has(reported.id)) this.#machine(reported.id).update(reported, isWanted);
  }

  async #connect(machine: Machine): Promise<void> {
    if (this.#connecting >= MAX_CONNECTING || this.#closing.signal.aborted) return;
    this.#connecting += 1;
    machine.connecting = this.#open(machine);
    await machine.connecting;
    machine.connecting = undefined;
    this.#connecting -= 1;
    this.#changed();
  }

  async #open(machine: Machine): Promise<void> {
    const { fleet, prepare } = this.#options;
    const { signal } = this.#closing;
    let host: Host | undefined;
    try {
      host = await fleet.connect(machine.id, { recoveryTimeoutMs: this.#lostAfterMs, signal });
      await prepare(machine.id, host, machine.hasLeftovers);
      machine.hasLeftovers = false;
      machine.failures = 0;
      machine.refusal = undefined;
      machine.host = host;
      this.#follow(machine, host);
    } catch (error) {
      // A missing connection cannot be closed cleanly, ever.
      if (host !== undefined) await settledWithin(host.close(), CLOSE_MS);
      if (!(error instanceof ExecError)) throw error;
      if (isRefusal(error)) this.refuse(machine.id, error.message);
      else this.#holdOff(machine);
    }
  }

  #follow(machine: Machine, host: Host): void {
    host.onStateChange(() => this.#changed());
    void host.closed.then(() => {
      machine.host = undefined;
      this.#holdOff(machine);
    });
  }

  #holdOff(machine: Machine): void {
    this.#hold(machine, Math.min(FIRST_HOLD_MS * 2 ** machine.failures, MAX_HOLD_MS));
    machine.failures += 1;
  }

  #hold(machine: Machine, ms: number): void {
    if (this.#closing.signal.aborted) return;
    machine.hold(ms, () => this.#changed());
    this.#changed();
  }

  /** Throws if nothing runs, and no machine could be used for too long, or none takes rows. */
  #expectRoom(now: number): void {
    if (this.#running > 0 || this.#connecting > 0) return;
    const listed = [...this.#machines.values()].filter(({ isListed }) => isListed);
    const ready = listed.filter(({ isReady }) => isReady);
    const refused = ready.filter(({ refusal }) => refusal !== undefined);
    if (refused.length > 0 && refused.length === ready.length) throw noneTakes(refused);
    // Machines that are only full will have room again.
    if (ready.some(({ refusal, failures }) => refusal === undefined && failures === 0)) {
      this.#idleSince = undefined;
      return;
    }
    this.#idleSince ??= now;
    const left = this.#idleSince + PATIENCE_MS - now;
    if (left <= 0) throw noMachineLeft(listed, this.#options.on ?? {});
    this.#cancelWake();
    this.#cancelWake = after(left, () => this.#changed());
  }

  #change(signal: AbortSignal, ms: number): Promise<void> {
    return new Promise((resolve) => {
      const done = (): void => {
        cancel();
        unwatch();
        signal.removeEventListener("abort", done);
        resolve();
      };
      const cancel = after(Math.max(0, ms), done);
      const unwatch = this.watch(done);
      signal.addEventListener("abort", done, { once: true });
    });
  }

  #changed(): void {
    for (const watcher of this.#watchers) watcher();
  }
}

function roomiest(machines: readonly Machine[]): Machine | undefined {
  return machines.reduce<Machine | undefined>(
    (best, machine) => (best === undefined || machine.room > best.room ? machine : best),
    undefined,
  );
}

/** Errors that will not go away by trying again soon. */
function isRefusal(error: ExecError): boolean {
  if (error instanceof ConnectionError) return error.code === "UNAUTHORIZED" || error.status === 403;
  return error.code !== "TIMED_OUT" && error.code !== "CONNECTION_CLOSED";
}

function noneTakes(machines: readonly Machine[]): ExecError {
  const reasons = machines.slice(0, MAX_NAMED).map(({ id, refusal }) => `${id}: ${refusal}`);
  const more = machines.length > MAX_NAMED ? `; and ${machines.length - MAX_NAMED} more` : "";
  const which = machines.length === 1 ? "the machine refuses" : `none of ${machines.length} machines accepts`;
  return new ExecError("UNSUPPORTED", `${which} the rows: ${reasons.join("; ")}${more}`);
}

function noMachineLeft(listed: readonly Machine[], on: Readonly<Record<string, string>>): ExecError {
  const cordoned = listed.filter(({ isReady }) => !isReady).length;
  const unreachable = listed.length - cordoned;
  const why =
    listed.length === 0
      ? "none is left"
      : [
          ...(cordoned === 0 ? [] : [`${cordoned} take no new work`]),
          ...(unreachable === 0 ? [] : [`${unreachable} cannot be reached`]),
        ].join(", ");
  return new ExecError("CONNECTION_CLOSED", `no machine in ${describeLabels(on)} can be used: ${why}`);
}

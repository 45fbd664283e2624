import { settledWithin } from "../../base/deadlines.ts";
import { ConnectionError, ExecError } from "../../base/errors.ts";
import type { Host } from "../../client/host/host.ts";
import type { StartOptions } from "../../client/process/start-request.ts";
import { SpawnError } from "../../client/process/spawn-error.ts";
import type { RowAttempt, RowOutcome } from "../engine/row.ts";
import type { JobAttempts } from "../job/file-job.ts";
import { MachinePool } from "../machines/machine-pool.ts";
import type { RowsFleetOptions } from "../machines/rows-fleet.ts";
import { MapWork, type MapWorkOptions } from "./map-work.ts";

/** Time for cleaning up on a machine. */
const SWEEP_MS = 10_000;
/** Longest wait for a machine that is out of sight when the job ends. */
const LAST_REACH_MS = 2_000;
/** Time until a machine whose limit was reached gets rows again. */
const FULL_MS = 5_000;

export interface FleetMapOptions extends Omit<MapWorkOptions, "host" | "hostName" | "start" | "others"> {
  readonly start: (host: Host) => StartOptions;
}

/** Outcome for the machines of a job. */
export interface MachinesSummary {
  /** Machines on which rows were begun, in this run and in earlier ones. */
  readonly used: readonly string[];
  /** Machines that could not be reached at the end, and may still run commands of the job. */
  readonly unreached: readonly string[];
}

/** A kept process of a job that could not be ended. */
export interface Leftover {
  readonly name: string;
  /** The machine, if there were several. */
  readonly host?: string;
}

/** Runs the commands of rows on the machines of a fleet. */
export class FleetMap {
  readonly pool: MachinePool;
  readonly #options: FleetMapOptions;
  readonly #works = new WeakMap<Host, MapWork>();
  #attempts: JobAttempts | undefined;

  constructor(fleet: RowsFleetOptions, options: FleetMapOptions) {
    this.#options = options;
    this.pool = new MachinePool({
      ...fleet,
      prepare: async (id, host, hasLeftovers) => {
        if (hasLeftovers) await this.#sweep(id, host);
      },
    });
  }

  /** Earlier runs may have left something on the machines that they used. */
  opened(attempts: JobAttempts): void {
    this.#attempts = attempts;
    for (const place of attempts.places) this.pool.noteLeftovers(place);
  }

  readonly run = async (attempt: RowAttempt): Promise<RowOutcome> => {
    const place = attempt.place!;
    const host = this.pool.hostAt(place);
    if (host === undefined) return lost(place, "it was lost before the row began", false);
    return await this.#on(place, host, attempt, (work) => work.run(attempt), false);
  };

  readonly takeOver = async (attempt: RowAttempt): Promise<RowOutcome | undefined> => {
    const { place, signal } = attempt;
    // An attempt of a run on one host, whose place is unknown.
    if (place === undefined) return undefined;
    const host = await this.pool.reach(place, signal);
    if (host === undefined) {
      this.pool.noteLeftovers(place);
      return lost(place, "it cannot be reached", true);
    }
    return await this.#on(place, host, attempt, (work) => work.takeOver(attempt), true);
  };

  /**
   * Cleans up after the job on every machine that can be reached; with `leaves`, keeps what a run that resumes it can
   * take over.
   */
  async end({
    leaves,
  }: {
    leaves: boolean;
  }): Promise<MachinesSummary & { readonly leftovers: readonly Leftover[] }> {
    const used = [...(this.#attempts?.places ?? [])].sort();
    const unreached: string[] = [];
    const leftovers: Leftover[] = [];
    try {
      await Promise.all(
        used.map(async (place) => {
          if (!(await this.#sweptAtEnd(place, leftovers, leaves))) unreached.push(place);
        }),
      );
    } finally {
      await this.pool.close();
    }
    return { used, unreached: unreached.sort(), leftovers };
  }

  /** False if something may be left on a machine. */
  async #sweptAtEnd(place: string, leftovers: Leftover[], leaves: boolean): Promise<boolean> {
    let isSwept = false;
    const hasLeftovers = this.pool.hasLeftovers(place);
    const sweep = async (): Promise<void> => {
      const connected = this.pool.hostAt(place);
      // A machine that has left, and whose attempts have all ended, needs no cleanup.
      if (connected === undefined && !hasLeftovers) {
        isSwept = true;
        return;
      }
      const host = await this.pool.reach(place, AbortSignal.timeout(SWEEP_MS), LAST_REACH_MS);
      if (host === undefined) return;
      const left = leaves
        ? await this.#sweep(place, host)
        : await this.#workOn(place, host).kept.sweep(this.#attempts!.jobId);
      leftovers.push(...left.map((name) => ({ name, host: place })));
      this.pool.noteLeftovers(place, false);
      isSwept = true;
    };
    await settledWithin(sweep(), SWEEP_MS);
    return isSwept || !hasLeftovers;
  }

  async #sweep(place: string, host: Host): Promise<readonly string[]> {
    const attempts = this.#attempts!;
    return await this.#workOn(place, host).kept.sweep(attempts.jobId, (attempt) =>
      attempts.isRunning({ ...attempt, place }),
    );
  }

  /** Errors of a machine are not errors of the job: the row runs elsewhere. */
  async #on<T>(
    place: string,
    host: Host,
    attempt: RowAttempt,
    act: (work: MapWork) => Promise<T>,
    isBegun: boolean,
  ): Promise<T | RowOutcome> {
    const work = this.#workOn(place, host);
    try {
      return await act(work);
    } catch (error) {
      if (host.state !== "connected") this.pool.noteLeftovers(place);
      if (attempt.signal.aborted || !(error instanceof ExecError) || error.code === "USAGE") throw error;
      if (error instanceof ConnectionError || error.code === "PROTOCOL_ERROR") {
        // Its start may have taken effect although the answer was lost.
        if (host.state === "connected")
          await work.kept.end(attempt).catch(() => this.pool.noteLeftovers(place));
        return lost(place, `it was lost: ${error.message}`, true);
      }
      this.pool.refuse(place, error.message, ...(error.code === "LIMIT_REACHED" ? [FULL_MS] : []));
      return lost(place, error.message, isBegun);
    }
  }

  #workOn(place: string, host: Host): MapWork {
    const existing = this.#works.get(host);
    if (existing !== undefined) return existing;
    const { start, ...options } = this.#options;
    const work = new MapWork({
      ...options,
      host,
      hostName: place,
      start: start(host),
      others: { haveRoom: () => this.pool.hasOther(place), mayDiffer: (error) => this.#mayDiffer(error) },
    });
    this.#works.set(host, work);
    return work;
  }

  /** A machine without the program or the directory would fail one row after the other, faster than others succeed. */
  #mayDiffer(error: unknown): boolean {
    if (error instanceof ExecError && error.code === "LIMIT_REACHED") return true;
    if (!(error instanceof SpawnError)) return false;
    if (error.reason === "noSuchDirectory") return true;
    return (
      (error.reason === "notFound" || error.reason === "notExecutable") && this.#options.command.isOneProgram
    );
  }
}

function lost(place: string, why: string, isBegun: boolean): RowOutcome {
  return { status: "lost", error: `${place}: ${why}`, host: place, isBegun };
}

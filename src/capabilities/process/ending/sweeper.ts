import { setTimeout as delay } from "node:timers/promises";
import { isOutOfDescriptors } from "../../../native/descriptor-reserve.ts";
import { heldLinks, type WatchedOutput } from "../output/output-holders.ts";
import { inSlices } from "../slices.ts";
import { type ProcessStat, readProcFile } from "../../../native/process-stat.ts";
import { type ProcessSnapshot, readSnapshot } from "../process-snapshot.ts";

/** Killed processes need a moment to disappear, and most families leave nothing else. */
const FIRST_LOOK_MS = 10;
const LAST_LOOK_MS = 200;
const MAX_LOOKS = 40;

/** A family as the sweeper sees it. */
export interface SweptFamily {
  /** Pid of the process that started it, which is also the id of its session. */
  readonly pid: number;
  /** Sends SIGTERM to members that have not received it. `holders` keep the output open. */
  terminateFound(snapshot: ProcessSnapshot, holders: readonly ProcessStat[]): void;
  /** Kills remaining members and their descendants; false if there are none. */
  killFound(snapshot: ProcessSnapshot, holders: readonly ProcessStat[]): Promise<boolean>;
}

interface Sweep {
  readonly outputs: readonly WatchedOutput[];
  readonly kill: boolean;
}

interface OpenSweep extends Sweep {
  looks: number;
}

/**
 * Finds remains of families that were asked to end, and handles them until a search finds nothing. Inspecting every
 * process takes a while, so one search serves all families, and it yields to other work.
 */
export class Sweeper {
  readonly #sweeps = new Map<SweptFamily, OpenSweep>();
  readonly #isLeader: (pid: number) => boolean;
  readonly #pause: (ms: number) => Promise<unknown>;
  #running: Promise<void> | undefined;

  /** `isLeader` says whether a pid is a process of this server, and so names a session. */
  constructor(isLeader: (pid: number) => boolean, pause: (ms: number) => Promise<unknown> = delay) {
    this.#isLeader = isLeader;
    this.#pause = pause;
  }

  /** Closes the outputs when done. A later sweep of the same family replaces the earlier one. */
  sweep(family: SweptFamily, sweep: Sweep): void {
    this.#finish(family);
    this.#sweeps.set(family, { ...sweep, looks: 0 });
    this.#running ??= this.#run();
  }

  /** Resolves when nothing is left to search for. */
  async idle(): Promise<void> {
    await this.#running;
  }

  async #run(): Promise<void> {
    for (
      let pauseMs = FIRST_LOOK_MS;
      this.#sweeps.size > 0;
      pauseMs = Math.min(pauseMs * 1.5, LAST_LOOK_MS)
    ) {
      await this.#pause(pauseMs);
      await this.#tryToLook();
    }
    this.#running = undefined;
  }

  async #tryToLook(): Promise<void> {
    try {
      await this.#searchOnce();
    } catch (error) {
      // Without a descriptor, nothing can be seen, so no family is finished; the next search may have one.
      if (!isOutOfDescriptors(error)) throw error;
    }
  }

  async #searchOnce(): Promise<void> {
    const sweeps = [...this.#sweeps];
    const snapshot = await readSnapshot();
    const holders = await this.#findHolders(snapshot, sweeps);
    for (const [family, sweep] of sweeps) {
      // Another sweep may have replaced it meanwhile.
      if (this.#sweeps.get(family) !== sweep) continue;
      const holding = sweep.outputs.flatMap(({ link }) => holders.get(link) ?? []);
      const own = holding.filter((holder) => this.#mayBelongTo(family, holder));
      const more = await this.#searchFamily(family, sweep, snapshot, own);
      if (!more && this.#sweeps.get(family) === sweep) this.#finish(family);
    }
  }

  /** True if another search is needed. */
  async #searchFamily(
    family: SweptFamily,
    sweep: OpenSweep,
    snapshot: ProcessSnapshot,
    holders: readonly ProcessStat[],
  ): Promise<boolean> {
    sweep.looks += 1;
    if (sweep.kill) return (await family.killFound(snapshot, holders)) && sweep.looks < MAX_LOOKS;
    family.terminateFound(snapshot, holders);
    return false;
  }

  async #findHolders(
    snapshot: ProcessSnapshot,
    sweeps: readonly (readonly [SweptFamily, Sweep])[],
  ): Promise<Map<string, ProcessStat[]>> {
    const holders = new Map<string, ProcessStat[]>();
    for (const [family, { outputs }] of sweeps)
      if (this.#sweeps.get(family)?.outputs === outputs)
        for (const output of outputs) if (output.held) holders.set(output.link, []);
    if (holders.size === 0) return holders;
    const links = new Set(holders.keys());
    await inSlices(snapshot.values(), (candidate) => {
      if (!candidate.alive || candidate.pid === process.pid) return;
      for (const link of heldLinks(candidate, links)) holders.get(link)?.push(candidate);
    });
    return holders;
  }

  /** Another process of this server may write to the same output, at a client's request. */
  #mayBelongTo(family: SweptFamily, holder: ProcessStat): boolean {
    if (holder.session === family.pid) return true;
    return !this.#isLeader(holder.session) && !isBeingStarted(holder);
  }

  #finish(family: SweptFamily): void {
    const sweep = this.#sweeps.get(family);
    this.#sweeps.delete(family);
    for (const output of sweep?.outputs ?? []) output.close();
  }
}

/** A child of this server has copies of all its descriptors until it runs its own program. */
function isBeingStarted({ pid, parent }: ProcessStat): boolean {
  return parent === process.pid && readProcFile(`${pid}/cmdline`) === readProcFile("self/cmdline");
}

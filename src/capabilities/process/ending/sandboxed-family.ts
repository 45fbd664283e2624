import { constants } from "node:os";
import { libc } from "../../../native/libc.ts";
import { listChildren, type ProcessStat, readStat, signalProcess } from "../../../native/process-stat.ts";
import { isOutOfDescriptors } from "../../../native/descriptor-reserve.ts";
import type { OutputEnd } from "../output/output-holders.ts";
import { takeSteps } from "../slices.ts";
import { findDescendants } from "./descendants.ts";
import type { ProcessFamily } from "./process-family.ts";
import type { MachineUsage, Usage } from "../usage/machine-usage.ts";

/** How often to look whether the program inside has begun. It takes about 10 ms. */
const LOOK_MS = 2;

/**
 * The family of a process in a sandbox. The process that the server started, and the first one of the namespace, only
 * keep watch: if they end, everything inside ends. So signals go to the program inside, and kills to the watchers.
 */
export class SandboxedFamily implements ProcessFamily {
  readonly #pid: number;
  readonly #watchers: ProcessFamily;
  #reaped = false;

  constructor(pid: number, watchers: ProcessFamily) {
    this.#pid = pid;
    this.#watchers = watchers;
  }

  get contained(): boolean {
    return this.#watchers.contained;
  }

  get gone(): boolean {
    return this.#watchers.gone;
  }

  signal(signal: NodeJS.Signals): void {
    this.#whenBegun((program) => libc().kill(-program, constants.signals[signal]));
  }

  terminate(): void {
    this.#whenBegun((program, first) => {
      const found = new Map<number, ProcessStat>();
      takeSteps(findDescendants(first, found, { stop: false }), () => {
        if (this.#reaped) return;
        // A process that is stopped acts on SIGTERM only when it continues.
        for (const signal of [constants.signals.SIGTERM, constants.signals.SIGCONT]) {
          for (const member of found.values()) unlessBlind(() => signalProcess(member, signal));
          // Without a free descriptor, nothing is found.
          if (found.size === 0) libc().kill(-program, signal);
        }
      });
    });
  }

  killGroup(): void {
    this.#watchers.killGroup();
  }

  kill(outputs: readonly OutputEnd[]): void {
    this.#watchers.kill(outputs);
  }

  usage(machine: MachineUsage): Usage {
    return this.#watchers.usage(machine);
  }

  leaderReaped(): void {
    this.#reaped = true;
    this.#watchers.leaderReaped();
  }

  /**
   * Acts on the program, which leads a group, and the first process of its namespace. Until the program has begun, there
   * is only bubblewrap, which a signal would end without what it is about to start.
   */
  #whenBegun(act: (program: number, first: number) => void): void {
    if (this.#reaped) return;
    const begun = unlessBlind(() => {
      const first = listChildren(this.#pid)[0];
      const program = first === undefined ? undefined : listChildren(first)[0];
      const leads = program !== undefined && readStat(program)?.group === program;
      return leads && first !== undefined ? { first, program } : undefined;
    });
    if (begun === undefined) setTimeout(() => this.#whenBegun(act), LOOK_MS).unref();
    else act(begun.program, begun.first);
  }
}

function unlessBlind<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch (error) {
    if (isOutOfDescriptors(error)) return undefined;
    throw error;
  }
}

import { constants } from "node:os";
import { libc } from "../../../native/libc.ts";
import { listChildren, type ProcessStat, readStat, signalProcess } from "../../../native/process-stat.ts";
import { isOutOfDescriptors } from "../../../native/descriptor-reserve.ts";
import type { OutputEnd } from "../output/output-holders.ts";
import { takeSteps } from "../slices.ts";
import { findDescendants } from "./descendants.ts";
import type { ProcessFamily } from "./process-family.ts";

/** Signals that do not end a process by default. */
const HARMLESS: readonly NodeJS.Signals[] = ["SIGSTOP", "SIGCONT", "SIGWINCH"];

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
    if (this.#reaped) return;
    const program = unlessBlind(() => this.#program());
    if (program !== undefined) libc().kill(-program, constants.signals[signal]);
    // The program has not begun, so nothing inside could handle it.
    else if (!HARMLESS.includes(signal)) this.#watchers.signal(signal);
  }

  terminate(outputs: readonly OutputEnd[]): void {
    if (this.#reaped) return;
    const first = unlessBlind(() => this.#first());
    if (first === undefined) {
      this.#watchers.terminate(outputs);
      return;
    }
    const found = new Map<number, ProcessStat>();
    takeSteps(findDescendants(first, found, { stop: false }), () => {
      if (this.#reaped) return;
      for (const member of found.values())
        unlessBlind(() => signalProcess(member, constants.signals.SIGTERM));
      if (found.size === 0) this.#watchers.terminate(outputs);
    });
  }

  killGroup(): void {
    this.#watchers.killGroup();
  }

  kill(outputs: readonly OutputEnd[]): void {
    this.#watchers.kill(outputs);
  }

  leaderReaped(): void {
    this.#reaped = true;
    this.#watchers.leaderReaped();
  }

  /** The first process of the namespace. */
  #first(): number | undefined {
    return listChildren(this.#pid)[0];
  }

  /** The program inside, which leads a group; undefined if it has not begun. */
  #program(): number | undefined {
    const first = this.#first();
    const program = first === undefined ? undefined : listChildren(first)[0];
    return program !== undefined && readStat(program)?.group === program ? program : undefined;
  }
}

function unlessBlind<T>(look: () => T): T | undefined {
  try {
    return look();
  } catch (error) {
    if (isOutOfDescriptors(error)) return undefined;
    throw error;
  }
}

import type { OutputEnd } from "../output/output-holders.ts";
import type { MachineUsage, Usage } from "../usage/machine-usage.ts";

/** Everything that a process has started, as far as it can be found. */
export interface ProcessFamily {
  /** True if it can be found even after the process itself is gone, because the system keeps it together. */
  readonly contained: boolean;
  /** Sends a signal to the process group only. */
  signal(signal: NodeJS.Signals): void;
  /** Sends SIGTERM to all; `outputs` are those still open. */
  terminate(outputs: readonly OutputEnd[]): void;
  /** Kills the process group, or everything if the system keeps it together. */
  killGroup(): void;
  /** Kills everything, even if it resists. */
  kill(outputs: readonly OutputEnd[]): void;
  /** Its members that are alive, as far as they can be found. Only before the process has been reaped. */
  members(machine: MachineUsage): Iterable<number>;
  /** Its current usage. Only before the process has been reaped. */
  usage(machine: MachineUsage): Usage;
  /** Called when the process has been reaped: its pid may be reused. */
  leaderReaped(): void;
  /** True if nothing is known to be left. */
  readonly gone: boolean;
}

/** The family of a closed, uncontained process: what it left behind can no longer be identified. */
export const ENDED_FAMILY: ProcessFamily = {
  contained: false,
  gone: true,
  signal: () => {},
  terminate: () => {},
  killGroup: () => {},
  kill: () => {},
  members: () => [],
  usage: (machine) => machine.of([]),
  leaderReaped: () => {},
};

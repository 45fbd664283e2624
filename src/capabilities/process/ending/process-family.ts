import type { OutputEnd } from "../output/output-holders.ts";

/** Everything that a process has started, as far as it can be found. */
export interface ProcessFamily {
  /** True when it is found also after the process itself is gone, because the system keeps it together. */
  readonly contained: boolean;
  /** Sends a signal to the process group alone. */
  signal(signal: NodeJS.Signals): void;
  /** Sends SIGTERM to all; `outputs` are those that are still open. */
  terminate(outputs: readonly OutputEnd[]): void;
  /** Kills the process group, and all where the system keeps them together. */
  killGroup(): void;
  /** Kills all, however it resists. */
  kill(outputs: readonly OutputEnd[]): void;
  /** The process has been waited for: its number is no longer its own. */
  leaderReaped(): void;
  /** True when nothing is known to be left. */
  readonly gone: boolean;
}

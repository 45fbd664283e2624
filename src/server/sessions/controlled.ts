import type { ManagedProcess } from "../../capabilities/process/managed-process.ts";
import type { TerminalSize } from "../../native/spawn.ts";
import type { WriteIds } from "./write-ids.ts";

/** A process that a client may change: one of its session, or a kept one that it controls. */
export interface Controlled {
  readonly process: ManagedProcess;
  /** Ids of applied writes, if any; a client repeats a write whose answer was lost. */
  writeIds?: WriteIds;
  /** Others control the process too, and want to know who has written last. */
  typed?(): void;
  /** Others share the window. */
  resize?(size: TerminalSize): void;
}

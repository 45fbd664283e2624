import type { ResourceLimits } from "../../native/resource-limits.ts";
import type { TerminalSize } from "../../native/spawn.ts";
import type { Confinement } from "../sandbox/sandbox.ts";
import type { ProcessOptions } from "./managed-process.ts";

/** What to start, and how. */
export interface StartRequest extends ProcessOptions {
  readonly argv: readonly string[];
  /** Name that the program sees instead of `argv[0]`. */
  readonly arg0?: string;
  /** Absolute; bytes if it is not UTF-8. */
  readonly cwd: string | Uint8Array;
  readonly env: ReadonlyMap<string, string>;
  readonly stdin: "none" | "pipe" | { readonly terminal: TerminalSize };
  readonly limits?: ResourceLimits;
  /** Runs the program in a sandbox. */
  readonly confinement?: Confinement;
  /** Keeps everything that the process starts in a control group, which nothing can leave. */
  readonly contain?: boolean;
}

import type { Logger } from "../base/logger.ts";

/** A command that serves on its stdin and stdout. */
export interface ChildCommand {
  readonly command: readonly [program: string, ...args: string[]];
  readonly cwd?: string;
  /** Added to this program's environment. A variable that is `undefined` here is not inherited. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  /**
   * Keeps the command in this program's process group, so that it can ask for a password on the terminal. Then only the
   * command itself is ended, not what it has started. Default: false.
   */
  readonly sharesTerminal?: boolean;
  /** Name of the command in errors. Default: its program. */
  readonly name?: string;
  /** Receives the command's stderr. */
  readonly logger: Logger;
}

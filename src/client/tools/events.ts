import type { ToolStream } from "./tool-host.ts";

/**
 * Events of the tools' processes, for a user interface. Each process has one `begin` and one `end`; `callId` is that of
 * the `exec_command` that started it, even for events that later calls cause.
 */
export type ExecToolEvent =
  | {
      readonly type: "begin";
      readonly callId: string;
      /** The number by which `write_stdin` knows it. */
      readonly sessionId: number;
      readonly processId: string;
      readonly argv: readonly string[];
      readonly cwd: string | undefined;
    }
  | {
      readonly type: "output_delta";
      readonly callId: string;
      readonly stream: ToolStream;
      readonly bytes: Uint8Array;
    }
  /** A model sent input, or an interrupt (`\u0003`). */
  | { readonly type: "terminal_interaction"; readonly callId: string; readonly chars: string }
  | ExecToolEnd;

/** The end of a process, as far as the tools follow it. */
export interface ExecToolEnd {
  readonly type: "end";
  readonly callId: string;
  /** Absent if it never became known; `failure` then says why. */
  readonly exitCode?: number;
  readonly durationMs: number;
  /**
   * Both streams as they arrived: the whole output, or its beginning and end with a line that says how much is missing.
   */
  readonly output: string;
  readonly omittedBytes: number;
  /** Why the exit code, or the rest of the output, is not known. */
  readonly failure?: string;
}

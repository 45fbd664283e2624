import type { Logger } from "../../base/logger.ts";
import type { NamedSecret } from "../process/start-request.ts";
import type { Sandbox } from "../../protocol/sandbox-options.ts";
import type { ExecCommandArgs, WriteStdinArgs } from "./arguments.ts";
import type { ToolDefinition } from "./definitions.ts";
import type { ExecToolEvent } from "./events.ts";
import type { FunctionTool, ToolCallOptions } from "./function-tool.ts";
import type { ToolTerminalSize } from "./tool-host.ts";
import type { ExecToolResult } from "./tool-result.ts";

/** Options of a model's tools. */
export interface ExecToolsOptions {
  /**
   * Default working directory of commands, and base of a relative `workdir`. Default: the server's working directory.
   */
  readonly cwd?: string;
  /** The shell for `cmd`. Default: the server's shell, otherwise `/bin/sh`. */
  readonly shell?: string;
  /**
   * Whether the shell reads its login profile, for calls that do not say. Default: true, as with Codex's tools; false
   * starts faster and keeps the environment as set by the server and `env`.
   */
  readonly login?: boolean;
  /**
   * Declares every start as approved by the caller's policy (`prepared`) or not (`direct`). Needs a server that
   * supports it. Default: not declared.
   */
  readonly specKind?: "direct" | "prepared";
  /**
   * Confines every command. Relative paths in it start at `cwd`, and not at the `workdir` that the model chooses.
   * Default: no sandbox.
   */
  readonly sandbox?: Sandbox;
  /** Secrets that every command uses and does not have. */
  readonly secrets?: readonly NamedSecret[];
  /** Variables for every command; a call's `env` overrides them. Colours and pagers are off unless enabled here. */
  readonly env?: Readonly<Record<string, string>>;
  /** Size of terminals. Default: the server's, 80 x 24. */
  readonly terminalSize?: ToolTerminalSize;
  /**
   * Maximum number of processes that run or have ended unreported. Default: 64. At the limit one is evicted, and the
   * result says so.
   */
  readonly maxSessions?: number;
  /** Maximum output of a call, whatever the model asks for. Default: everything kept, about 260000 tokens. */
  readonly maxOutputTokens?: number;
  /** Tools beside `exec_command` and `write_stdin`. */
  readonly more?: readonly FunctionTool[];
  /** Receives what no caller learns of. */
  readonly logger?: Logger;
}

/** Result of `call`, for the message back to the model. */
export interface ToolCallResult {
  readonly text: string;
  readonly isError: boolean;
  /** Absent if the call failed, or was one of a tool in `more`. */
  readonly result?: ExecToolResult;
}

/** A session that a model may still use. */
export interface ExecSessionSummary {
  readonly sessionId: number;
  readonly callId: string;
  readonly processId: string;
  readonly command: string;
  readonly argv: readonly string[];
  readonly cwd: string | undefined;
  readonly tty: boolean;
  readonly running: boolean;
  readonly exitCode?: number;
  readonly ageMs: number;
  /** Output that no call has returned yet. */
  readonly pendingBytes: number;
}

/** The tools of a model on one host, with the processes they started. */
export interface ExecTools extends AsyncDisposable {
  /** All tools, in the form of OpenAI's Responses API; `toAnthropicTools` converts them. */
  readonly definitions: readonly ToolDefinition[];
  /**
   * Runs a tool by name with the arguments, or their JSON text, as a model gave them. Mistakes that a model can correct
   * are returned as text with `isError`.
   */
  call(name: string, args: unknown, options?: ToolCallOptions): Promise<ToolCallResult>;
  /** Starts a process and waits for its end, at most for the yield window. */
  exec_command(args: ExecCommandArgs, options?: ToolCallOptions): Promise<ExecToolResult>;
  /** Sends input, or nothing, and returns new output. */
  write_stdin(args: WriteStdinArgs, options?: ToolCallOptions): Promise<ExecToolResult>;
  list(): ExecSessionSummary[];
  /** Calls the listener on every event from now on. Returns a function that removes it. */
  onEvent(listener: (event: ExecToolEvent) => void): () => void;
  /**
   * Kills all processes and waits briefly for their ends. Background processes of commands already reported as ended
   * end with the host.
   */
  close(): Promise<void>;
}

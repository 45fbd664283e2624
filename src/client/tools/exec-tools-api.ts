import type { Logger } from "../../base/logger.ts";
import type { ExecCommandArgs, WriteStdinArgs } from "./arguments.ts";
import type { ExecToolDefinition } from "./definitions.ts";
import type { ExecToolEvent } from "./events.ts";
import type { ToolTerminalSize } from "./tool-host.ts";
import type { ExecToolResult } from "./tool-result.ts";

/** How the tools of a model are set up. */
export interface ExecToolsOptions {
  /** Where commands run that name no `workdir`, and what a relative one is relative to. Default: the server's own directory. */
  readonly cwd?: string;
  /** The shell for `cmd`. Default: the one that the server names, else `/bin/sh`. */
  readonly shell?: string;
  /**
   * Whether the shell reads its login profile, for calls that do not say. Default: true, as Codex's tools do; false starts faster and keeps the environment as
   * the server and `env` set it.
   */
  readonly login?: boolean;
  /** Declares every start as approved by a policy of the caller (`prepared`) or not (`direct`). Needs a server that has it. Default: not declared. */
  readonly specKind?: "direct" | "prepared";
  /** Variables for every command; a call's `env` wins. Colours and pagers are off unless set here. */
  readonly env?: Readonly<Record<string, string>>;
  /** Size of terminals. Default: the server's, 80 x 24. */
  readonly terminalSize?: ToolTerminalSize;
  /** Processes at once, running or ended and not told yet; 64 unless told. At the bound one is given up, and the model is told. */
  readonly maxSessions?: number;
  /** The most that a call may return, whatever the model asks for. Default: what is kept, about 260000 tokens. */
  readonly maxOutputTokens?: number;
  /** Gets what no caller is told. */
  readonly logger?: Logger;
}

/** What surrounds a single call. */
export interface ToolCallOptions {
  /** Ends the call with the signal's reason. A process that the call started is killed; one that it only talked to runs on. */
  readonly signal?: AbortSignal;
  /** Names the call in events; made up when absent. */
  readonly callId?: string;
}

/** What `call` gives, for the message that goes back to the model. */
export interface ToolCallResult {
  readonly text: string;
  readonly isError: boolean;
  /** Absent when the call failed. */
  readonly result?: ExecToolResult;
}

/** A session that a model may still ask for. */
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

/** The tools of a model on one host, with the processes that they started. */
export interface ExecTools extends AsyncDisposable {
  /** Both tools, as OpenAI's Responses API takes them; `toAnthropicTools` gives the other form. */
  readonly definitions: readonly ExecToolDefinition[];
  /** Runs a tool by name with the arguments, or their JSON text, as a model gave them. What a model can mend comes back as text with `isError`. */
  call(name: string, args: unknown, options?: ToolCallOptions): Promise<ToolCallResult>;
  /** Starts a process and waits for its end, but no longer than the yield window. */
  exec_command(args: ExecCommandArgs, options?: ToolCallOptions): Promise<ExecToolResult>;
  /** Sends input, or nothing, and returns what is new. */
  write_stdin(args: WriteStdinArgs, options?: ToolCallOptions): Promise<ExecToolResult>;
  list(): ExecSessionSummary[];
  /** Calls the listener with every event from now on. Returns what takes it off again. */
  onEvent(listener: (event: ExecToolEvent) => void): () => void;
  /** Kills all processes and waits a moment for their ends. Background processes whose command has been told as ended go with the host. */
  close(): Promise<void>;
}

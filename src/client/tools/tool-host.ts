import type { NamedSecret } from "../process/start-request.ts";
import type { SandboxContext } from "../../protocol/sandbox.ts";

/** A stream of output. */
export type ToolStream = "stdout" | "stderr" | "pty";

/** The process events that the tools need. */
export type ToolProcessEvent =
  | { readonly kind: "output"; readonly stream: ToolStream; readonly bytes: Uint8Array }
  | { readonly kind: "exited"; readonly exitCode: number | null; readonly sandboxDenied?: boolean }
  | { readonly kind: "closed" }
  | { readonly kind: "gap"; readonly fromSeq: number; readonly toSeq: number }
  | { readonly kind: "failed"; readonly message: string };

/** The part of a remote process that the tools use. */
export interface ToolProcess {
  readonly id: string;
  events(options: { readonly signal: AbortSignal }): AsyncIterable<ToolProcessEvent>;
  write(data: string): Promise<void>;
  interrupt(): Promise<void>;
  kill(): Promise<unknown>;
}

/** How the tools start a process. */
export interface ToolStartOptions {
  readonly cwd?: string;
  readonly env?: Record<string, string>;
  readonly stdin?: "pipe" | "none";
  readonly specKind?: "direct" | "prepared";
  readonly sandbox?: SandboxContext;
  readonly secrets?: readonly NamedSecret[];
}

/** A terminal's size in characters. */
export interface ToolTerminalSize {
  readonly cols: number;
  readonly rows: number;
}

/** The part of a host that the tools use. */
export interface ToolHost {
  /** The server's description of its machine; the tools use its shell and working directory. */
  readonly environment?:
    | { readonly shell?: { readonly path: string }; readonly cwd?: string | null | undefined }
    | undefined;
  start(argv: readonly string[], options: ToolStartOptions): Promise<ToolProcess>;
  terminal(
    argv: readonly string[],
    options: ToolStartOptions & Partial<ToolTerminalSize>,
  ): Promise<ToolProcess>;
}

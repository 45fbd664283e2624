import type { HeadTail } from "../process/head-tail.ts";

/** Models count tokens, whose size depends on the model, so bytes stand in for them. */
const BYTES_PER_TOKEN = 4;

/** Result of a tool call. Models see the names. */
export interface ExecToolResult {
  /**
   * Output since the last call, both streams as they arrived, cut to the budget with a line where something is missing.
   */
  readonly output: string;
  /** Set if the process has ended and its exit code is known. */
  readonly exit_code?: number;
  /** Set if the process keeps running; pass it to `write_stdin`. */
  readonly session_id?: number;
  /** The command line, shortened if it is long. */
  readonly command: string;
  /** Duration of this call. */
  readonly wall_time_seconds: number;
  /** Size of the output before it was cut. */
  readonly original_token_count: number;
  readonly omitted_tokens: number;
  readonly omitted_bytes: number;
  /** Why nothing more will be known about the process or its output. */
  readonly failure?: string;
  /** Remarks that are not output, such as lost output or an evicted session. */
  readonly notes: readonly string[];
}

/** Output cut to a number of tokens. */
export type TokenCut = Pick<
  ExecToolResult,
  "output" | "original_token_count" | "omitted_tokens" | "omitted_bytes"
>;

const toTokens = (bytes: number): number => Math.ceil(bytes / BYTES_PER_TOKEN);

const omittedTokensLine = (omittedBytes: number): string =>
  `… about ${toTokens(omittedBytes)} tokens (${omittedBytes} bytes) omitted …`;

/** Cuts output to a token budget, keeping both ends. The line that says so does not count. */
export function cutToTokens(collected: HeadTail, maxTokens: number): TokenCut {
  const maxBytes = maxTokens * BYTES_PER_TOKEN;
  const { omittedBytes } = collected.view(maxBytes);
  return {
    output: collected.text({ maxBytes, marker: omittedTokensLine }),
    original_token_count: toTokens(collected.totalBytes),
    omitted_tokens: toTokens(omittedBytes),
    omitted_bytes: omittedBytes,
  };
}

/** A result as text for a model: the state of the process, then its output. */
export function toText(result: ExecToolResult): string {
  const lines = [...describeState(result), `Wall time: ${result.wall_time_seconds.toFixed(2)} s`];
  for (const note of result.notes) lines.push(`Note: ${note}`);
  if (result.omitted_bytes > 0)
    lines.push(`Output was ${result.original_token_count} tokens; the middle is left out.`);
  if (result.output === "") lines.push("No output.");
  else lines.push("Output:", result.output);
  return lines.join("\n");
}

function describeState({ exit_code, session_id, failure, command }: ExecToolResult): string[] {
  if (session_id !== undefined) return [`Still running, session_id ${session_id}: ${command}`];
  if (exit_code === undefined)
    return [`Exit code: unknown. ${failure ?? "The server did not say"}`, `Command: ${command}`];
  if (failure === undefined) return [`Exit code: ${exit_code}`];
  return [`Exit code: ${exit_code}`, `Output may be incomplete: ${failure}`];
}

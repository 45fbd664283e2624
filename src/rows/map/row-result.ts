import { formatDuration } from "../../base/duration.ts";
import { messageOf } from "../../base/errors.ts";
import { shorten } from "../../base/shorten.ts";
import type { Collected } from "../../client/process/collect.ts";
import type { JsonValue, RowOutcome } from "../engine/row.ts";
import type { CheckResult } from "../result/result-schema.ts";

const MAX_ERROR_CHARACTERS = 2_000;

/** What becomes of the output of a command. */
export interface ResultOptions {
  /** `text`: stdout, without its last line break; the middle of a long one is left out. `json`: stdout, parsed. */
  readonly kind: "text" | "json";
  readonly check?: CheckResult;
  readonly timeoutMs?: number;
}

/** How the command of a row ended. */
export function outcomeOf(ended: Collected, options: ResultOptions): RowOutcome {
  const { exitCode, exit } = ended;
  const code = exitCode === null ? {} : { exitCode };
  const failed = (error: string): RowOutcome => ({
    status: "failed",
    error: shorten(error, MAX_ERROR_CHARACTERS),
    retry: true,
    ...code,
  });
  if (exit.timedOut === true) return failed(`timed out after ${formatDuration(options.timeoutMs ?? 0)}`);
  if (exitCode !== 0) return failed(withLastWords(endText(ended), ended.stderr));
  const read = options.kind === "text" ? { value: withoutLastBreak(ended.stdout) } : readJson(ended);
  if ("error" in read) return failed(read.error);
  const misfit = options.check?.(read.value);
  if (misfit !== undefined) return failed(`its result does not fit the schema: ${misfit}`);
  return { status: "completed", result: read.value, ...code };
}

function endText({ exitCode, exit, sandboxDenied }: Collected): string {
  const denied = sandboxDenied ? ", its sandbox denied something" : "";
  if (exit.signal !== undefined && exit.signal !== null) return `ended by ${exit.signal}${denied}`;
  return exitCode === null ? "its end is not known" : `exit status ${exitCode}${denied}`;
}

function withLastWords(end: string, stderr: string): string {
  const said = stderr.trim().split("\n").at(-1) ?? "";
  return said === "" ? end : `${end}: ${said}`;
}

function withoutLastBreak(text: string): string {
  return text.endsWith("\n") ? text.slice(0, text.endsWith("\r\n") ? -2 : -1) : text;
}

function readJson({ stdout, stdoutOmittedBytes, gaps }: Collected): { value: JsonValue } | { error: string } {
  if (stdoutOmittedBytes > 0 || gaps.length > 0) return { error: "its output is too large for a result" };
  try {
    return { value: JSON.parse(stdout) as JsonValue };
  } catch (error) {
    if (stdout.trim() === "") return { error: "it printed nothing, but its result must be JSON" };
    return { error: `its output is not JSON: ${messageOf(error).split("\n")[0]}` };
  }
}

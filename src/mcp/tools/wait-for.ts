import { createDeferred, type Deferred } from "../../base/deferred.ts";
import { defined } from "../../base/defined.ts";
import { onAbort } from "../../base/deadlines.ts";
import { UsageError } from "../../base/errors.ts";
import { visibleText } from "../../base/visible-text.ts";
import { isMissing } from "../../client/files/file-error.ts";
import type { FileStat } from "../../client/files/file-stat.ts";
import type { Files } from "../../client/files/files.ts";
import { checkArguments } from "../../client/tools/arguments.ts";
import { LineFinder } from "../processes/line-finder.ts";
import { Pattern } from "../processes/pattern.ts";
import type { ProcessRecord } from "../processes/process-record.ts";
import type { Surroundings } from "./process-tools.ts";
import { absolutePath } from "./paths.ts";
import { type McpTool, type ToolAnswer, toolDefinition } from "./tool.ts";

/** Clients give a tool 60 s, some of them. */
const MAX_TIMEOUT_MS = 50_000;
const MAX_CHANGED = 100;

const definition = toolDefinition(
  "wait_for",
  "Waits until a running command ends or prints a line that matches, or until a file changes, whichever comes first, so " +
    "that there is no need to poll. Ends nothing, and does not count as reading output. After a timeout, call it again.",
  {
    session_id: { type: "integer", description: "Wait for the end of this command." },
    pattern: {
      type: "string",
      description:
        "With session_id: also wait for a line of its output that matches this JavaScript regular expression. Output " +
        "that no call has returned yet counts.",
    },
    path: {
      type: "string",
      description: "Wait for a change of this file or directory, and of everything below it, from now on.",
    },
    timeout_ms: {
      type: "integer",
      minimum: 1,
      description: `How long to wait, in milliseconds, at most ${MAX_TIMEOUT_MS}. Default ${MAX_TIMEOUT_MS}.`,
    },
  },
  [],
);

interface WaitArguments {
  readonly session_id?: number | null;
  readonly pattern?: string | null;
  readonly path?: string | null;
  readonly timeout_ms?: number | null;
}

/** What has happened. */
type Happened =
  | { readonly reason: "exited"; readonly exit_code?: number }
  | { readonly reason: "matched"; readonly line: string }
  | { readonly reason: "changed"; readonly paths: readonly string[] }
  | { readonly reason: "timeout" };

/** The tool that waits. */
export function waitForTool({ processes, enter }: Surroundings): McpTool {
  return {
    definition,
    annotations: { title: "Wait for a command or a file", readOnlyHint: true, openWorldHint: false },
    outputSchema: {
      type: "object",
      properties: {
        reason: { type: "string", enum: ["exited", "matched", "changed", "timeout"] },
        exit_code: { type: "integer" },
        line: { type: "string", description: "The line that matches." },
        paths: { type: "array", items: { type: "string" }, description: "What has changed, if it is known." },
        running: { type: "boolean", description: "Whether the command still runs." },
        unread_bytes: {
          type: "integer",
          description: "Output of the command that no call has returned yet; write_stdin returns it.",
        },
        next: { type: "string", description: "What to do next." },
      },
      required: ["reason"],
    },
    call: async (args, call) => {
      const { session_id, pattern, path, timeout_ms } = checkArguments(definition, args) as WaitArguments;
      const record = isGiven(session_id) ? processes.find(session_id) : undefined;
      if (record === undefined && !isGiven(path))
        throw new UsageError("wait_for: name what to wait for: a session_id, a path, or both");
      if (record === undefined && isGiven(pattern))
        throw new UsageError(
          "wait_for: pattern needs the session_id of the command whose output is searched",
        );
      const wanted =
        record && isGiven(pattern) ? finderFor(record, pattern, processes.unread(record)) : undefined;
      const timeoutMs = Math.min(timeout_ms ?? MAX_TIMEOUT_MS, MAX_TIMEOUT_MS);
      call.report = () => record?.lastLine ?? "";
      const happened = await firstOf(timeoutMs, call.signal, (happens, signal) => {
        if (isGiven(path)) followFile(path, enter, happens, signal);
        return record === undefined ? undefined : followProcess(record, wanted, happens);
      });
      return answerOf(happened, record, record && processes.unread(record), timeoutMs);
    },
  };
}

const isGiven = <T>(value: T | null | undefined): value is T => value !== undefined && value !== null;

function finderFor(record: ProcessRecord, pattern: string, unreadBytes: number): LineFinder {
  const from = Math.max(record.log.end - unreadBytes, record.searchedTo);
  return new LineFinder(record.log, new Pattern(pattern), from);
}

/** What `follow` reports first, or the timeout. `follow` returns what stops it, and gets a signal that does. */
async function firstOf(
  timeoutMs: number,
  outer: AbortSignal,
  follow: (happens: Deferred<Happened>, signal: AbortSignal) => (() => void) | undefined,
): Promise<Happened> {
  const happens = createDeferred<Happened>();
  const over = new AbortController();
  const unlink = onAbort(outer, (reason) => happens.reject(reason));
  const timer = setTimeout(() => happens.resolve({ reason: "timeout" }), timeoutMs);
  const stop = follow(happens, over.signal);
  try {
    return await happens.promise;
  } finally {
    unlink();
    clearTimeout(timer);
    stop?.();
    over.abort();
  }
}

/** Returns what stops following. */
function followProcess(
  record: ProcessRecord,
  wanted: LineFinder | undefined,
  happens: Deferred<Happened>,
): () => void {
  const look = (): void => {
    try {
      const found = wanted?.next();
      if (found !== undefined) {
        record.searchedTo = found.end;
        happens.resolve({ reason: "matched", line: found.line });
      } else if (!record.isRunning)
        happens.resolve({ reason: "exited", ...defined({ exit_code: record.exitCode }) });
    } catch (error) {
      happens.reject(error);
    }
  };
  look();
  return record.onChange(look);
}

function followFile(
  path: string,
  enter: Surroundings["enter"],
  happens: Deferred<Happened>,
  signal: AbortSignal,
): void {
  const follow = async (): Promise<void> => {
    const place = await enter(signal);
    const file = absolutePath("wait_for", path, place.cwd);
    const { kind } = await statOf(place.readableFiles, file, signal);
    const watch = await place.readableFiles.watch(file, { recursive: kind === "directory", signal });
    const { done, value } = await watch.next();
    // A watch ends when what it watches is gone.
    const paths = done === true ? [file] : value.paths.slice(0, MAX_CHANGED);
    happens.resolve({ reason: "changed", paths });
  };
  follow().catch((error: unknown) => happens.reject(error));
}

async function statOf(files: Files, file: string, signal: AbortSignal): Promise<FileStat> {
  try {
    return await files.stat(file, { signal });
  } catch (error) {
    if (!isMissing(error)) throw error;
    throw new UsageError(`wait_for: ${file} does not exist; wait for its directory instead`);
  }
}

function answerOf(
  happened: Happened,
  record: ProcessRecord | undefined,
  unreadBytes: number | undefined,
  timeoutMs: number,
): ToolAnswer {
  const next = nextStep(happened, record);
  const structured = defined({
    ...happened,
    running: record?.isRunning,
    unread_bytes: unreadBytes,
    next,
  });
  return {
    text: [describe(happened, timeoutMs), ...(next === undefined ? [] : [next])].join("\n"),
    structured,
  };
}

function describe(happened: Happened, timeoutMs: number): string {
  switch (happened.reason) {
    case "exited":
      return `The command has ended, exit code ${happened.exit_code ?? "unknown"}.`;
    case "matched":
      return `A line matches: ${visibleText(happened.line)}`;
    case "changed":
      return `Changed: ${happened.paths.map(visibleText).join(", ") || "something"}`;
    case "timeout":
      return `Nothing has happened in ${timeoutMs} ms.`;
  }
}

function nextStep({ reason }: Happened, record: ProcessRecord | undefined): string | undefined {
  if (reason === "timeout") return "Call wait_for again to go on waiting.";
  return record === undefined || reason === "changed"
    ? undefined
    : `read_output with session_id ${record.sessionId} returns the output.`;
}

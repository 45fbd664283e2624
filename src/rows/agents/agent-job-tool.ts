import { constants } from "node:fs";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { defined } from "../../base/defined.ts";
import { ExecError, UsageError } from "../../base/errors.ts";
import { randomId } from "../../base/random-id.ts";
import type { Files } from "../../client/files/files.ts";
import type { Host } from "../../client/host/host.ts";
import { checkArguments } from "../../client/tools/arguments.ts";
import type { CheckedToolDefinition } from "../../client/tools/definitions.ts";
import type { FunctionTool, FunctionToolResult, ToolCallOptions } from "../../client/tools/function-tool.ts";
import { resolveWorkdir } from "../../client/tools/working-directory.ts";
import type { JsonValue } from "../engine/row.ts";
import type { RowsProgress } from "../engine/rows-progress.ts";
import type { StartedJob } from "../job/file-job.ts";
import { type AgentJobSummary, runAgentJob } from "./agent-job.ts";
import { type AgentWorkOptions, filesOf } from "./agent-work.ts";

/** Limits and defaults of the jobs that a model may start. */
export interface AgentJobToolOptions extends Omit<AgentWorkOptions, "host" | "instruction" | "outputSchema"> {
  /** The host with the file of rows, on which agents run their commands. */
  readonly host: Host;
  /** Maximum number of concurrent agents, whatever the model requests. Default: 64. */
  readonly maxConcurrency?: number;
  /** Called whenever an agent begins or ends. */
  readonly onProgress?: (progress: AgentJobProgress) => void;
}

/** Progress of a job, with the names that Codex uses for its clients. */
export interface AgentJobProgress {
  readonly job_id: string;
  readonly total_items: number;
  readonly pending_items: number;
  readonly running_items: number;
  readonly completed_items: number;
  readonly failed_items: number;
  /** Absent as long as nothing has ended. */
  readonly eta_seconds?: number;
}

const NAME = "spawn_agents_on_csv";
const DEFAULT_CONCURRENCY = 16;
const MAX_CONCURRENCY = 64;
const MAX_INPUT_BYTES = 64 * 1024 * 1024;
const MAX_NAMED_FAILURES = 5;

const definition: CheckedToolDefinition = {
  type: "function",
  name: NAME,
  description:
    "Starts one agent for each row of a CSV file, many at once, and waits until all of them are done. Each agent " +
    "follows the instruction and reports a JSON object, which is written to the output file beside the columns of its row. " +
    "Returns how many rows were completed, and why others failed.",
  strict: false,
  parameters: {
    type: "object",
    properties: {
      csv_path: {
        type: "string",
        description:
          "The CSV file, absolute or relative to the default directory. Its first line names the columns.",
      },
      instruction: {
        type: "string",
        description: "What each agent is to do. {column} stands for the cell of its row in that column.",
      },
      id_column: {
        type: "string",
        description: "The column whose cells name the items; each must be unique. Default: row-1, row-2, …",
      },
      output_csv_path: {
        type: "string",
        description: "The file for the results. Default: a new one beside the input.",
      },
      output_schema: {
        type: "object",
        description: "A JSON schema that the result of each agent must fit. Default: any object will do.",
      },
      max_concurrency: {
        type: "integer",
        minimum: 1,
        description: `How many agents work at once. Default ${DEFAULT_CONCURRENCY}.`,
      },
      max_workers: { type: "integer", minimum: 1, description: "Another name for max_concurrency." },
      max_runtime_seconds: {
        type: "integer",
        minimum: 1,
        description: "How long an agent may take for its row. Default 1800.",
      },
    },
    required: ["csv_path", "instruction"],
    additionalProperties: false,
  },
};

interface SpawnArguments {
  readonly csv_path: string;
  readonly instruction: string;
  readonly id_column?: string | null;
  readonly output_csv_path?: string | null;
  readonly output_schema?: { readonly [name: string]: JsonValue } | null;
  readonly max_concurrency?: number | null;
  readonly max_workers?: number | null;
  readonly max_runtime_seconds?: number | null;
}

/**
 * The tool `spawn_agents_on_csv`, for `createExecTools(host, { more: [agentJobTool(…)] })`. The files are the host's,
 * and the model can read and write only those that its commands could.
 */
export function agentJobTool(options: AgentJobToolOptions): FunctionTool {
  return { definition, call: (args, { signal }: ToolCallOptions) => spawn(options, args, signal) };
}

async function spawn(
  options: AgentJobToolOptions,
  args: unknown,
  signal: AbortSignal | undefined,
): Promise<FunctionToolResult> {
  // The schema describes the type.
  const requested = checkArguments(definition, args) as unknown as SpawnArguments;
  if (requested.instruction.trim() === "") throw new UsageError(`${NAME}: instruction is empty`);
  const { files, cwd } = filesOf(options.host, options.commands ?? {});
  const input = onHost(requested.csv_path, cwd);
  const output = onHost(requested.output_csv_path ?? besideInput(requested.csv_path), cwd);
  const summary = await runOnHost(options, requested, { files, input, output, signal });
  return { text: JSON.stringify(answer(summary, output)), isError: false };
}

/** The engine works on local files; the input is fetched first, and the output is uploaded afterwards. */
async function runOnHost(
  options: AgentJobToolOptions,
  requested: SpawnArguments,
  {
    files,
    input,
    output,
    signal,
  }: { files: Files; input: string; output: string; signal: AbortSignal | undefined },
): Promise<AgentJobSummary> {
  const requestOptions = defined({ signal });
  const directory = await mkdtemp(join(tmpdir(), "exec-server-agents-"));
  const [local, results] = [join(directory, "input.csv"), join(directory, "output.csv")];
  const trial = `${output}.part`;
  try {
    const rows = await files.read(input, { maxBytes: MAX_INPUT_BYTES, ...requestOptions });
    await writeFile(local, rows, { flag: "wx" });
    // A file that cannot be written at the end should not be worked for.
    await files.write(trial, "", requestOptions);
    const startedAt = performance.now();
    let job: StartedJob = { jobId: "", rows: 0 };
    const summary = await runAgentJob({
      ...options,
      input: local,
      output: results,
      instruction: requested.instruction,
      ...(requested.id_column ? { idColumn: requested.id_column } : {}),
      ...(requested.output_schema ? { outputSchema: requested.output_schema } : {}),
      maxConcurrency: Math.min(
        requested.max_concurrency ?? requested.max_workers ?? DEFAULT_CONCURRENCY,
        options.maxConcurrency ?? MAX_CONCURRENCY,
      ),
      ...(requested.max_runtime_seconds ? { timeoutMs: requested.max_runtime_seconds * 1000 } : {}),
      ...requestOptions,
      onStart: (started) => {
        job = started;
      },
      onProgress: (now) => options.onProgress?.(progressOf(job, now, performance.now() - startedAt)),
    });
    // A command in a sandbox that can write here may have put a link in its place.
    await files.write(output, await readFile(results, { flag: constants.O_RDONLY | constants.O_NOFOLLOW }));
    signal?.throwIfAborted();
    return summary;
  } catch (error) {
    // The model knows the file by another name.
    if (error instanceof ExecError && !(signal?.aborted ?? false))
      throw new ExecError(
        error.code,
        `${NAME}: ${error.message.replaceAll(local, input).replaceAll(trial, output)}`,
        { cause: error },
      );
    throw error;
  } finally {
    await rm(directory, { recursive: true, force: true });
    await files.remove(trial, { force: true }).catch(() => {});
  }
}

function onHost(path: string, base: string | undefined): string {
  if (path.startsWith("/")) return path;
  const whole = base === undefined ? undefined : resolveWorkdir(path, base);
  if (whole === undefined) throw new UsageError(`${NAME}: ${JSON.stringify(path)} must be an absolute path`);
  return whole;
}

const besideInput = (path: string): string =>
  `${path.replace(/\.csv$/i, "")}.agent-job-${randomId().slice(0, 8)}.csv`;

/** The model's answer at the end, with Codex's names. */
function answer(
  { jobId, end, reason, total, completed, failed, groups }: AgentJobSummary,
  output: string,
): object {
  const failures = groups
    .filter(({ error }) => error !== undefined)
    .slice(0, MAX_NAMED_FAILURES)
    .flatMap(({ samples, error, count }) => ({ item_id: samples[0], last_error: error, items: count }));
  return {
    job_id: jobId,
    status: end === "finished" ? "completed" : "cancelled",
    output_csv_path: output,
    total_items: total,
    completed_items: completed,
    failed_items: failed,
    ...defined({ job_error: reason }),
    ...(failures.length === 0 ? {} : { failed_item_errors: failures }),
  };
}

/** Converts the engine's counts into Codex's. */
function progressOf(
  { jobId, rows }: StartedJob,
  { completed, failed, running, ended }: RowsProgress,
  elapsedMs: number,
): AgentJobProgress {
  const left = rows - completed - failed;
  return {
    job_id: jobId,
    total_items: rows,
    pending_items: Math.max(left - running, 0),
    running_items: running,
    completed_items: completed,
    failed_items: failed,
    ...(ended === 0 ? {} : { eta_seconds: Math.round((elapsedMs / 1000 / ended) * left) }),
  };
}

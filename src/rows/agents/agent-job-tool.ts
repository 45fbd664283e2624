import { constants } from "node:fs";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ExecError, UsageError } from "../../base/errors.ts";
import { randomId } from "../../base/random-id.ts";
import type { Files } from "../../client/files/files.ts";
import type { Host } from "../../client/host/host.ts";
import { checkArguments } from "../../client/tools/arguments.ts";
import type { CheckedToolDefinition } from "../../client/tools/definitions.ts";
import type { FunctionTool, FunctionToolResult, ToolCallOptions } from "../../client/tools/function-tool.ts";
import { pathOfServer, resolveWorkdir } from "../../client/tools/working-directory.ts";
import type { JsonValue } from "../engine/row.ts";
import type { RowsProgress } from "../engine/rows-progress.ts";
import { type AgentJobSummary, runAgentJob } from "./agent-job.ts";
import { type AgentWorkOptions, sandboxOf } from "./agent-work.ts";

/** What a model may start, and how. */
export interface AgentJobToolOptions extends Omit<AgentWorkOptions, "host" | "instruction" | "outputSchema"> {
  /** Where the file with the rows is, and where the commands of agents run. */
  readonly host: Host;
  /** How many agents may work at once, whatever the model asks for. Default: 64. */
  readonly maxConcurrency?: number;
  /** Called whenever an agent begins or ends. */
  readonly onProgress?: (progress: AgentJobProgress) => void;
}

/** How far a job is. The names are those that Codex gives to its clients. */
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
    "Starts one agent for each row of a CSV file, so many at once, and waits until all of them are done. Each agent " +
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
        description:
          "The column whose cells name the items; each must be different. Default: row-1, row-2, …",
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
 * The tool `spawn_agents_on_csv`, for `createExecTools(host, { more: [agentJobTool(…)] })`. The files are those of the
 * host, and the model can read and write only those that its commands could.
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
  const given = checkArguments(definition, args) as unknown as SpawnArguments;
  if (given.instruction.trim() === "") throw new UsageError(`${NAME}: instruction is empty`);
  const { host, commands = {} } = options;
  const base = commands.cwd ?? pathOfServer(host.environment?.cwd);
  const [input, output] = [given.csv_path, given.output_csv_path ?? besideInput(given.csv_path)].map((path) =>
    onHost(path, base),
  ) as [string, string];
  const sandbox = sandboxOf(commands);
  const files =
    sandbox === undefined ? host.files : host.files.within(sandbox, base === undefined ? {} : { cwd: base });
  const summary = await runOnHost(options, given, { files, input, output, signal });
  return { text: JSON.stringify(answer(summary, output)), isError: false };
}

/** The engine works on files of this machine; what it needs is fetched before, and what it wrote is sent after. */
async function runOnHost(
  options: AgentJobToolOptions,
  given: SpawnArguments,
  {
    files,
    input,
    output,
    signal,
  }: { files: Files; input: string; output: string; signal: AbortSignal | undefined },
): Promise<AgentJobSummary> {
  const requestOptions = signal === undefined ? {} : { signal };
  const place = await mkdtemp(join(tmpdir(), "exec-server-agents-"));
  const [local, results] = [join(place, "input.csv"), join(place, "output.csv")];
  const trial = `${output}.part`;
  try {
    const rows = await files.read(input, { maxBytes: MAX_INPUT_BYTES, ...requestOptions });
    await writeFile(local, rows, { flag: "wx" });
    // A file that cannot be written at the end should not be worked for.
    await files.write(trial, "", requestOptions);
    const progress = new Progress(options.onProgress);
    const summary = await runAgentJob({
      ...options,
      input: local,
      output: results,
      instruction: given.instruction,
      ...(given.id_column ? { idColumn: given.id_column } : {}),
      ...(given.output_schema ? { outputSchema: given.output_schema } : {}),
      maxConcurrency: concurrency(options, given),
      ...(given.max_runtime_seconds ? { timeoutMs: given.max_runtime_seconds * 1000 } : {}),
      ...requestOptions,
      onStart: (job) => progress.start(job),
      onProgress: (now) => progress.report(now),
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
    await rm(place, { recursive: true, force: true });
    await files.remove(trial, { force: true }).catch(() => {});
  }
}

function concurrency(
  { maxConcurrency = MAX_CONCURRENCY }: AgentJobToolOptions,
  given: SpawnArguments,
): number {
  return Math.min(given.max_concurrency ?? given.max_workers ?? DEFAULT_CONCURRENCY, maxConcurrency);
}

function onHost(path: string, base: string | undefined): string {
  if (path.startsWith("/")) return path;
  const whole = base === undefined ? undefined : resolveWorkdir(path, base);
  if (whole === undefined) throw new UsageError(`${NAME}: ${JSON.stringify(path)} must be an absolute path`);
  return whole;
}

const besideInput = (path: string): string =>
  `${path.replace(/\.csv$/i, "")}.agent-job-${randomId().slice(0, 8)}.csv`;

/** What the model gets at the end; the names are those of Codex. */
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
    ...(reason === undefined ? {} : { job_error: reason }),
    ...(failures.length === 0 ? {} : { failed_item_errors: failures }),
  };
}

/** Turns the counts of the engine into those of Codex. */
class Progress {
  readonly #report: (progress: AgentJobProgress) => void;
  readonly #startedAt = performance.now();
  #job = { jobId: "", rows: 0 };

  constructor(report: ((progress: AgentJobProgress) => void) | undefined) {
    this.#report = report ?? (() => {});
  }

  start(job: { readonly jobId: string; readonly rows: number }): void {
    this.#job = job;
  }

  report({ completed, failed, running, ended }: RowsProgress): void {
    const { jobId, rows } = this.#job;
    const left = rows - completed - failed;
    const eta = ((performance.now() - this.#startedAt) / 1000 / ended) * left;
    this.#report({
      job_id: jobId,
      total_items: rows,
      pending_items: Math.max(left - running, 0),
      running_items: running,
      completed_items: completed,
      failed_items: failed,
      ...(ended === 0 ? {} : { eta_seconds: Math.round(eta) }),
    });
  }
}

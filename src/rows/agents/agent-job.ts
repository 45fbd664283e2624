import { UsageError } from "../../base/errors.ts";
import type { Tokens } from "./model/model.ts";
import type { CheckRow } from "../input/rows-file.ts";
import type { JobFiles, JobOptions, JobSummary } from "../job/file-job.ts";
import { runFileJob } from "../job/file-job.ts";
import type { RowsFleetOptions } from "../machines/rows-fleet.ts";
import { Template } from "../template/template.ts";
import { FleetAgents } from "./fleet-agents.ts";
import { agentWork, type AgentWorkOptions } from "./agent-work.ts";

/** What agents do with the rows of a file. */
export interface AgentJobOptions
  extends JobFiles,
    JobOptions,
    Omit<AgentWorkOptions, "instruction">,
    Partial<RowsFleetOptions> {
  /** The instruction of each agent, in which `{column}` stands for the cell of its row. */
  readonly instruction: string;
}

/** How a job of agents ended. */
export interface AgentJobSummary extends JobSummary {
  /** Used in this run. */
  readonly tokens: Tokens;
}

/** As long as a worker of Codex may take. */
const ITEM_TIMEOUT_MS = 30 * 60_000;

/**
 * Lets an agent work on each row of a file, and writes what they report to another one. Resolves when every agent has
 * ended, and with it the commands that it has started. An attempt has 30 minutes unless the options say otherwise. With
 * `fleet`, each agent runs its commands on one machine, and another one starts over elsewhere if that machine is lost.
 */
export async function runAgentJob(options: AgentJobOptions): Promise<AgentJobSummary> {
  const { instruction, outputSchema, fleet, commands } = options;
  if (fleet !== undefined && options.host !== undefined)
    throw new UsageError("the commands of agents run on a host or on a fleet; give one of them");
  const template = new Template(instruction);
  await using machines = fleet === undefined ? undefined : new FleetAgents({ ...options, fleet }, commands);
  const work = agentWork({
    ...options,
    ...(machines === undefined ? {} : { host: machines.hostOf }),
    instruction: ({ values }) => template.textFor(values),
  });
  const summary = await runFileJob(
    options,
    {
      run: machines === undefined ? work.run : (attempt) => machines.run(attempt, work.run),
      ...(machines === undefined ? {} : { places: machines.pool }),
      identity: { instruction, "output schema": outputSchema ?? null },
      check: (columns) => instructionCheck(template, columns),
    },
    { timeoutMs: ITEM_TIMEOUT_MS, ...options },
  );
  return { ...summary, tokens: work.tokens() };
}

/** Throws if the instruction names something that is not a column; the result says what a row does not have. */
export function instructionCheck(template: Template, columns: readonly string[]): CheckRow {
  template.check(columns);
  return ({ values }) => {
    const missing = template.missing(values);
    return missing === undefined ? undefined : `it has no '${missing}'`;
  };
}

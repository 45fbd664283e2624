import type { Tokens } from "./model/model.ts";
import type { JobFiles, JobOptions, JobSummary } from "../job/file-job.ts";
import { runFileJob } from "../job/file-job.ts";
import { Template } from "../template/template.ts";
import { agentWork, type AgentWorkOptions } from "./agent-work.ts";

/** What agents do with the rows of a file. */
export interface AgentJob extends Omit<AgentWorkOptions, "instruction"> {
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
 * ended, and with it the commands that it has started. An attempt has 30 minutes unless the options say otherwise.
 */
export async function runAgentJob(
  files: JobFiles,
  job: AgentJob,
  options: JobOptions = {},
): Promise<AgentJobSummary> {
  const template = new Template(job.instruction);
  const work = agentWork({ ...job, instruction: ({ values }) => template.textFor(values) });
  const summary = await runFileJob(
    files,
    {
      run: work.run,
      identity: { instruction: job.instruction, "output schema": job.outputSchema ?? null },
      check: (columns) => {
        template.check(columns);
        return ({ values }) => {
          const missing = template.missing(values);
          return missing === undefined ? undefined : `it has no '${missing}'`;
        };
      },
    },
    { timeoutMs: ITEM_TIMEOUT_MS, ...options },
  );
  return { ...summary, tokens: work.tokens() };
}

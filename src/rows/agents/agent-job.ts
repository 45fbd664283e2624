import { defined } from "../../base/defined.ts";
import { ExecError, UsageError } from "../../base/errors.ts";
import type { Host } from "../../client/host/host.ts";
import { SpawnError } from "../../client/process/spawn-error.ts";
import type { RowAttempt, RowOutcome } from "../engine/row.ts";
import type { Tokens } from "./model/model.ts";
import type { CheckRow } from "../input/rows-file.ts";
import { type JobFiles, type JobOptions, type JobSummary, runFileJob } from "../job/file-job.ts";
import { MachinePool } from "../machines/machine-pool.ts";
import type { RowsFleetOptions } from "../machines/rows-fleet.ts";
import { Template } from "../template/template.ts";
import { type AgentCommands, agentWork, type AgentWorkOptions, toolOptions } from "./agent-work.ts";

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

/** The limit of a Codex worker. */
const ITEM_TIMEOUT_MS = 30 * 60_000;
/** A machine that takes longer to begin a command is tried again later. */
const TRIAL_MS = 30_000;

/**
 * Runs an agent for each row of a file, and writes their reports to another one. Resolves when every agent has ended,
 * and with it the commands that it has started. An attempt has 30 minutes unless the options say otherwise. With
 * `fleet`, each agent runs its commands on one machine, and another one starts over elsewhere if that machine is lost.
 */
export async function runAgentJob(options: AgentJobOptions): Promise<AgentJobSummary> {
  const { instruction, outputSchema, fleet, commands } = options;
  if (fleet !== undefined && options.host !== undefined)
    throw new UsageError("the commands of agents run on a host or on a fleet; choose one");
  const template = new Template(instruction);
  await using machines = fleet === undefined ? undefined : new FleetAgents({ ...options, fleet }, commands);
  const work = agentWork({
    ...options,
    ...defined({ host: machines?.hostOf }),
    instruction: ({ values }) => template.textFor(values),
  });
  const summary = await runFileJob(
    options,
    {
      run: machines === undefined ? work.run : (attempt) => machines.run(attempt, work.run),
      ...defined({ places: machines?.pool }),
      identity: { instruction, "output schema": outputSchema ?? null },
      check: (columns) => instructionCheck(template, columns),
    },
    { timeoutMs: ITEM_TIMEOUT_MS, ...options },
  );
  return { ...summary, tokens: work.tokens() };
}

/** Throws if the instruction names something that is not a column; the result names what a row lacks. */
export function instructionCheck(template: Template, columns: readonly string[]): CheckRow {
  template.check(columns);
  return ({ values }) => {
    const missing = template.missing(values);
    return missing === undefined ? undefined : `it has no '${missing}'`;
  };
}

/** Gives each agent a machine of a fleet. Its commands end with the connection to that machine. */
class FleetAgents implements AsyncDisposable {
  readonly pool: MachinePool;
  /** The machine of each attempt that runs. */
  readonly #hosts = new WeakMap<RowAttempt, Host>();

  constructor(fleet: RowsFleetOptions, commands: AgentCommands = {}) {
    this.pool = new MachinePool({ ...fleet, prepare: (_id, host) => tryCommand(host, commands) });
  }

  readonly hostOf = (attempt: RowAttempt): Host => this.#hosts.get(attempt)!;

  async run(attempt: RowAttempt, work: (attempt: RowAttempt) => Promise<RowOutcome>): Promise<RowOutcome> {
    const place = attempt.place!;
    const host = this.pool.hostAt(place);
    if (host === undefined)
      return {
        status: "lost",
        error: `${place}: it was lost before the row began`,
        host: place,
        isBegun: false,
      };
    this.#hosts.set(attempt, host);
    return await work(attempt);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.pool.close();
  }
}

/**
 * Throws if a machine lacks what every command needs, such as a sandbox or the directory: an agent would find that out at
 * the price of its tokens and fail its row, although other machines can do the work.
 */
async function tryCommand(host: Host, commands: AgentCommands): Promise<void> {
  const { cwd, sandbox } = toolOptions(commands);
  try {
    const { exit } = await host.run(["true"], { ...defined({ cwd, sandbox }), timeoutMs: TRIAL_MS });
    if (exit.timedOut) throw new ExecError("TIMED_OUT", `a command takes more than ${TRIAL_MS} ms to start`);
  } catch (error) {
    if (!isCommandError(error)) throw error;
  }
}

/** A limit passes, and not every machine has this program. */
function isCommandError(error: unknown): boolean {
  if (!(error instanceof SpawnError)) return false;
  return ["limit", "notFound", "notExecutable"].includes(error.reason ?? "");
}

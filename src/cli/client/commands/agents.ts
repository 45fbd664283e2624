import type { Command } from "commander";
import { type AgentJobSummary, instructionCheck, runAgentJob } from "../../../rows/agents/agent-job.ts";
import type { JobFiles } from "../../../rows/job/file-job.ts";
import { Template } from "../../../rows/template/template.ts";
import { defined } from "../../shared/defined.ts";
import { usageFailure } from "../../shared/failure.ts";
import { readNamedFile } from "../arguments.ts";
import { openChosenFleet } from "../fleet/chosen-machines.ts";
import { type End, setAction } from "../outcome/end-with.ts";
import { printable } from "../print/printable.ts";
import {
  agentEnvironment,
  agentSecrets,
  type AgentFlags,
  agentLimits,
  openAgentHost,
  withAgent,
} from "../rows/agent-flags.ts";
import { printSummary, withJobFiles } from "../rows/job-files.ts";
import { fleetOptions, type JobFlags, jobOptions, readSchema, withJob } from "../rows/job-flags.ts";
import { type ModelFlags, modelOptions, tokenLine, withModel } from "../rows/model-flags.ts";
import { runJob } from "../rows/run-job.ts";
import { showRows } from "../rows/show-rows.ts";
import { withTarget } from "../target/target-options.ts";

interface AgentsFlags extends JobFlags, ModelFlags, AgentFlags {
  readonly instruction?: string;
  readonly instructionFile?: string;
  readonly outputSchema?: string;
  readonly commands: boolean;
}

const EXAMPLES = `
FILE is CSV with a header, or JSON Lines (*.jsonl). For each row an agent gets the instruction, in which {name} stands
for the cell of the column 'name', and {{ for a brace. It can run commands where -H or --url says, confined to the
working directory unless --sandbox says otherwise, and reports a JSON object. An agent that reports twice, for another
row or not at all has failed. If a result does not fit --output-schema, the agent gets one chance to correct it.

With --on, each agent runs its commands on one machine of a fleet, one with a free slot. If the machine is lost, another
agent starts over elsewhere.

The results, the ledger, --resume and the exit status are those of 'map'. Requests that the endpoint refuses for the
moment (429, 5xx) are repeated; --max-tokens-total bounds what a run may cost.

Examples:
  exec-server agents cats.csv --model gpt-5 --instruction 'Write a poem about the cat {name}.'
  exec-server agents repos.csv --model gpt-5 -j 8 --cwd /srv/work --instruction-file review.txt --output-schema r.json
  exec-server agents texts.jsonl --base-url http://127.0.0.1:8000/v1 --anonymous --model local --no-commands \\
      --instruction 'Which language is this? {text}'
  exec-server -H prod agents bugs.csv --on gpu=yes --cwd /srv/work --model gpt-5 --instruction 'Reproduce {title}.'
  exec-server agents cats.csv --instruction 'Write a poem about {name}.' --dry-run --limit 3
`;

/** Adds `agents`. */
export function define(program: Command): void {
  const command = program
    .command("agents")
    .summary("have a language model work on each row of a CSV file, many at once")
    .description(
      "Run a language-model agent for each row of a CSV or JSON Lines file, many at once, and write what the agents report.",
    )
    .usage("[OPTIONS] FILE --model NAME --instruction TEMPLATE")
    .argument("<file>", "the file with the rows, or - for stdin")
    .option("--instruction <TEMPLATE>", "what each agent should do, with column names in braces")
    .option("--instruction-file <FILE>", "file with the instruction")
    .option("--output-schema <FILE>", "JSON schema for the results");
  withAgent(withModel(command), " for each row").option(
    "--no-commands",
    "do not let agents run commands; they only report",
  );
  withJob(command).addHelpText("after", EXAMPLES);
  setAction(withTarget(command), agents);
}

/** Resolves with the exit status. */
function agents(file: string, flags: AgentsFlags): Promise<End> {
  return withJobFiles(file, flags, runAgents);
}

async function runAgents(files: JobFiles, flags: AgentsFlags): Promise<End> {
  const options = jobOptions(flags);
  const instruction = instructionOf(flags);
  const outputSchema = readSchema(flags.outputSchema);
  if (flags.dryRun === true) return await showInstructions(files, instruction, flags);
  if (flags.on !== undefined && !flags.commands)
    throw usageFailure("--on and --no-commands exclude each other; choose one");
  const chosen = modelOptions(flags);
  const { responsesModel } = await import("../../../rows/agents/model/responses-model.ts");
  const model = responsesModel(chosen);
  let summary: AgentJobSummary | undefined;
  try {
    return await runJob(
      flags,
      async (watched) => {
        await using opened = await hostOf(flags, chosen.apiKey, watched.signal);
        summary = await runAgentJob({
          ...files,
          ...options,
          ...watched,
          model,
          instruction,
          ...opened.options,
          ...defined({ outputSchema }),
          ...agentLimits(flags),
        });
        return summary;
      },
      ({ tokens }) => ({ tokens }),
    );
  } finally {
    if (summary !== undefined && flags.quiet !== true && flags.json !== true)
      await printSummary(flags, tokenLine(summary.tokens));
  }
}

/** Where the commands of agents run, and how. */
async function hostOf(flags: AgentsFlags, apiKey: string | undefined, signal: AbortSignal) {
  if (!flags.commands) return { options: {}, [Symbol.asyncDispose]: () => Promise.resolve() };
  if (flags.on !== undefined) return await hostsOf(flags, apiKey, signal);
  const { host, hostName, commands } = await openAgentHost(flags, apiKey);
  return { options: { host, hostName, commands }, [Symbol.asyncDispose]: () => host.close() };
}

/** The machines of a fleet, each of which has its own files. */
async function hostsOf(flags: AgentsFlags, apiKey: string | undefined, signal: AbortSignal) {
  const { cwd, sandbox } = flags;
  if (cwd !== undefined && !cwd.startsWith("/"))
    throw usageFailure(`--cwd must be an absolute path with --on, not '${cwd}'`);
  const env = agentEnvironment(flags.env ?? [], { isOwn: false, apiKey });
  const fleet = await openChosenFleet(flags, signal);
  return {
    options: {
      ...fleetOptions(flags),
      fleet,
      commands: defined({ env, cwd, sandbox, secrets: agentSecrets(flags) }),
    },
    [Symbol.asyncDispose]: () => fleet.close(),
  };
}

function instructionOf({ instruction, instructionFile }: AgentsFlags): string {
  if ((instruction === undefined) === (instructionFile === undefined))
    throw usageFailure("pass --instruction TEMPLATE, or --instruction-file FILE");
  const text = instruction ?? readNamedFile(instructionFile!, "instruction");
  if (text.trim() === "") throw usageFailure("the instruction is empty");
  return text;
}

/** Does not call a model. */
function showInstructions(files: JobFiles, instruction: string, flags: AgentsFlags): Promise<number> {
  const template = new Template(instruction);
  const check = (columns: readonly string[]) => instructionCheck(template, columns);
  return showRows(files, flags, check, ({ values }) => {
    const filled = template.textFor(values);
    return { text: printable(filled), fields: { instruction: filled } };
  });
}

import type { Command } from "commander";
import type { AgentJobSummary } from "../../../rows/agents/agent-job.ts";
import type { JsonValue } from "../../../rows/engine/row.ts";
import { describeFileError } from "../../shared/describe-file-error.ts";
import { readSmallFile } from "../../shared/read-small-file.ts";
import { endWith, type End } from "../outcome/end-with.ts";
import { usageFailure } from "../outcome/failure.ts";
import { print } from "../print/output.ts";
import { agentEnvironment } from "../rows/agent-environment.ts";
import { type AgentFlags, agentLimits, openAgentHost, withAgent } from "../rows/agent-flags.ts";
import { openChosenFleet } from "../fleet/chosen-machines.ts";
import { fleetOptions, type JobFlags, jobFiles, jobOptions, withJob } from "../rows/job-flags.ts";
import { type ModelFlags, modelOptions, withModel } from "../rows/model-flags.ts";
import { tokenLine } from "../rows/token-line.ts";
import { readSchema } from "../rows/read-schema.ts";
import { runJob } from "../rows/run-job.ts";
import { showInstructions } from "../rows/show-instructions.ts";
import { withTarget } from "../target/target-options.ts";

interface AgentsFlags extends JobFlags, ModelFlags, AgentFlags {
  readonly instruction?: string;
  readonly instructionFile?: string;
  readonly outputSchema?: string;
  readonly commands: boolean;
}

const EXAMPLES = `
FILE is CSV with a header, or JSON lines (*.jsonl). For each row an agent gets the instruction, in which {name} stands
for the cell of the column 'name', and {{ for a brace. It can run commands where -H or --url says, confined to the
working directory unless --sandbox says otherwise, and reports a JSON object. An agent that reports twice, for another
row or not at all has failed. A result that does not fit --output-schema is handed back to it once.

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
    .summary("let a language model work on each row of a CSV file, many at once")
    .description(
      "Let an agent of a language model work on each row of a CSV file or of JSON lines, many at once, and write what they report.",
    )
    .usage("[OPTIONS] FILE --model NAME --instruction TEMPLATE")
    .argument("<file>", "the file with the rows")
    .option("--instruction <TEMPLATE>", "what each agent is to do, with names of columns in braces")
    .option("--instruction-file <FILE>", "file with the instruction")
    .option("--output-schema <FILE>", "JSON schema that results must fit");
  withAgent(withModel(command), " for each row").option(
    "--no-commands",
    "agents run no commands; they only report",
  );
  withJob(command).addHelpText("after", EXAMPLES);
  withTarget(command).action(async (file: string) => {
    await endWith(await agents(file, command.optsWithGlobals<AgentsFlags>()));
  });
}

/** Resolves with the exit status. */
async function agents(file: string, flags: AgentsFlags): Promise<End> {
  const files = jobFiles(file, flags);
  const options = jobOptions(flags);
  const instruction = instructionOf(flags);
  const outputSchema: JsonValue | undefined =
    flags.outputSchema === undefined ? undefined : readSchema(flags.outputSchema);
  if (flags.dryRun === true) return await showInstructions(files, instruction, flags);
  if (flags.on !== undefined && !flags.commands)
    throw usageFailure("--on says where commands run; leave it out, or --no-commands");
  const chosen = modelOptions(flags);
  const { responsesModel } = await import("../../../rows/agents/model/responses-model.ts");
  const { runAgentJob } = await import("../../../rows/agents/agent-job.ts");
  const model = responsesModel(chosen);
  let summary: AgentJobSummary | undefined;
  try {
    return await runJob(
      flags,
      async (watched) => {
        await using place = await hostOf(flags, chosen.apiKey, watched.signal);
        summary = await runAgentJob({
          ...files,
          ...options,
          ...watched,
          model,
          instruction,
          ...place.options,
          ...(outputSchema === undefined ? {} : { outputSchema }),
          ...agentLimits(flags),
        });
        return summary;
      },
      ({ tokens }) => ({ tokens }),
    );
  } finally {
    if (summary !== undefined && flags.quiet !== true && flags.json !== true)
      await print(tokenLine(summary.tokens));
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
  const commands = {
    env,
    ...(cwd === undefined ? {} : { cwd }),
    ...(sandbox === undefined ? {} : { sandbox }),
  };
  return {
    options: { ...fleetOptions(flags), fleet, commands },
    [Symbol.asyncDispose]: () => fleet.close(),
  };
}

function instructionOf({ instruction, instructionFile }: AgentsFlags): string {
  if ((instruction === undefined) === (instructionFile === undefined))
    throw usageFailure("give --instruction TEMPLATE, or --instruction-file FILE");
  const text = instruction ?? readInstruction(instructionFile!);
  if (text.trim() === "") throw usageFailure("the instruction is empty");
  return text;
}

function readInstruction(path: string): string {
  try {
    return readSmallFile(path).toString();
  } catch (error) {
    throw usageFailure(`cannot read the instruction ${path}: ${describeFileError(error)}`);
  }
}

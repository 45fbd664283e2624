import type { Command } from "commander";
import { defined } from "../../shared/defined.ts";
import { print, writeErr } from "../../shared/standard-streams.ts";
import { type End, setAction } from "../outcome/end-with.ts";
import { Failure, usageFailure } from "../../shared/failure.ts";
import { readBody } from "../fetching/request-body.ts";
import { AgentActivity } from "../rows/agent-activity.ts";
import { type AgentFlags, agentLimits, openAgentHost, withAgent } from "../rows/agent-flags.ts";
import { type ModelFlags, modelOptions, tokenLine, withModel } from "../rows/model-flags.ts";
import { withTarget } from "../target/target-options.ts";
import { untilInterrupted } from "../outcome/until-interrupted.ts";

interface AgentCommandFlags extends ModelFlags, AgentFlags {
  readonly quiet?: boolean;
}

const EXAMPLES = `
The agent runs commands where -H or --url says, confined to the working directory unless --sandbox says otherwise. It
reads and writes files there, and can start an agent for each row of a CSV file. Its steps are shown on stderr, its
answer goes to stdout. It ends when the model has nothing more to do; everything it started ends with it.

The status is 0 if the model ended its turn, 1 if the endpoint failed or a limit was reached, 2 for a mistake in the
command line, and 130 after Ctrl-C.

Examples:
  exec-server agent --model gpt-5 'Find out why the tests fail, and fix it.'
  exec-server agent --model gpt-5 -q 'Summarize CHANGELOG.md in three sentences.' > summary.txt
  exec-server agent --model gpt-5 'Let an agent write a poem about each cat in cats.csv.'
  exec-server -H prod agent --model gpt-5 --sandbox read-only 'Which service uses the most memory?'
  exec-server agent --base-url http://127.0.0.1:8000/v1 --anonymous --model local - < task.md
`;

/** Adds `agent`. */
export function define(program: Command): void {
  const command = program
    .command("agent")
    .summary("have a language model carry out a task with commands and files")
    .description(
      "Have a language model carry out a task: it can run commands, edit files and start agents of its own.",
    )
    .usage("[OPTIONS] --model NAME PROMPT")
    .argument("<prompt>", "what to do; - reads it from stdin");
  withAgent(withModel(command)).option("-q, --quiet", "show only the answer").addHelpText("after", EXAMPLES);
  setAction(withTarget(command), agent);
}

/** Resolves with the exit status. */
async function agent(argument: string, flags: AgentCommandFlags): Promise<End> {
  const chosen = modelOptions(flags);
  const prompt = argument === "-" ? Buffer.from(await readBody("@-")).toString() : argument;
  if (prompt.trim() === "") throw usageFailure("the prompt is empty");
  const { responsesModel } = await import("../../../rows/agents/model/responses-model.ts");
  const { runMainAgent } = await import("../../../rows/agents/main-agent.ts");
  const model = responsesModel(chosen);
  const activity = flags.quiet === true ? undefined : new AgentActivity();
  const result = await untilInterrupted(async (signal) => {
    const { host, commands } = await openAgentHost(flags, chosen.apiKey);
    await using _ = host;
    try {
      const { event: onEvent, toolEvent: onToolEvent, progress: onProgress } = activity ?? {};
      const shown = defined({ onEvent, onToolEvent, onProgress });
      return await runMainAgent({ model, prompt, host, commands, signal, ...agentLimits(flags), ...shown });
    } finally {
      activity?.end();
    }
  });
  const { status, error, text: answer, tokens } = result;
  if (activity !== undefined) writeErr(tokenLine(tokens));
  if (status !== "completed") throw new Failure(error ?? "", 1);
  // On a terminal it was shown while the model produced it.
  const isShown = activity !== undefined && process.stdout.isTTY;
  if (!isShown && answer !== "") await print(answer.endsWith("\n") ? answer : `${answer}\n`);
  return 0;
}

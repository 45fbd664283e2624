// A program whose main agent has the tool `spawn_agents_on_csv`, and that ends when this agent does.
import { connect } from "../../src/client/connect/connect.ts";
import { createExecTools } from "../../src/client/tools/exec-tools.ts";
import { agentJobTool } from "../../src/rows/agents/agent-job-tool.ts";
import { responsesModel } from "../../src/rows/agents/model/responses-model.ts";
import { runAgent } from "../../src/rows/agents/run-agent.ts";

async function main([serverUrl = "", baseUrl = "", cwd = ""]: readonly string[]): Promise<void> {
  const model = responsesModel({ model: "scripted", baseUrl });
  await using host = await connect(serverUrl);
  const job = agentJobTool({
    host,
    model,
    commands: { cwd },
    onProgress: (progress) => process.stdout.write(`agent_job_progress:${JSON.stringify(progress)}\n`),
  });
  await using tools = createExecTools(host, { cwd, more: [job] });
  const instruction = "Use spawn_agents_on_csv on the provided CSV and do not do work yourself.";
  const { status, error } = await runAgent({ model, instruction, tools });
  if (error !== undefined) process.stderr.write(`${error}\n`);
  process.exitCode = status === "completed" ? 0 : 1;
}

void main(process.argv.slice(2));

// Lets an agent work on each row of a CSV file. The model is hard-coded here; `responsesModel` asks a real one.
import assert from "node:assert/strict";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Model, runAgentJob } from "exec-server/rows";

const tokens = { input: 1, cached: 0, output: 1, total: 2 };

/** Reports a greeting for its item, and ends its turn when it is told that the report was accepted. */
const model: Model = {
  async respond({ input }) {
    const end = { status: "completed" } as const;
    if (input.length > 1) return { end, items: [], calls: [], text: "", tokens };
    const told = JSON.stringify(input[0]);
    const [, job_id] = /Job ID: ([^\\]+)/.exec(told) ?? [];
    const [, item_id] = /Item ID: ([^\\]+)/.exec(told) ?? [];
    const [, name] = /Greet (\w+)/.exec(told) ?? [];
    const call = {
      callId: "call-1",
      name: "report_agent_job_result",
      arguments: JSON.stringify({ job_id, item_id, result: { greeting: `Hello, ${name}!` } }),
    };
    const item = { type: "function_call", call_id: call.callId, name: call.name, arguments: call.arguments };
    return { end, items: [item], calls: [call], text: "", tokens };
  },
};

const directory = await mkdtemp(join(tmpdir(), "agents-"));
const [input, output] = [join(directory, "cats.csv"), join(directory, "greetings.csv")];
await writeFile(input, "name\nTom\nGarfield\n");
const summary = await runAgentJob({ input, output, instruction: "Greet {name}.", model, maxConcurrency: 2 });
assert.equal(summary.completed, 2);
assert.equal(summary.tokens.total, 8);
assert.match(await readFile(output, "utf8"), /Hello, Garfield!/);
await rm(directory, { recursive: true });

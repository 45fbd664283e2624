import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parse } from "csv-parse/sync";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { connect } from "../../src/client/host/connect.ts";
import { createExecTools } from "../../src/client/tools/exec-tools.ts";
import { type AgentJobProgress, agentJobTool } from "../../src/rows/agents/agent-job-tool.ts";
import { responsesModel } from "../../src/rows/agents/model/responses-model.ts";
import { createServer } from "../../src/server/serve/server.ts";
import { SERVER_PATH } from "../conformance/server-process.ts";
import { agentJobScript, answerWith, itemOf, ResponsesEndpoint } from "../fixtures/scripted-model.mjs";

let directory: string;

beforeEach(() => {
  // Not under /tmp, which is writable in every sandbox.
  directory = mkdtempSync("/var/tmp/exec-server-agent-jobs-");
});
afterEach(() => rmSync(directory, { recursive: true, force: true }));

const place = (name: string): string => join(directory, name);
const table = (name: string): Record<string, string>[] =>
  parse(readFileSync(place(name)), { columns: true }) as unknown as Record<string, string>[];

function writeCats(count: number): void {
  const cats = Array.from({ length: count }, (_, index) => `cat_${index + 1}\n`);
  writeFileSync(place("agent_jobs_input.csv"), `name\n${cats.join("")}`);
}

describe("spawn_agents_on_csv", () => {
  const server = createServer({ environment: { PATH: SERVER_PATH } });

  /** Calls the tool as a model would, with agents that follow the script. */
  async function spawn(args: object, script = agentJobScript(), signal?: AbortSignal) {
    const progress: AgentJobProgress[] = [];
    await using endpoint = await ResponsesEndpoint.start(script);
    await using host = await connect(server);
    const model = responsesModel({ model: "scripted", baseUrl: endpoint.baseUrl });
    const job = agentJobTool({
      host,
      model,
      commands: { cwd: directory },
      onProgress: (now) => progress.push(now),
    });
    await using tools = createExecTools(host, { more: [job] });
    const { text, isError } = await tools.call(
      "spawn_agents_on_csv",
      { csv_path: "agent_jobs_input.csv", instruction: "Pet {name}.", ...args },
      signal === undefined ? {} : { signal },
    );
    return { text, isError, progress, requests: endpoint.requests };
  }

  it("runs as many agents at once as the model asks for, and writes what they report", async () => {
    writeCats(100);
    const { text, progress } = await spawn({ output_csv_path: "out.csv", max_concurrency: 64 });
    expect(JSON.parse(text)).toMatchObject({
      status: "completed",
      output_csv_path: place("out.csv"),
      total_items: 100,
      completed_items: 100,
      failed_items: 0,
    });
    expect(progress.at(-1)).toMatchObject({ total_items: 100, completed_items: 100, pending_items: 0 });
    expect(Math.max(...progress.map(({ running_items }) => running_items))).toBe(64);
    expect(table("out.csv").map(({ name, item_id, result_json }) => [name, item_id, result_json])).toEqual(
      Array.from({ length: 100 }, (_, index) => [
        `cat_${index + 1}`,
        `row-${index + 1}`,
        JSON.stringify({ item_id: `row-${index + 1}` }),
      ]),
    );
  });

  it("writes to a new file beside the input by default", async () => {
    writeCats(2);
    const { text } = await spawn({ id_column: "name" });
    const { output_csv_path } = JSON.parse(text) as { output_csv_path: string };
    expect(output_csv_path).toMatch(/\/agent_jobs_input\.agent-job-[^/]{8}\.csv$/);
    const [name] = readdirSync(directory).filter((found) => found.includes("agent-job"));
    expect(table(name!).map(({ item_id, source_id }) => [item_id, source_id])).toEqual([
      ["cat_1", "cat_1"],
      ["cat_2", "cat_2"],
    ]);
  });

  it("tells the model why rows failed", async () => {
    writeCats(3);
    const { text, isError } = await spawn({}, (asked, response) => {
      if (itemOf(asked)?.itemId === "row-2") agentJobScript()(asked, response, undefined as never);
      else answerWith(response, "r", []);
    });
    expect(isError).toBe(false);
    expect(JSON.parse(text)).toMatchObject({
      status: "completed",
      completed_items: 1,
      failed_items: 2,
      failed_item_errors: [
        { item_id: "row-1", last_error: "the agent ended its turn without a report", items: 2 },
      ],
    });
  });

  it.each([
    [{ csv_path: "missing.csv" }, /missing\.csv/],
    [{ instruction: " " }, /^spawn_agents_on_csv: instruction is empty$/],
    [{ instruction: "Pet {dog}." }, /\{dog\} is not a column of the input/],
    [{ id_column: "id" }, /agent_jobs_input\.csv has no column 'id' for ids/],
    [{ max_concurrency: 0 }, /max_concurrency must be a whole number of at least 1/],
    [{ output_schema: { type: 5 } }, /schema/],
    [{ output_csv_path: "/var/tmp/outside.csv" }, /outside\.csv/],
  ])("gives a mistake back to the model: %j", async (args, expected) => {
    writeCats(1);
    const { text, isError, requests } = await spawn(args);
    expect(text).toMatch(expected);
    expect(isError).toBe(true);
    expect(requests).toEqual([]);
    // A sandbox may leave the places of protected directories behind for a moment.
    const left = readdirSync(directory).filter((name) => !name.startsWith("."));
    expect(left).toEqual(["agent_jobs_input.csv"]);
  });

  it("ends its agents when the call is given up", async () => {
    writeCats(5);
    const interruption = new AbortController();
    const given = spawn({}, () => interruption.abort(new Error("enough")), interruption.signal);
    await expect(given).rejects.toThrow("enough");
  });
});

import { existsSync } from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { builtCli } from "../fault/server-under-test.ts";
import {
  agentJobScript,
  answerWith,
  functionCall,
  itemOf,
  message,
  outputsOf,
  ResponsesEndpoint,
  sendEvents,
} from "../fixtures/scripted-model.mjs";
import { startCommand } from "./command.ts";
import { Person } from "./person.ts";
import { Tmux } from "./tmux.ts";

const KEY = "sk-test-0123456789";
let person: Person;

beforeEach(() => {
  person = new Person();
});
afterEach(() => person[Symbol.asyncDispose]());

type Script = Parameters<typeof ResponsesEndpoint.start>[0];
type Items = readonly object[];

const at = (name: string): string => join(person.home, name);
const call = (name: string, args: object): object => functionCall(`call-${name}`, name, args);
const agent = ({ baseUrl }: { baseUrl: string }, ...more: readonly string[]): string[] => [
  "agent",
  "--model",
  "scripted",
  "--base-url",
  baseUrl,
  ...more,
];

/** The model answers with these items, turn by turn. */
function turns(...items: readonly Items[]): Script {
  let turn = 0;
  return (_asked, response) => {
    answerWith(response, `turn-${turn}`, items[turn] ?? []);
    turn += 1;
  };
}

/** A task: the totals of a list are wrong, and the agent corrects them. */
const task = (): Script =>
  turns(
    [message("m", "I look at what is here first."), call("list_dir", {})],
    [call("read_file", { path: "bill.txt" })],
    [call("exec_command", { cmd: "awk '/^[a-z]/ { sum += $2 }\nEND { print sum }' bill.txt" })],
    [call("edit_file", { path: "bill.txt", old_text: "Total 6", new_text: "Total 12" })],
    [call("exec_command", { cmd: "grep Total bill.txt; seq 30; false" })],
    [message("m", "The total was wrong: it is **12**, not 6. ⚠️\nI corrected bill.txt.")],
  );
const ANSWER = "The total was wrong: it is **12**, not 6. ⚠️\nI corrected bill.txt.\n";
const BILL = "bread 3\ntea 9\nTotal 6\n";

it("one agent starts an agent for each of 100 rows, and ends by itself when they are done", async () => {
  const names = Array.from({ length: 100 }, (_, index) => `cat_${index + 1}\n`);
  await writeFile(at("agent_jobs_input.csv"), `name\n${names.join("")}`);
  await using endpoint = await ResponsesEndpoint.start(
    agentJobScript({
      csv_path: "agent_jobs_input.csv",
      instruction:
        "Write a playful 2-line poem about the cat named {name}. Return a JSON object with keys name and poem. " +
        "Call report_agent_job_result exactly once and then stop.",
      output_csv_path: "agent_jobs_output.csv",
      max_concurrency: 64,
    }),
  );
  const prompt = "Use spawn_agents_on_csv on the provided CSV and do not do work yourself.";
  const { status, stdout, stderr } = await person.run(agent(endpoint, prompt));
  expect({ status, stdout }).toEqual({ status: 0, stdout: "" });
  expect(stderr).toMatch(
    /^spawn_agents_on_csv agent_jobs_input\.csv Write a .*\n {2}100 rows: 100 completed; results: \S+\ntokens: 404 .*\n$/,
  );
  const written = await readFile(at("agent_jobs_output.csv"), "utf8");
  expect(written.trimEnd().split("\n")).toHaveLength(101);
  // The agent hears how the job ended.
  const [shown] = endpoint.requests.filter((asked) => itemOf(asked) === undefined).flatMap(outputsOf);
  expect(JSON.parse(shown as string)).toMatchObject({ status: "completed", completed_items: 100 });
  expect(await person.server()).toMatchObject({ runningProcesses: 0 });
});

describe("a task with commands and files", () => {
  it("is shown on stderr, and its answer goes to stdout", async () => {
    await writeFile(at("bill.txt"), BILL);
    await using endpoint = await ResponsesEndpoint.start(task());
    const { status, stdout, stderr } = await person.run(agent(endpoint, "Check bill.txt."));
    expect({ status, stdout }).toEqual({ status: 0, stdout: ANSWER });
    expect(await readFile(at("bill.txt"), "utf8")).toBe(BILL.replace("6", "12"));
    expect(stderr).toBe(
      [
        "I look at what is here first.",
        "list_dir",
        "read_file bill.txt",
        "$ awk '/^[a-z]/ { sum += $2 }",
        "  END { print sum }' bill.txt",
        "  12",
        "edit_file bill.txt Total 6 Total 12",
        "$ grep Total bill.txt; seq 30; false",
        "  Total 12",
        ...Array.from({ length: 19 }, (_, index) => `  ${index + 1}`),
        "  … 11 more lines",
        "  Exit code: 1",
        ANSWER + "tokens: 12 (6 in, 0 of them cached, 6 out)",
        "",
      ].join("\n"),
    );
  });

  it("fits a terminal, which shows the answer once", async () => {
    await writeFile(at("bill.txt"), BILL);
    await using endpoint = await ResponsesEndpoint.start(task());
    await using tmux = await Tmux.start();
    const command = [process.execPath, builtCli, ...agent(endpoint, "Check bill.txt.")];
    const terminal = await tmux.open(command, { cwd: person.home, env: person.env, rows: 50 });
    expect(await terminal.status()).toBe(0);
    const screen = await terminal.text();
    expect(screen).toContain("$ grep Total bill.txt; seq 30; false\n  Total 12\n");
    expect(screen.match(/I corrected bill\.txt\./g)).toHaveLength(1);
    expect(screen).toMatch(/tokens: 12 .*$/);
  });

  it("is quiet if it should be, and can come from stdin", async () => {
    await writeFile(at("bill.txt"), BILL);
    await using endpoint = await ResponsesEndpoint.start(task());
    const ended = await person.run(agent(endpoint, "-q", "-"), { input: "Check bill.txt.\n" });
    expect(ended).toMatchObject({ status: 0, stdout: ANSWER, stderr: "" });
    expect(JSON.stringify(endpoint.requests[0]?.input)).toContain("Check bill.txt.");
  });
});

it("the words of the model are shown as they come, without the key", async () => {
  const parts = ["The key is sk-te", "st-012", "3456789, and \u001b[2J clears.", "\tThis is not seen yet"];
  let respond = (): void => {};
  await using endpoint = await ResponsesEndpoint.start((_asked, response) => {
    const delta = (text: string) => ({ type: "response.output_text.delta", delta: text });
    sendEvents(response, parts.map(delta));
    respond = () => answerWith(response, "r", [message("m", `${parts.join("")}.`)]);
  });
  const env = { ...person.env, OPENAI_API_KEY: KEY };
  const running = startCommand(agent(endpoint, "Talk."), { cwd: person.home, env, input: "" });
  await running.complains("The key is [key], and \\x1b[2J clears.\tThis is not seen ");
  respond();
  const { status, stdout, stderr } = await running.ended();
  expect(status).toBe(0);
  expect(stdout).toBe("The key is [key], and \u001b[2J clears.\tThis is not seen yet.\n");
  expect(stderr).toContain("not seen yet\ntokens: 2");
});

it.each<[string, object, number]>([
  ["a command", call("exec_command", { cmd: "sleep 1000 & sleep 1000", yield_time_ms: 30_000 }), 1],
  ["its agents", call("spawn_agents_on_csv", { csv_path: "cats.csv", instruction: "Pet {name}." }), 2],
])("Ctrl-C ends the agent with what it has started: %s", async (_name, item, processes) => {
  await writeFile(at("cats.csv"), "name\nTom\nGarfield\n");
  await using endpoint = await ResponsesEndpoint.start((asked, response) => {
    if (itemOf(asked) === undefined) answerWith(response, "main", [item]);
    // The turn after the command is never answered.
    else if (outputsOf(asked).length === 0)
      answerWith(response, "worker", [call("exec_command", { cmd: "sleep 1000", yield_time_ms: 250 })]);
  });
  const options = { cwd: person.home, env: person.env, input: "" };
  const running = startCommand(agent(endpoint, "Wait."), options);
  await expect
    .poll(async () => (await person.server().catch(() => undefined))?.runningProcesses, { timeout: 60_000 })
    .toBe(processes);
  running.child.kill("SIGINT");
  const { signal, stdout, stderr } = await running.ended();
  // A shell reports 130.
  expect({ signal, stdout }).toEqual({ signal: "SIGINT", stdout: "" });
  expect(stderr).toMatch(/exec-server: interrupted\n$/);
  expect(await person.server()).toMatchObject({ runningProcesses: 0 });
});

describe("a failure is one line, with status 1:", () => {
  it.each<[string, Script, readonly string[], string]>([
    [
      "a wrong key",
      (_asked, response) => response.writeHead(401).end(JSON.stringify({ error: { message: "who?" } })),
      [],
      "the endpoint answered 401: who?",
    ],
    [
      "a turn that is cut off",
      (_asked, response) => {
        const details = { incomplete_details: { reason: "max_output_tokens" } };
        sendEvents(response, [{ type: "response.incomplete", response: { id: "r", ...details } }] as never);
        response.end();
      },
      [],
      "the model's turn was cut off: max_output_tokens",
    ],
    [
      "too many turns",
      (_asked, response) => answerWith(response, "r", [call("list_dir", {})]),
      ["--max-turns", "2"],
      "the agent was not done after 2 turns",
    ],
    [
      "too many tokens",
      (_asked, response) => answerWith(response, "r", [call("list_dir", {})]),
      ["--max-tokens-total", "3"],
      "4 tokens have been used, and the limit is 3",
    ],
  ])("%s", async (_name, script, options, error) => {
    await using endpoint = await ResponsesEndpoint.start(script);
    const ended = await person.run(agent(endpoint, "-q", ...options, "Do it."));
    expect(ended).toMatchObject({ status: 1, stdout: "", stderr: `exec-server: ${error}\n` });
  });
});

it("a request that is repeated is shown", async () => {
  let asked = 0;
  await using endpoint = await ResponsesEndpoint.start((_asked, response) => {
    asked += 1;
    if (asked === 1) response.writeHead(429, { "retry-after-ms": "600" }).end("busy");
    else answerWith(response, "r", [message("m", "Done.")]);
  });
  const { status, stdout, stderr } = await person.run(agent(endpoint, "Do it."));
  expect({ status, stdout }).toEqual({ status: 0, stdout: "Done.\n" });
  expect(stderr).toMatch(/^the endpoint answered 429: busy; retrying in 1s\nDone\.\n/);
});

describe("a mistake ends before a model is asked:", () => {
  it.each<[readonly string[], Readonly<Record<string, string>>, string]>([
    [["Do it."], {}, "--model is missing; name the endpoint's model with it, or in OPENAI_MODEL"],
    [
      ["Do it."],
      { OPENAI_MODEL: "m" },
      "OPENAI_API_KEY is not set; set it to the endpoint's key, or add --anonymous",
    ],
    [
      ["--base-url", "nowhere", "--model", "m", "Do it."],
      {},
      "the address of the model must begin with http:// or https://, not nowhere",
    ],
    [["--anonymous", "--model", "m", " "], {}, "the prompt is empty"],
    [["--anonymous", "--model", "m", "-"], {}, "the prompt is empty"],
    [["--model", "m"], {}, "missing required argument 'prompt'; see 'exec-server agent --help'"],
  ])("%j", async (args, env, error) => {
    const ended = await person.run(["agent", ...args], { env });
    expect(ended).toMatchObject({ status: 2, stdout: "", stderr: `exec-server: ${error}\n` });
    expect(existsSync(person.socket)).toBe(false);
  });
});

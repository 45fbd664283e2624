import { existsSync, readFileSync } from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { parse } from "csv-parse/sync";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { pollUntil } from "../fault/deadline.ts";
import { agentJobScript, ResponsesEndpoint } from "../fixtures/scripted-model.mjs";
import { calling, endpointOf, good } from "../rows/agent-rows.ts";
import { startCommand } from "./command.ts";
import { Person } from "./person.ts";

const KEY = "sk-test-0123456789";
let person: Person;

beforeEach(() => {
  person = new Person();
});
afterEach(() => person[Symbol.asyncDispose]());

const at = (name: string): string => join(person.home, name);
const table = async (): Promise<Record<string, string>[]> =>
  parse(await readFile(at("cats.results.csv")), { columns: true }) as unknown as Record<string, string>[];
const writeCats = (count: number): Promise<void> =>
  writeFile(at("cats.csv"), `name\n${Array.from({ length: count }, (_, n) => `cat_${n + 1}\n`).join("")}`);
const agents = ({ baseUrl }: { baseUrl: string }, ...more: readonly string[]): string[] => [
  "agents",
  "cats.csv",
  "--model",
  "scripted",
  "--base-url",
  baseUrl,
  "--instruction",
  "Write a poem about the cat {name}.",
  ...more,
];

it("lets an agent work on each row, and writes what they report", async () => {
  await writeCats(100);
  await using endpoint = await ResponsesEndpoint.start(agentJobScript());
  const { status, stdout } = await person.run(agents(endpoint, "-j", "64"));
  expect(status).toBe(0);
  expect(stdout).toMatch(
    /^100 rows: 100 completed, in .*\nresults: cats\.results\.csv\ntokens: 400 \(200 in, 0 of them cached, 200 out\)\n$/,
  );
  expect((await readFile(at("cats.results.csv"), "utf8")).trimEnd().split("\n")).toHaveLength(101);
  const rows = await table();
  expect(rows.map(({ name, result_json }) => [name, result_json])).toEqual(
    Array.from({ length: 100 }, (_, n) => [`cat_${n + 1}`, `{"item_id":"row-${n + 1}"}`]),
  );
});

it("sends the key only to the endpoint", async () => {
  await writeCats(3);
  const headers: (string | undefined)[] = [];
  await using inner = await endpointOf({
    "row-1": calling(["exec_command", { cmd: "env; set; cat /proc/$PPID/environ | tr '\\0' '\\n'" }]),
    // An endpoint that echoes its input.
    "row-2": ({ response }) =>
      response.writeHead(400).end(JSON.stringify({ error: { message: `bad ${KEY}` } })),
    "row-3": (scene) =>
      scene.request === 1
        ? calling(["exec_command", { cmd: `echo ${KEY}` }])(scene)
        : good({ ...scene, request: scene.request - 1 }),
  });
  await using endpoint = await ResponsesEndpoint.start(async (asked, response, request) => {
    headers.push(request.headers.authorization);
    const { method = "", url = "" } = request;
    const answer = await fetch(inner.origin + url, { method, body: JSON.stringify(asked) });
    response.writeHead(answer.status, { "content-type": answer.headers.get("content-type") ?? "" });
    response.end(await answer.text());
  });
  const env = { OPENAI_API_KEY: KEY, PASSWORD_FOR_MODEL: KEY, VISIBLE: "yes" };
  const { status, stdout, stderr } = await person.run(
    agents(endpoint, "--api-key-env", "PASSWORD_FOR_MODEL"),
    { env },
  );
  expect(status).toBe(1);
  expect(new Set(headers)).toEqual(new Set([`Bearer ${KEY}`]));
  const results = await readFile(at("cats.results.csv"), "utf8");
  expect(results).toContain("VISIBLE=yes");
  expect(results).toContain("the endpoint answered 400: bad [key]");
  const ledger = await readFile(at("cats.results.csv.ledger"), "utf8");
  const log = await readFile(person.log, "utf8");
  for (const text of [stdout, stderr, results, ledger, log]) expect(text).not.toContain(KEY);
  const refused = await person.run(agents(endpoint, "--env", `COPY=${KEY}`, "-o", "other.csv"), { env });
  expect(refused).toMatchObject({
    status: 2,
    stderr: "exec-server: --env COPY would show the agents the key of their own model; leave it out\n",
  });
});

it("ends everything at an interrupt, and continues with --resume", async () => {
  await writeCats(4);
  const asked = new Set<string>();
  let waits = true;
  /** The others may have asked before the result of the first row is recorded. */
  const firstEnded = () =>
    pollUntil(
      () => readFileSync(at("cats.results.csv.ledger"), "utf8").includes('"kind":"end"'),
      60_000,
      () => "the end of the first row",
    );
  await using endpoint = await endpointOf(
    Object.fromEntries(
      ["row-1", "row-2", "row-3", "row-4"].map((id) => [
        id,
        (scene) => {
          asked.add(`${id} ${scene.request}`);
          if (id === "row-1" || !waits) good({ ...scene, request: scene.asked.input.length > 1 ? 2 : 1 });
          // The turn after the command is never answered.
          else if (scene.request === 1)
            calling(["exec_command", { cmd: "sleep 1000", yield_time_ms: 250 }])(scene);
          else if (asked.has("row-2 2") && asked.has("row-3 2") && asked.has("row-4 2"))
            void firstEnded().then(() => running.child.kill("SIGINT"));
        },
      ]),
    ),
  );
  const options = { cwd: person.home, env: { ...person.env, OPENAI_API_KEY: KEY }, input: "" };
  const running = startCommand(agents(endpoint), options);
  const { signal, stderr } = await running.ended();
  // A shell reports 130.
  expect(signal).toBe("SIGINT");
  expect(stderr).toContain("interrupted; the same command with --resume continues the job");
  expect(await person.server()).toMatchObject({ runningProcesses: 0 });
  expect((await table()).map((row) => row["status"])).toEqual([
    "completed",
    "cancelled",
    "cancelled",
    "cancelled",
  ]);
  waits = false;
  const resumed = await person.run(agents(endpoint, "--resume", "--json"), { env: { OPENAI_API_KEY: KEY } });
  expect(resumed).toMatchObject({ status: 0 });
  expect(JSON.parse(resumed.stdout)).toMatchObject({ completed: 4, tokens: { total: 12 } });
  expect((await table()).map((row) => row["attempt_count"])).toEqual(["1", "2", "2", "2"]);
});

describe("a mistake ends before a model is asked:", () => {
  const instruction = ["--instruction", "Write about {name}."];
  it.each([
    [["--model", "m"], {}, "pass --instruction TEMPLATE, or --instruction-file FILE"],
    [
      [...instruction, "--instruction-file", "x", "--model", "m"],
      {},
      "pass --instruction TEMPLATE, or --instruction-file FILE",
    ],
    [
      ["--instruction-file", "none.txt", "--model", "m"],
      {},
      "cannot read the instruction none.txt: No such file or directory (os error 2)",
    ],
    [["--instruction", " ", "--model", "m"], {}, "the instruction is empty"],
    [instruction, {}, "--model is missing; name the endpoint's model with it, or in OPENAI_MODEL"],
    [
      [...instruction, "--model", "m"],
      {},
      "OPENAI_API_KEY is not set; set it to the endpoint's key, or add --anonymous",
    ],
    [
      [...instruction, "--model", "m", "--api-key-env", "OTHER", "--base-url", "http://127.0.0.1:1/v1"],
      {},
      "OTHER is not set; set it to the endpoint's key, or add --anonymous",
    ],
    [
      [...instruction, "--model", "m", "--base-url", "http://example.com/v1"],
      { OPENAI_API_KEY: KEY },
      "the key would be sent to http://example.com/v1 without encryption; use https://, or add --anonymous to send none",
    ],
    [
      [...instruction, "--model", "m"],
      { OPENAI_API_KEY: "sk two words" },
      "the key of the model must be printable ASCII without spaces",
    ],
    [
      [...instruction, "--model", "m", "--anonymous", "--base-url", "ftp://example.com"],
      {},
      "the address of the model must begin with http:// or https://, not ftp://example.com",
    ],
    [
      ["--instruction", "Pet {dog}.", "--model", "m", "--no-commands"],
      { OPENAI_API_KEY: KEY },
      "{dog} is not a column of the input: it has 'name'; write {{ for a literal brace",
    ],
    [
      [...instruction, "--model", "m", "--output-schema", "cats.csv"],
      { OPENAI_API_KEY: KEY },
      "the schema cats.csv is not JSON",
    ],
  ])("%j", async (args, env, message) => {
    await writeCats(2);
    const { status, stdout, stderr } = await person.run(["agents", "cats.csv", ...args], { env });
    expect({ status, stdout, stderr }).toEqual({
      status: 2,
      stdout: "",
      stderr: `exec-server: ${message}\n`,
    });
    expect(existsSync(at("cats.results.csv"))).toBe(false);
  });
});

it("shows the instructions of a dry run, and asks no model", async () => {
  await writeCats(2);
  const { status, stdout } = await person.run([
    "agents",
    "cats.csv",
    "--dry-run",
    "--instruction",
    "Pet {name}.",
  ]);
  expect({ status, stdout }).toEqual({ status: 0, stdout: "row-1: Pet cat_1.\nrow-2: Pet cat_2.\n" });
});

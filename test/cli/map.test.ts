import { existsSync, readdirSync, readFileSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { parse } from "csv-parse/sync";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { launch, type ServerProcess } from "../conformance/server-process.ts";
import { connect } from "../../src/client/host/connect.ts";
import { pollUntil } from "../fault/deadline.ts";
import { type Ended, runCommand, startCommand } from "./command.ts";

let server: ServerProcess;
let url: string;
let directory: string;
const directories: string[] = [];

beforeAll(async () => {
  server = await launch("ours", ["--listen", "ws://127.0.0.1:0"]);
  url = await server.banner();
});

afterAll(async () => {
  await server.stop();
  for (const path of directories) await rm(path, { recursive: true });
});

beforeEach(async () => {
  directory = await mkdtemp("/var/tmp/exec-server-map-");
  directories.push(directory);
});

const write = (name: string, contents: string | Buffer): Promise<void> =>
  writeFile(join(directory, name), contents);
const read = (name: string): string => readFileSync(join(directory, name), "utf8");
const rows = (name = "rows.results.csv"): Record<string, string>[] =>
  parse(read(name), { columns: true }) as unknown as Record<string, string>[];
const results = (name?: string): unknown[] => rows(name).map((row) => JSON.parse(row["result_json"]!));
const started = (...args: string[]) => startCommand(["map", "--url", url, ...args], { cwd: directory });
const map = (...args: string[]): Promise<Ended> =>
  runCommand(["map", "--url", url, ...args], { cwd: directory });

/** The same with rows on stdin. */
const mapOf = (input: string, ...args: string[]): Promise<Ended> =>
  runCommand(["map", "--url", url, ...args], { cwd: directory, input });

test("--url stdio is a server of its own, in the command's directory and environment, which ends with it", async () => {
  await write("rows.csv", "n\n1\n2\n");
  const command = ["--", "sh", "-c", 'echo "$PWD $SHARED $PPID"'];
  const { status, stderr } = await runCommand(["map", "--url", "stdio", "rows.csv", ...command], {
    cwd: directory,
    env: { SHARED: "passed on", EXEC_SERVER_HOST: "no-such-host" },
  });
  expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
  const [first, second] = results() as string[];
  const server = / (\d+)$/.exec(first!)![1]!;
  expect([first, second]).toEqual([`${directory} passed on ${server}`, `${directory} passed on ${server}`]);
  await pollUntil(
    () => !existsSync(`/proc/${server}`),
    60_000,
    () => "the server of the command runs",
  );
  const refused = await runCommand(["map", "--url", "stdio", "--token-file", "x", "rows.csv", "--", "true"], {
    cwd: directory,
  });
  expect(refused).toMatchObject({ status: 2, stderr: expect.stringContaining("--token-file") });
});

test("Ctrl-C reaches the command, and not its server of --url stdio, which would end the rows before they are cancelled", async () => {
  await write("rows.csv", "n\n1\n2\n");
  const row = ["--", "sh", "-c", "echo $PPID > part-{n}; mv part-{n} server-{n}; exec sleep 600"];
  const command = startCommand(["map", "--url", "stdio", "-j2", "rows.csv", ...row], { cwd: directory });
  await pollUntil(
    () => existsSync(join(directory, "server-1")) && existsSync(join(directory, "server-2")),
    60_000,
    () => "the rows to run",
  );
  const stat = readFileSync(`/proc/${read("server-1").trim()}/stat`, "utf8");
  const [, group] = /\) \S \d+ (\d+)/.exec(stat)!;
  expect(group).toBe(read("server-1").trim());
  command.child.kill("SIGINT");
  expect(await command.ended()).toMatchObject({ status: null, signal: "SIGINT" });
  expect(rows().map(({ status }) => status)).toEqual(["cancelled", "cancelled"]);
});

/** Names of what the server keeps. */
async function kept(): Promise<(string | undefined)[]> {
  await using host = await connect(url);
  return (await host.processes({ scope: "kept" })).map(({ name }) => name);
}

test("each row is one run of the command, and a cell is one argument", async () => {
  await write("rows.csv", 'name,text\nann,"a b; $(touch oops) \'x\'"\nbob,"line\none"\n');
  const { status, stdout, stderr } = await map(
    "rows.csv",
    "--",
    "printf",
    "<%s>",
    "{name}",
    "-{text}-",
    "{{name}",
  );
  expect([stderr, status]).toEqual(["", 0]);
  expect(stdout).toMatch(/^2 rows: 2 completed, in \d+s\nresults: rows\.results\.csv\n$/);
  expect(results()).toEqual(["<ann><-a b; $(touch oops) 'x'-><{name}>", "<bob><-line\none-><{name}>"]);
  expect(rows()[0]).toMatchObject({ item_id: "row-1", status: "completed", exit_code: "0", host: url });
  expect(readdirSync(directory).sort()).toEqual(["rows.csv", "rows.results.csv", "rows.results.csv.ledger"]);
  expect(await kept()).toEqual([]);
});

test("a line for the shell gets cells quoted, wherever they stand", async () => {
  await write("rows.csv", 'text\n"a  b $(echo oops) \'; ""x"""\n');
  const line = "printf '%s|' {text} \"{text}\" '{text}' $(echo {text} | wc -w)";
  const { status } = await map("--shell", "rows.csv", "--", line);
  const text = 'a  b $(echo oops) \'; "x"';
  expect([status, results()]).toEqual([0, [`${text}|${text}|${text}|6|`]]);
});

test("a row is given as JSON on stdin, and its result is JSON that fits a schema", async () => {
  await write("rows.jsonl", '{"n":1,"deep":{"x":[1]}}\n{"n":"two"}\n{"n":3}\n');
  await write("schema.json", '{"type":"object","required":["deep"]}');
  const options = ["--stdin", "json", "--result-schema", "schema.json", "-o", "out.csv"];
  const { status, stdout } = await map(...options, "rows.jsonl", "--", "cat");
  expect(status).toBe(1);
  expect(stdout).toContain(
    "2 failed: its result does not fit the schema: it must have required property 'deep' (row-2, row-3)",
  );
  expect(rows("out.csv").map((row) => [row["status"], row["result_json"]])).toEqual([
    ["completed", '{"n":1,"deep":{"x":[1]}}'],
    ["failed", ""],
    ["failed", ""],
  ]);
});

test("the environment says which row it is", async () => {
  await write("rows.csv", "key\nk7\n");
  await map("--id-column", "key", "rows.csv", "--", "sh", "-c", "env | grep EXEC_SERVER_ | sort");
  const [row] = rows();
  expect(results()).toEqual([
    [
      "EXEC_SERVER_ATTEMPT=1",
      "EXEC_SERVER_ITEM_ID=k7",
      `EXEC_SERVER_JOB_ID=${row!["job_id"]}`,
      "EXEC_SERVER_ROW_INDEX=0",
    ].join("\n"),
  ]);
});

test("rows that fail are grouped, tried again, and run again on request", async () => {
  await write("rows.csv", "n\n1\n2\n3\n");
  const script = "test {n} = 1 || test -e mended || { echo broken >&2; exit 4; }";
  const command = ["rows.csv", "--cwd", directory, "--", "sh", "-c", script];
  const first = await map("--retries", "1", "--json", ...command);
  expect(first.status).toBe(1);
  expect(JSON.parse(first.stdout)).toMatchObject({
    end: "finished",
    rows: 3,
    completed: 1,
    failed: 2,
    retries: 2,
    groups: [
      { status: "failed", error: "exit status 4: broken", count: 2, samples: ["row-2", "row-3"] },
      { status: "completed", count: 1 },
    ],
  });
  expect(await map("--resume", "-q", ...command)).toMatchObject({ status: 1, stdout: "" });
  await write("mended", "");
  expect((await map("--only-failed", ...command)).status).toBe(0);
  expect(rows().map((row) => row["attempt_count"])).toEqual(["1", "3", "3"]);
});

test("a row that takes too long is ended, and one that writes too much is shortened", async () => {
  await write("late.csv", "n\n1\n");
  expect((await map("--timeout", "1s", "late.csv", "--", "sleep", "600")).status).toBe(1);
  expect(rows("late.results.csv")).toMatchObject([{ status: "failed", last_error: "timed out after 1s" }]);
  await write("loud.csv", "bytes\n3000000\n");
  expect((await map("loud.csv", "--", "sh", "-c", "yes | head -c {bytes}")).status).toBe(0);
  const [loud] = rows("loud.results.csv");
  expect(loud!["status"]).toBe("completed");
  expect(loud!["result_json"]!.length).toBeLessThan(2_500_000);
  expect(await kept()).toEqual([]);
});

test("rows from stdin have their results on stdout, and the summary on stderr", async () => {
  const { status, stdout, stderr } = await mapOf(
    "n\n1\n2\n",
    "-",
    "--",
    "sh",
    "-c",
    'echo "<$1>"',
    "sh",
    "{n}",
  );
  expect([status, stderr]).toEqual([0, expect.stringMatching(/^2 rows: 2 completed, in \d+m?s\n$/)]);
  const [first, second] = parse(stdout, { columns: true }) as Record<string, string>[];
  expect([first!["stdout"], second!["stdout"], second!["result_json"]]).toEqual(["<1>", "<2>", '"<2>"']);
  const options = ["-q", "--format", "jsonl", "--result", "json"];
  const json = await mapOf('{"n":7}\n', ...options, "-", "--", "expr", "{n}", "+", "1");
  expect(JSON.parse(json.stdout)).toMatchObject({ n: "7", status: "completed", result_json: 8 });
  expect(JSON.parse(json.stdout)).not.toHaveProperty("stdout");
  expect(readdirSync(directory)).toEqual([]);
});

test("rows from stdin can have a file for their results, and then be continued", async () => {
  const script = ["sh", "-c", "test $1 = 1 || test -e mended", "sh", "{n}"];
  const run = (...options: string[]): Promise<Ended> =>
    mapOf("n\n1\n2\n", ...options, "-q", "-o", "out.csv", "--cwd", directory, "-", "--", ...script);
  expect((await run()).status).toBe(1);
  await write("mended", "");
  expect((await run("--only-failed")).status).toBe(0);
  expect(rows("out.csv").map((row) => row["attempt_count"])).toEqual(["1", "2"]);
});

test("--force replaces the results and the ledger of an earlier job", async () => {
  await write("rows.csv", "n\n1\n");
  expect((await map("-q", "rows.csv", "--", "echo", "old")).status).toBe(0);
  const refused = await map("-q", "rows.csv", "--", "echo", "new");
  expect(refused).toMatchObject({ status: 2, stderr: expect.stringContaining("replace it with --force") });
  expect((await map("-q", "--force", "rows.csv", "--", "echo", "new")).status).toBe(0);
  expect(results()).toEqual(["new"]);
});

test.each([
  ["--force --resume rows.csv", "--force begins anew"],
  ["--resume -o - rows.csv", "results on stdout cannot be continued"],
  ["--json -o - rows.csv", "cannot both go to stdout"],
])("%s is refused", async (options, message) => {
  await write("rows.csv", "n\n1\n");
  const refused = await map(...options.split(" "), "--", "true");
  expect(refused).toMatchObject({ status: 2, stdout: "", stderr: expect.stringContaining(message) });
});

test("a dry run starts and writes nothing", async () => {
  await write("rows.csv", "a\n1\n2\n3\n");
  const { stdout, status } = await map(
    "--dry-run",
    "--limit",
    "2",
    "rows.csv",
    "--",
    "touch",
    "x{a}",
    "it's",
  );
  expect([status, stdout]).toEqual([0, "row-1: touch x1 'it'\\''s'\nrow-2: touch x2 'it'\\''s'\n"]);
  expect(readdirSync(directory)).toEqual(["rows.csv"]);
});

describe("what is wrong is said in one line before anything starts:", () => {
  const touch = ["--", "touch", "started"];
  test.each<[string, string | Buffer, string[], RegExp]>([
    ["no header", "", touch, /rows\.csv is empty: it needs a header/],
    [
      "a name that is no column",
      "a\n1\n",
      ["--", "echo", "{b}"],
      /\{b\} is not a column of the input: it has 'a'/,
    ],
    ["a missing id", "a,b\n,1\n", ["--id-column", "a", ...touch], /row 1 has no id in the column 'a'/],
    [
      "an id twice",
      "a\n1\n1\n",
      ["--id-column", "a", ...touch],
      /row 2 has the id '1', which row 1 has, too/,
    ],
    ["cells that are missing", "a,b\n1\n", touch, /row 1 has 1 cell, but the header has 2/],
    [
      "another encoding",
      Buffer.from("a\n\xe9\n", "latin1"),
      touch,
      /line 2, byte 3: the byte 0xe9, which is not UTF-8/,
    ],
    [
      "a cell of 1 MB as an argument",
      `a\n${"x".repeat(1e6)}\n`,
      ["--", "echo", "{a}"],
      /its argument 1 would have 1000000 bytes/,
    ],
    [
      "a row without a member",
      '{"a":1}\n{"b":1}\n',
      ["--format", "jsonl", "--", "echo", "{a}"],
      /row 2: it has no 'a'/,
    ],
    [
      "a schema that is none",
      "a\n1\n",
      ["--result-schema", "rows.csv", ...touch],
      /the schema rows\.csv is not JSON/,
    ],
    ["no job to resume", "a\n1\n", ["--resume", ...touch], /there is no job to resume/],
  ])("%s", async (_, contents, args, message) => {
    await write("rows.csv", contents);
    const { status, stdout, stderr } = await map("rows.csv", "--cwd", directory, ...args);
    expect([status, stdout]).toEqual([2, ""]);
    expect(stderr).toMatch(message);
    expect(stderr.trimEnd().split("\n")).toHaveLength(1);
    expect(readdirSync(directory)).toEqual(["rows.csv"]);
  });

  test("a cell of 1 MB works on stdin, and a file without rows has nothing to do", async () => {
    await write("rows.csv", `a\n${"x".repeat(1e6)}\n`);
    expect((await map("--stdin", "json", "rows.csv", "--", "wc", "-c")).status).toBe(0);
    expect(results()).toEqual([String(1e6 + '{"a":""}\n'.length)]);
    await write("none.csv", "a\n");
    const none = await map("none.csv", "--", "false");
    expect(none.status).toBe(0);
    expect(none.stdout).toMatch(/^0 rows: 0 completed, in \d+s\nresults: none\.results\.csv\n$/);
  });
});

test("Ctrl-C ends everything that runs, and the job is resumed", async () => {
  await write("rows.csv", `n\n${Array.from({ length: 10 }, (_, n) => n).join("\n")}\n`);
  const script = `test {n} = 0 && exit; echo $$ >> pids; test -e go || { sleep 300; exit 1; }`;
  const args = ["-j", "4", "rows.csv", "--cwd", directory, "--", "sh", "-c", script];
  const running = started(...args);
  const pids = (): number[] => {
    try {
      return read("pids").trim().split("\n").map(Number);
    } catch {
      return [];
    }
  };
  await pollUntil(
    () => pids().length === 4,
    90_000,
    () => "four rows that run",
  );
  running.child.kill("SIGINT");
  const { signal, stderr } = await running.ended();
  expect([signal, stderr]).toEqual([
    "SIGINT",
    "exec-server: interrupted; the same command with --resume continues the job\n",
  ]);
  expect(await kept()).toEqual([]);
  for (const pid of pids()) expect(() => process.kill(pid, 0)).toThrow("ESRCH");
  const statuses = rows().map((row) => row["status"]);
  expect(statuses.filter((status) => status === "cancelled")).toHaveLength(4);
  expect(statuses.filter((status) => status === "pending")).toHaveLength(5);
  await write("go", "");
  const resumed = await map("--resume", "--json", ...args);
  expect([resumed.status, JSON.parse(resumed.stdout)]).toMatchObject([0, { completed: 10, cancelled: 0 }]);
  expect(new Set(rows().map((row) => row["status"]))).toEqual(new Set(["completed"]));
});

test("rows that run when the program is killed are taken over, not started again", async () => {
  await write("rows.csv", "n\n1\n2\n3\n");
  const script = "echo {n} >> log; until test -e go; do sleep 0.05; done; echo done {n}";
  const args = ["-j", "2", "rows.csv", "--cwd", directory, "--", "sh", "-c", script];
  const first = started(...args);
  const log = (): string[] => {
    try {
      return read("log").trim().split("\n").sort();
    } catch {
      return [];
    }
  };
  await pollUntil(
    () => log().length === 2,
    90_000,
    () => "two rows that run",
  );
  first.child.kill("SIGKILL");
  await first.ended();
  expect(await kept()).toHaveLength(2);
  await write("go", "");
  const second = await map("--resume", ...args);
  expect([second.stderr, second.status]).toEqual(["", 0]);
  expect(log()).toEqual(["1", "2", "3"]);
  expect(results()).toEqual(["done 1", "done 2", "done 3"]);
  expect(rows().map((row) => row["attempt_count"])).toEqual(["1", "1", "1"]);
  expect(await kept()).toEqual([]);
});

test("a command in a sandbox cannot make the results replace a file outside of it", async () => {
  const home = await mkdtemp("/var/tmp/exec-server-map-home-");
  directories.push(home);
  const victim = join(home, ".bashrc");
  await writeFile(victim, "mine");
  await write("rows.csv", "n\n1\n");
  await write("evil.sh", `ln -s ${victim} rows.results.csv.part; echo x > ${victim} || echo theirs`);
  const { status, stderr } = await map(
    "--cwd",
    directory,
    "--sandbox",
    "workspace-write",
    "rows.csv",
    "--",
    "sh",
    "evil.sh",
  );
  expect([stderr, status]).toEqual(["", 0]);
  expect([results(), readFileSync(victim, "utf8")]).toEqual([["theirs"], "mine"]);
});

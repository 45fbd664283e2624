import { readFileSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { parse } from "csv-parse/sync";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { connect } from "../../src/client/host/connect.ts";
import { launch, type ServerProcess } from "../conformance/server-process.ts";
import { pollUntil } from "../fault/deadline.ts";
import { runCommand, startCommand } from "./command.ts";

const ROWS = 6;
const DEADLINE_MS = 60_000;
/** Bytes of a ledger that has no room for the result of the first row. */
const FULL_BYTES = 3_000;
/** Logs each execution. The first row has a large result at once, the others wait. */
const SCRIPT =
  'echo {n} >> log; test {n} = 0 && exec printf "%05000d" 0; until test -e go; do sleep 0.05; done; echo {n}';

let server: ServerProcess;
let url: string;
let directory: string;

beforeAll(async () => {
  server = await launch("ours", ["--listen", "ws://127.0.0.1:0"]);
  url = await server.banner();
});

afterAll(() => server.stop());

beforeEach(async () => {
  directory = await mkdtemp("/var/tmp/exec-server-map-records-");
  await writeFile(
    join(directory, "rows.csv"),
    `n\n${Array.from({ length: ROWS }, (_, n) => `${n}\n`).join("")}`,
  );
  return () => rm(directory, { recursive: true, maxRetries: 5 });
});

const map = (...flags: string[]): string[] => {
  const options = ["--url", url, "--cwd", directory, "-o", "out.csv", "-j", String(ROWS), ...flags];
  return ["map", ...options, "rows.csv", "--", "sh", "-c", SCRIPT];
};
const linesOf = (name: string): string[] => {
  try {
    return readFileSync(join(directory, name), "utf8").trimEnd().split("\n");
  } catch {
    return [];
  }
};
const executions = (): number => linesOf("log").length;
const allRun = (): Promise<unknown> =>
  pollUntil(
    () => executions() === ROWS,
    DEADLINE_MS,
    () => `${ROWS} executions`,
  );
const statuses = (): string[] =>
  (
    parse(readFileSync(join(directory, "out.csv"), "utf8"), { columns: true }) as unknown as {
      status: string;
    }[]
  ).map(({ status }) => status);

/** Everything is completed, and no command has run a second time. */
async function resumedWithoutRepeating(): Promise<void> {
  await writeFile(join(directory, "go"), "");
  const { status, stderr } = await runCommand(map("--resume"), { cwd: directory });
  expect([stderr, status]).toEqual(["", 0]);
  expect(statuses()).toEqual(Array.from({ length: ROWS }, () => "completed"));
  expect(linesOf("log").sort()).toEqual(Array.from({ length: ROWS }, (_, n) => String(n)));
  await using host = await connect(url);
  expect(await host.processes({ scope: "kept" })).toEqual([]);
}

test("commands whose beginning is missing in the ledger are taken over, not started again", async () => {
  const running = startCommand(map(), { cwd: directory });
  await allRun();
  await pollUntil(
    () => linesOf("out.csv.ledger").some((line) => line.includes('"kind":"end"')),
    DEADLINE_MS,
    () => "the end of the first row",
  );
  running.child.kill("SIGKILL");
  await running.ended();
  const lines = linesOf("out.csv.ledger").filter((line) => !/"kind":"begin","index":[245]/.test(line));
  await writeFile(join(directory, "out.csv.ledger"), `${lines.join("\n")}\n`);
  await resumedWithoutRepeating();
});

test("commands that run, or have ended, when the ledger cannot be written are taken over", async () => {
  const full = startCommand(map(), { cwd: directory, through: ["prlimit", `--fsize=${FULL_BYTES}`] });
  const { status, stderr } = await full.ended();
  expect([status, stderr]).toEqual([
    1,
    "exec-server: cannot write out.csv.ledger: EFBIG; the same command with --resume continues the job\n",
  ]);
  await allRun();
  await resumedWithoutRepeating();
});

import { readFileSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { connect } from "../../src/client/host/connect.ts";
import { launch, type ServerProcess } from "../conformance/server-process.ts";
import { pollUntil } from "../fault/deadline.ts";
import { startCommand } from "./command.ts";

/** As many as run at once, so that a name which is not freed keeps the next row from running. */
const MAX_KEPT = 8;
/** Far less than the five seconds of a process that does not end, for each row. */
const PROMPT_MS = 20_000;
const DEADLINE_MS = 60_000;
/** Exits at once, and leaves something on its stdout. */
const LEAVES_DAEMON = ["sh", "-c", "sleep 600 & echo $! >> daemons; echo {n}"];

let server: ServerProcess;
let url: string;
let directory: string;

beforeAll(async () => {
  server = await launch("ours", ["--listen", "ws://127.0.0.1:0", "--max-kept-processes", String(MAX_KEPT)]);
  url = await server.banner();
});

afterAll(() => server.stop());

beforeEach(async () => {
  directory = await mkdtemp("/var/tmp/exec-server-left-behind-");
  return () => rm(directory, { recursive: true, maxRetries: 5 });
});

const map = (rows: number, ...args: string[]) => {
  const options = ["--url", url, "--cwd", directory, "-j", String(MAX_KEPT)];
  const input = Array.from({ length: rows }, (_, index) => `${index}\n`).join("");
  return writeFile(join(directory, "rows.csv"), `n\n${input}`).then(() =>
    startCommand(["map", ...options, ...args], { cwd: directory }),
  );
};

const daemons = (): number[] =>
  readFileSync(join(directory, "daemons"), "utf8").trimEnd().split("\n").map(Number);
const kept = async (): Promise<string[]> => {
  await using host = await connect(url);
  return (await host.processes({ scope: "kept" })).map(({ name }) => name!);
};

function isAlive(pid: number): boolean {
  try {
    return readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1]?.startsWith("Z") !== true;
  } catch {
    return false;
  }
}

async function untilGone(pids: readonly number[]): Promise<void> {
  await pollUntil(
    () => !pids.some(isAlive),
    DEADLINE_MS,
    () => `the end of ${pids.filter(isAlive).join(", ")}`,
  );
}

test("a row that leaves something on its stdout is timed out with the reason, and makes room for the next", async () => {
  const rows = 2 * MAX_KEPT;
  const begun = performance.now();
  const { status, stdout } = await (
    await map(rows, "--timeout", "1s", "rows.csv", "--", ...LEAVES_DAEMON)
  ).ended();
  expect(performance.now() - begun).toBeLessThan(PROMPT_MS);
  expect(status).toBe(1);
  expect(stdout).toContain(
    `${rows} failed: timed out after 1s: the command had exited with 0, but a program that it started kept its output open; redirect the output of programs it leaves behind`,
  );
  // Every row has run.
  expect(daemons()).toHaveLength(rows);
  await untilGone(daemons());
  expect(await kept()).toEqual([]);
});

test("after Ctrl-C everything that rows have left on their stdout ends at once, and their names are free", async () => {
  const running = await map(MAX_KEPT, "rows.csv", "--", ...LEAVES_DAEMON);
  await pollUntil(
    async () => {
      await using host = await connect(url);
      const listed = await host.processes({ scope: "kept" });
      return listed.length === MAX_KEPT && listed.every(({ state }) => state === "exited");
    },
    DEADLINE_MS,
    () => "rows that have exited",
  );
  const interrupted = performance.now();
  running.child.kill("SIGINT");
  expect((await running.ended()).signal).toBe("SIGINT");
  expect(performance.now() - interrupted).toBeLessThan(PROMPT_MS);
  await untilGone(daemons());
  expect(await kept()).toEqual([]);
});

test("rows that the server has no room for wait, say why, and do not time out before they have begun", async () => {
  await using host = await connect(url);
  const others = await Promise.all(
    Array.from({ length: MAX_KEPT }, (_, index) => host.start(["sleep", "600"], { keep: `other-${index}` })),
  );
  const running = await map(1, "--timeout", "2s", "rows.csv", "--", "echo", "{n}");
  // Progress is reported every ten seconds.
  await running.complains(
    `waiting: the server has no room for another process: too many kept processes have not ended (maxKeptProcesses is ${MAX_KEPT}); see 'exec-server ps'`,
  );
  await Promise.all(others.map((other) => other.kill().then(() => other.closed)));
  const { status, stdout } = await running.ended();
  expect([status, stdout]).toEqual([0, expect.stringContaining("1 row: 1 completed")]);
  for (const other of others) await other.detach({ forget: true });
});

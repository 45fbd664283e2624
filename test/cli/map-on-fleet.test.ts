import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parse } from "csv-parse/sync";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import { type FleetDesk, openFleetDesk } from "./fleet-desk.ts";

let desk: FleetDesk;
let work: string;
beforeAll(async () => {
  desk = await openFleetDesk();
  await Promise.all([
    desk.join("web-1", { zone: "eu" }),
    desk.join("web-2", { zone: "eu" }),
    desk.join("db-1", { zone: "us" }),
  ]);
});
afterAll(() => desk[Symbol.asyncDispose]());

beforeEach(() => {
  desk.write(desk.prod);
  work = join(desk.person.home, "work");
  mkdirSync(work);
  writeFileSync(join(work, "in.csv"), `n\n${Array.from({ length: 40 }, (_, n) => n).join("\n")}\n`);
});
afterEach(() => rmSync(work, { recursive: true }));

const run = (...args: readonly string[]) => desk.person.run(args, { cwd: work });
const results = (): Record<string, string>[] =>
  parse(readFileSync(join(work, "in.results.csv")), { columns: true }) as unknown as Record<string, string>[];
const hosts = (): string[] => [...new Set(results().map(({ host = "" }) => host))].sort();

test("rows run on the machines of a fleet that have the labels", async () => {
  const script = ["--", "sh", "-c", "sleep 0.05; echo {n}"];
  const ended = await run("-H", "prod", "map", "--on", "zone=eu", "in.csv", ...script);
  expect(ended).toMatchObject({ status: 0, stderr: "" });
  expect(ended.stdout).toMatch(/^40 rows: 40 completed, in \S+, on 2 machines\nresults: in\.results\.csv\n$/);
  expect(hosts()).toEqual(["web-1", "web-2"]);
  expect(results().map(({ result_json: result }) => result)).toEqual(
    Array.from({ length: 40 }, (_, n) => `"${n}"`),
  );
});

test("the only fleet need not be named, and the summary as JSON names the machines", async () => {
  const ended = await run("map", "--on", "all", "--json", "in.csv", "--", "sleep", "0.05");
  expect(ended).toMatchObject({ status: 0, stderr: "" });
  expect(JSON.parse(ended.stdout)).toMatchObject({
    completed: 40,
    moved: 0,
    machines: { used: ["db-1", "web-1", "web-2"], unreached: [] },
  });
});

test.each([
  [
    ["map", "--on", "zone=mars", "in.csv", "--", "true"],
    1,
    "there is no machine in the fleet with zone=mars",
  ],
  [["map", "--on", "zone", "in.csv", "--", "true"], 2, "expected KEY=VALUE, not 'zone'"],
  [
    ["-H", "prod/web-1", "map", "--on", "all", "in.csv", "--", "true"],
    2,
    "'prod/web-1' is one machine; with --on, name the fleet alone: -H prod",
  ],
  [
    ["-H", "test", "map", "--on", "all", "in.csv", "--", "true"],
    2,
    "there is no fleet 'test'; known fleets: prod",
  ],
  [
    ["--url", "ws://127.0.0.1:1", "map", "--on", "all", "in.csv", "--", "true"],
    2,
    "--on is for the machines of a fleet; name it with -H FLEET, not with --url",
  ],
  [
    ["map", "--lost-after", "5s", "in.csv", "--", "true"],
    2,
    "--lost-after is for the machines of a fleet; add --on",
  ],
  [
    ["map", "--on", "all", "in.csv", "--", "no-such-program"],
    1,
    /none of 3 machines accepts the rows: db-1: cannot start no-such-program in .*; the same command with --resume continues the job/,
  ],
  [
    ["agents", "--on", "all", "--no-commands", "--model", "m", "--instruction", "x", "in.csv"],
    2,
    "--on and --no-commands exclude each other; choose one",
  ],
] as const)("%j: one line says what is wrong", async (args, status, reason) => {
  const ended = await run(...args);
  expect(ended).toMatchObject({ status, stdout: "" });
  expect(ended.stderr).toMatch(reason);
  expect(ended.stderr.trim().split("\n")).toHaveLength(1);
});

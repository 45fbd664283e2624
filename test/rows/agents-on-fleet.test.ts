import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parse } from "csv-parse/sync";
import { afterEach, beforeEach, expect, test } from "vitest";
import { type AgentCommands, responsesModel, runAgentJob } from "../../src/rows/index.ts";
import { FakeFleet } from "../fixtures/fake-fleet.ts";
import { answerWith, functionCall } from "../fixtures/scripted-model.mjs";
import { type Behaviour, calling, endpointOf, good } from "./agent-rows.ts";

let directory: string;
let fleet: FakeFleet;

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "agents-fleet-"));
  fleet = new FakeFleet();
});
afterEach(async () => {
  await fleet[Symbol.asyncDispose]();
  rmSync(directory, { recursive: true });
});

async function run(
  rows: number,
  behaviours: Readonly<Record<string, Behaviour>>,
  more: Partial<AgentCommands> = {},
) {
  await using endpoint = await endpointOf(behaviours);
  const input = join(directory, "in.csv");
  const output = join(directory, "out.csv");
  writeFileSync(input, `n\n${Array.from({ length: rows }, (_, n) => n).join("\n")}\n`);
  const model = responsesModel({ model: "scripted", baseUrl: endpoint.baseUrl, apiKey: "k", retries: 0 });
  const commands = { cwd: directory, login: false, sandbox: "none" as const, ...more };
  const summary = await runAgentJob({
    input,
    output,
    model,
    commands,
    fleet,
    lostAfterMs: 300,
    instruction: "Do {n}.",
  });
  return {
    summary,
    rows: parse(readFileSync(output), { columns: true }) as unknown as Record<string, string>[],
  };
}

test("each agent runs its commands on one machine, and machines share the agents", async () => {
  for (const id of ["a", "b"])
    fleet.add(id, { slots: 2, server: { environment: { PATH: process.env["PATH"] ?? "", MACHINE: id } } });
  const asking = calling(
    ["exec_command", { cmd: "sleep 0.2; echo on=$MACHINE" }],
    ["exec_command", { cmd: "echo on=$MACHINE" }],
  );
  const ids = ["row-1", "row-2", "row-3", "row-4", "row-5", "row-6"];
  const { summary, rows } = await run(6, Object.fromEntries(ids.map((id) => [id, asking])));
  expect(summary).toMatchObject({ completed: 6, moved: 0, places: 2 });
  expect(new Set(rows.map(({ host }) => host))).toEqual(new Set(["a", "b"]));
  for (const { host, result_json: result = "" } of rows)
    expect(result.match(/on=\w/g)).toEqual([`on=${host}`, `on=${host}`]);
  expect(fleet.watchers).toBe(0);
});

test("another agent starts over elsewhere when a machine is lost", async () => {
  const lost = fleet.add("lost", { slots: 2 });
  fleet.add("other", { slots: 1 });
  let turns = 0;
  const { summary, rows } = await run(1, {
    "row-1": (scene) => {
      turns += 1;
      if (turns === 1) {
        lost.cutOff();
        answerWith(scene.response, scene.itemId, [
          functionCall("call-1", "exec_command", { cmd: "echo hi" }),
        ]);
        return;
      }
      good({ ...scene, request: turns - 1 });
    },
  });
  expect(summary).toMatchObject({ completed: 1, failed: 0, moved: 1, end: "finished" });
  expect(rows).toMatchObject([{ host: "other", attempt_count: "2", status: "completed" }]);
});

/** A machine on which nothing can be confined. */
function addBare(id: string, slots: number): void {
  const programs = join(directory, "programs");
  mkdirSync(programs, { recursive: true });
  for (const name of ["sh", "true", "echo"]) symlinkSync(`/bin/${name}`, join(programs, name));
  fleet.add(id, { slots, server: { environment: { PATH: programs } } });
}

test("agents go where commands can be confined", async () => {
  addBare("bare", 8);
  fleet.add("able", { slots: 1 });
  const hello = calling(["exec_command", { cmd: "echo hello" }]);
  const { summary, rows } = await run(2, { "row-1": hello, "row-2": hello }, { sandbox: "read-only" });
  expect(summary).toMatchObject({ completed: 2, failed: 0, moved: 0, end: "finished" });
  expect(rows.map(({ host, attempt_count }) => [host, attempt_count])).toEqual([
    ["able", "1"],
    ["able", "1"],
  ]);
  for (const { result_json: result } of rows) expect(result).toContain("hello");
});

test("a job ends at once if commands can be confined nowhere, before anything was asked of the model", async () => {
  addBare("bare", 8);
  let turns = 0;
  const counting: Behaviour = (scene) => {
    turns += 1;
    good(scene);
  };
  await expect(run(1, { "row-1": counting }, { sandbox: "workspace-write" })).rejects.toThrow(
    /^the machine refuses the rows: bare: .*the sandbox is unavailable: bwrap was not found/,
  );
  expect(turns).toBe(0);
});

test("a machine without the directory gets no agents", async () => {
  fleet.add("able", { slots: 8 });
  await expect(run(1, { "row-1": good }, { cwd: join(directory, "nowhere") })).rejects.toThrow(
    /^the machine refuses the rows: able: .*nowhere/,
  );
});

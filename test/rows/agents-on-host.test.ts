import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { connect } from "../../src/client/host/connect.ts";
import type { Host } from "../../src/client/host/host.ts";
import { createServer } from "../../src/server/serve/server.ts";
import { SERVER_PATH } from "../conformance/server-process.ts";
import { answerWith } from "../fixtures/scripted-model.mjs";
import { calling, endpointOf, runAgents, type ToolCall } from "./agent-rows.ts";

const KEY = "sk-secret";

describe("the commands of agents", () => {
  const server = createServer({ environment: { PATH: SERVER_PATH, OPENAI_API_KEY: KEY } });
  let host: Host;
  let base: string;
  let cwd: string;
  beforeAll(async () => {
    host = await connect(server);
    // Not under /tmp, which `workspace-write` opens.
    base = mkdtempSync("/var/tmp/exec-server-agents-");
    cwd = mkdtempSync(join(base, "work-"));
  });
  afterAll(async () => {
    await host.close();
    await server.close();
    rmSync(base, { recursive: true, force: true });
  });

  const outputsFrom = async (...calls: readonly ToolCall[]): Promise<string> => {
    await using endpoint = await endpointOf({ "row-1": calling(...calls) });
    const { records } = await runAgents(endpoint, ["row-1"], { host, commands: { cwd, login: false } });
    expect(records["row-1"]).toMatchObject({ status: "completed" });
    return JSON.stringify(records["row-1"]?.result);
  };

  it("run on the host, and their output goes back to the model", async () => {
    const cmd = "read line; echo got $line";
    const told = await outputsFrom(
      ["exec_command", { cmd: "echo hello from $PWD" }],
      ["exec_command", { cmd, tty: true, yield_time_ms: 250 }],
      ["write_stdin", { session_id: 2, chars: "input\n", yield_time_ms: 10_000 }],
    );
    expect(told).toContain(`hello from ${cwd}`);
    expect(told).toContain("got input");
  });

  it("are confined to their directory unless the job says otherwise", async () => {
    const outside = join(base, "outside");
    const cmd = `touch inside; touch ${outside}`;
    expect(await outputsFrom(["exec_command", { cmd }])).toContain("Read-only file system");
    expect(existsSync(join(cwd, "inside"))).toBe(true);
    expect(existsSync(outside)).toBe(false);
    await using endpoint = await endpointOf({ "row-1": calling(["exec_command", { cmd }]) });
    await runAgents(endpoint, ["row-1"], { host, commands: { cwd, login: false, sandbox: "none" } });
    expect(existsSync(outside)).toBe(true);
  });

  it("do not see the key of the model", async () => {
    const told = await outputsFrom(["exec_command", { cmd: "env; echo end" }]);
    expect(told).toContain("end");
    expect(told).not.toContain(KEY);
    expect(told).not.toContain("OPENAI_API_KEY");
  });

  it("end with their agent, whether it is done, fails, or is given up", async () => {
    const sleeping = ["exec_command", { cmd: "sleep 1000", yield_time_ms: 250 }] as const;
    const interruption = new AbortController();
    await using endpoint = await endpointOf({
      done: calling(sleeping),
      fails: (scene) =>
        scene.request === 1 ? calling(sleeping)(scene) : answerWith(scene.response, "r", []),
      hangs: (scene) => {
        // The next turn is never answered.
        if (scene.request === 1) calling(sleeping)(scene);
      },
      "waits for a command": calling(["exec_command", { cmd: "sleep 1000", yield_time_ms: 30_000 }]),
    });
    let ended = 0;
    const { records } = await runAgents(endpoint, ["done", "fails", "hangs", "waits for a command"], {
      host,
      commands: { cwd, login: false },
      signal: interruption.signal,
      onRecord: () => {
        ended += 1;
        if (ended === 2) interruption.abort(new Error("given up"));
      },
    });
    expect(Object.fromEntries(Object.entries(records).map(([id, { status }]) => [id, status]))).toEqual({
      done: "completed",
      fails: "failed",
      hangs: "cancelled",
      "waits for a command": "cancelled",
    });
    const left = async () => (await host.processes()).filter(({ state }) => state === "running");
    await expect.poll(left, { timeout: 60_000 }).toEqual([]);
  });
});

it("a job ends when its host is gone", async () => {
  const server = createServer({ environment: { PATH: SERVER_PATH } });
  const host = await connect(server);
  await using endpoint = await endpointOf({
    "row-1": async (scene) => {
      if (scene.request === 1) await host.close();
      calling(["exec_command", { cmd: "true" }])(scene);
    },
  });
  const { summary, records } = await runAgents(endpoint, ["row-1", "row-2"], { host, maxConcurrency: 1 });
  await server.close();
  expect(records["row-1"]).toMatchObject({ status: "failed", error: "the connection to the host is lost" });
  expect(summary).toMatchObject({ end: "stopped", reason: "the connection to the host is lost" });
});

import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { expectLimit, limitedCli, start } from "./limited-server.ts";
import { builtCli } from "./server-under-test.ts";

let directory: string;
let config: string;

beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), "exec-server-config-"));
  config = join(directory, "limits.toml");
});

afterAll(() => rmSync(directory, { recursive: true, force: true }));

/** The command line of a server that does not start to serve. */
function run(...args: readonly string[]): { status: number | null; stdout: string; stderr: string } {
  const { status, stdout, stderr } = spawnSync(process.execPath, [builtCli, ...args], {
    encoding: "utf8",
    timeout: 60_000,
  });
  return { status, stdout, stderr };
}

it("limits come from the file, and flags win over it", async () => {
  writeFileSync(config, "[limits]\nmax_sessions = 5\nmax_processes_per_session = 1\n");
  await using server = await limitedCli(["--config", config, "--max-sessions", "1"]);
  const peer = await server.session();
  await peer.request("process/start", start("1", "exec sleep 600"));
  const second = peer.request("process/start", start("2", "exec sleep 600"));
  await expectLimit(second, "maxProcessesPerSession", 1);
  const other = await server.connect();
  await expectLimit(other.request("initialize", { clientName: "x" }), "maxSessions", 1);
});

it("a mistake in the file ends the server before it serves", () => {
  writeFileSync(config, "[limits]\n\nmax_session = 5\n");
  expect(run("--config", config)).toEqual({
    status: 1,
    stdout: "",
    stderr: `Error: ${config}:3: limits.max_session is not a known key\n`,
  });
});

it("so do a file that is not there, a flag that makes no sense and a root that is not there", () => {
  const missing = join(directory, "missing");
  expect(run("--config", missing)).toEqual({
    status: 1,
    stdout: "",
    stderr: `Error: failed to read the configuration ${missing}: No such file or directory (os error 2)\n`,
  });
  expect(run("--max-sessions", "none")).toEqual({
    status: 2,
    stdout: "",
    stderr:
      "error: invalid value 'none' for '--max-sessions <COUNT>': must be a whole number from 1 to 1000000\n\n" +
      "For more information, try '--help'.\n",
  });
  expect(run("--fs-roots", missing)).toEqual({
    status: 1,
    stdout: "",
    stderr: `Error: fsRoots: ${missing}: No such file or directory (os error 2)\n`,
  });
});

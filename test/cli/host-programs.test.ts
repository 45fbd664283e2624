import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { CommandLine } from "./command-line.ts";

let line: CommandLine;

/** Programs that need time before they serve, and one that never does. */
const HOSTS = `
[[environments]]
id = "silent"
program = "sh"
args = ["-c", "echo 'still there' >&2; sleep 60"]
initialize_timeout_sec = 3

[[environments]]
id = "slow"
program = "sh"
args = ["-c", "sleep 4; exec exec-server --listen stdio"]

[[environments]]
id = "asks"
program = "sh"
args = ["-c", "exec 3<>/dev/tty; sleep 5; exec exec-server --listen stdio"]
initialize_timeout_sec = 3

[[environments]]
id = "loop"
program = "exec-server"
args = ["-H", "loop", "bridge", "--stdio"]
initialize_timeout_sec = 80
`;

beforeAll(async () => {
  line = await CommandLine.start();
  mkdirSync(join(line.directory, ".config/exec-server"), { recursive: true });
  writeFileSync(join(line.directory, ".config/exec-server/hosts.toml"), HOSTS);
});
afterAll(() => line[Symbol.asyncDispose]());

test("A program that does not answer is given up with one line that has its last words", async () => {
  expect(await line.run("exec-server -H silent run -- true")).toEqual({
    status: 255,
    stdout: "",
    stderr: "exec-server: cannot reach 'silent': no answer from sh within 3s: still there\n",
  });
});

test("A terminal shows what it is waiting for", async () => {
  const [shown, asked] = await Promise.all([
    line.runInTerminal("exec-server -H slow run -- echo served"),
    line.runInTerminal("exec-server -H asks run -- echo served"),
  ]);
  expect(shown).toMatchObject({
    status: 0,
    stdout: "exec-server: waiting for 'slow'; Ctrl-C gives up\nserved\n",
  });
  // A program that asks for something on the terminal has as long as a person needs.
  expect({ status: asked.status, last: asked.stdout.split("\n").at(-2) }).toEqual({
    status: 0,
    last: "served",
  });
});

test("A host that leads to itself is an error", async () => {
  expect(await line.run("exec-server -H loop ps")).toEqual({
    status: 1,
    stdout: "",
    stderr:
      "exec-server: cannot reach 'loop': host 'loop' was not started: 8 programs have started one another to reach a server; does a host refer to itself?\n",
  });
});

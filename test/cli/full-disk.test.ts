import { afterAll, beforeAll, expect, test } from "vitest";
import { CommandLine } from "./command-line.ts";

let line: CommandLine;
beforeAll(async () => {
  line = await CommandLine.start();
});
afterAll(() => line[Symbol.asyncDispose]());

const FULL = "cannot write to stdout: No space left on device (os error 28)";

test.concurrent.each([
  ["--version", "Error: "],
  ["--listen stdio --help", "Error: "],
  ["help serve", "Error: "],
  ["doctor", "Error: "],
  ["sandbox explain --sandbox read-only", "Error: "],
  ["--listen ws://127.0.0.1:0", "Error: "],
  ["--help", "exec-server: "],
  ["help run", "exec-server: "],
  ["completion bash", "exec-server: "],
  ["status", "exec-server: "],
  ["ps --json", "exec-server: "],
  ["host list --json", "exec-server: "],
])("'%s' says in one line that its output cannot be written", async (args, start) => {
  expect(await line.run(`exec-server ${args} > /dev/full`)).toEqual({
    status: 1,
    stdout: "",
    stderr: `${start}${FULL}\n`,
  });
});

test.concurrent.each(["--version", "help serve", "--help", "status --json"])(
  "'%s' says nothing about a reader that has left",
  async (args) => {
    const { stdout, stderr } = await line.run(`exec 3> >(:); wait $!; exec-server ${args} >&3; echo $?`);
    expect({ stdout, stderr }).toEqual({ stdout: "141\n", stderr: "" });
  },
);

test.concurrent.each([
  ["--nonsense", 2],
  ["--debug ps", 0],
  ["run", 2],
  ["cp nothing :nowhere", 1],
])("'%s' ends with its own status although nobody can read what is wrong", async (args, status) => {
  expect(await line.run(`exec-server ${args} 2> /dev/full`)).toMatchObject({ status });
});

test.concurrent("A server serves although its log cannot be written", async () => {
  const initialize = JSON.stringify({ id: 1, method: "initialize", params: { clientName: "test" } });
  const { status, stdout } = await line.run("exec-server --listen stdio --log-level debug 2> /dev/full", {
    input: `${initialize}\n${JSON.stringify({ method: "initialized" })}\n`,
  });
  expect({ status, answer: JSON.parse(stdout.split("\n")[0]!) as unknown }).toMatchObject({
    status: 0,
    answer: { id: 1, result: {} },
  });
});

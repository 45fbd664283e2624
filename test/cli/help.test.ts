import { afterAll, beforeAll, expect, test } from "vitest";
import { COMMANDS } from "../../src/cli/client/command-table.ts";
import { CommandLine } from "./command-line.ts";

/** Commands that are not for people. */
const HIDDEN = new Set(["complete"]);

let line: CommandLine;
beforeAll(async () => {
  line = await CommandLine.start();
});
afterAll(async () => line?.[Symbol.asyncDispose]());

test.concurrent("the overview has every command in one line that fits a terminal", async () => {
  const { status, stdout, stderr } = await line.run("exec-server --help");
  expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
  for (const name of Object.keys(COMMANDS).filter((name) => !HIDDEN.has(name)))
    expect(stdout, name).toMatch(new RegExp(`^  ${name} +\\S`, "m"));
  expect(stdout.split("\n").filter((text) => text.length > 80)).toEqual([]);
  expect(await line.run("exec-server help")).toEqual({ status, stdout, stderr });
});

test.concurrent.each(Object.keys(COMMANDS).filter((name) => !HIDDEN.has(name)))(
  "the help of %s has examples and fits a terminal",
  async (name) => {
    const { status, stdout, stderr } = await line.run(`exec-server ${name} --help`);
    expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
    expect(stdout).toMatch(/^Usage: exec-server/);
    expect(stdout).toMatch(/^Examples?:\n {2}exec-server /m);
    expect(stdout.split("\n").filter((text) => text.length > 80)).toEqual([]);
    expect((await line.run(`exec-server help ${name}`)).stdout).toBe(stdout);
  },
);

test.concurrent.each(["serve", "doctor", "sandbox", "relay"])(
  "the help of %s has no line that a terminal would break",
  async (name) => {
    const { stdout } = await line.run(`exec-server ${name} --help`);
    expect(stdout.split("\n").filter((text) => text.length > 80)).toEqual([]);
    const narrow = await line.runInTerminal(`exec-server ${name} --help`, 60);
    expect(narrow.stdout.split("\n").filter((text) => text.length > 60 && text.trim().includes(" "))).toEqual(
      [],
    );
  },
);

test.concurrent("the server's help is its own", async () => {
  const { stdout } = await line.run("exec-server serve --help");
  expect(stdout).toContain("--ws-token-file");
  expect((await line.run("exec-server help serve")).stdout).toBe(stdout);
  expect((await line.run("exec-server help doctor")).stdout).toBe(
    (await line.run("exec-server doctor -h")).stdout,
  );
});

test.concurrent.each([
  ["rnu", "unknown command 'rnu'; did you mean run?"],
  ["srve", "unknown command 'srve'; did you mean serve?"],
  ["frobnicate", "unknown command 'frobnicate'; see 'exec-server --help'"],
  ["help frobnicate", "unknown command 'frobnicate'; see 'exec-server --help'"],
  ["run", "missing required argument 'cmd'; see 'exec-server run --help'"],
  ["run --tiemout 1 true", "unknown option '--tiemout'; did you mean --timeout?"],
  ["ls --lnog", "unknown option '--lnog'; did you mean --long?"],
  ["--debug", "a command is missing; see 'exec-server --help'"],
  ["-H x serve", "'serve' runs on this machine; it must be the first word, without -H or --url"],
  ["$'\\e[31mx'", "unknown command '\\x1b[31mx'; see 'exec-server --help'"],
])("exec-server %s is refused: %s", async (args, message) => {
  expect(await line.run(`exec-server ${args}`)).toEqual({
    status: 2,
    stdout: "",
    stderr: `exec-server: ${message}\n`,
  });
});

test.concurrent("help ends quietly with its reader", async () => {
  expect(await line.run("exec-server --help | true; echo ${PIPESTATUS[0]}")).toEqual({
    status: 0,
    stdout: expect.stringMatching(/^(?:0|141)\n$/),
    stderr: "",
  });
  expect(await line.run("exec-server --help > /dev/full")).toEqual({
    status: 1,
    stdout: "",
    stderr: "exec-server: cannot write to stdout: No space left on device (os error 28)\n",
  });
});

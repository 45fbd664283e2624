import { afterAll, beforeAll, expect, test } from "vitest";
import { CommandLine } from "./command-line.ts";
import { Tmux, type TmuxTerminal } from "./tmux.ts";

let line: CommandLine;
let tmux: Tmux;
beforeAll(async () => {
  line = await CommandLine.start();
  tmux = await Tmux.start();
  await line.run(
    "exec-server run -d --name nightly-build -- true && exec-server host add farm ws://127.0.0.1:1",
  );
});
afterAll(async () => {
  await tmux?.[Symbol.asyncDispose]();
  await line?.[Symbol.asyncDispose]();
});

/** Each with what loads the script as its user would. */
const SHELLS = {
  bash: { command: ["bash", "--norc", "--noprofile", "-i"], load: "source <(exec-server completion bash)" },
  zsh: {
    command: ["zsh", "-f", "-i"],
    load: "autoload -Uz compinit; compinit -D; source <(exec-server completion zsh)",
  },
  fish: { command: ["fish", "--no-config", "-i"], load: "exec-server completion fish | source" },
} as const;

/** Types a line, presses Tab and waits for what the shell makes of it; then clears the line. */
async function completes(terminal: TmuxTerminal, typed: string, expected: string): Promise<void> {
  await terminal.type(typed);
  await terminal.press("Tab");
  await terminal.shows(expected);
  await terminal.press("C-u");
  await terminal.hides(expected);
}

test.concurrent.each(Object.entries(SHELLS))(
  "%s completes what is typed",
  async (_name, { command, load }) => {
    const { EXEC_SERVER_URL = "", PATH = "", HOME = "" } = line.environment;
    const terminal = await tmux.open(["env", `PATH=${PATH}`, `HOME=${HOME}`, ...command], {
      env: { EXEC_SERVER_URL, LANG: "C.UTF-8", PS1: "$ " },
      cwd: line.directory,
      columns: 100,
      rows: 50,
    });
    await terminal.enter(`${load}; clear; echo loa""ded`);
    await terminal.shows(/^loaded$/m);
    await completes(terminal, "exec-server atta", "exec-server attach");
    await completes(terminal, "exec-server logs --fol", "exec-server logs --follow");
    await completes(terminal, "exec-server wait nigh", "exec-server wait nightly-build");
    await completes(terminal, "exec-server run --sandbox read", "exec-server run --sandbox read-only");
    await completes(terminal, "exec-server run --sandbox=work", "exec-server run --sandbox=workspace-write");
    await completes(terminal, "exec-server kill --signal HU", "exec-server kill --signal HUP");
    await completes(terminal, "exec-server -H far", "exec-server -H farm");
    await completes(terminal, "exec-server cat far", "exec-server cat farm:");
    await completes(terminal, "exec-server completion fi", "exec-server completion fish");
    // Several candidates are listed.
    await terminal.type("exec-server host ");
    await terminal.press("Tab", "Tab");
    await terminal.shows("remove");
  },
);

/** What the shells ask. */
const ask = async (words: string, env: Record<string, string | undefined> = {}): Promise<string[]> => {
  const { status, stdout, stderr } = await line.run(`exec-server complete -- ${words}`, { env });
  expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
  return stdout
    .trimEnd()
    .split("\n")
    .map((text) => text.split("\t")[0]!);
};

test("commands, options and values are completed", async () => {
  expect(await ask("''")).toEqual(expect.arrayContaining(["run", "ps", "serve", "completion"]));
  expect(await ask("help lo")).toEqual(["logs"]);
  expect(await ask("--host ''")).toEqual(["local", "farm"]);
  expect(await ask("host remove ''")).toEqual(["local", "farm"]);
  expect(await ask("run --sandbox ''")).toEqual(["read-only", "workspace-write"]);
  expect(await ask("fetch --output ''")).toEqual([":files"]);
  // Words of the command that is run are its own.
  expect(await ask("run ls --")).toEqual([":files"]);
  expect(await ask("-H farm kill --sig")).toEqual(["--signal"]);
});

test("names come from the server that the line names, and nothing fails or starts without it", async () => {
  expect(await ask("logs ''")).toEqual(["nightly-build"]);
  expect(await ask(`--url ${line.url} logs ''`, { EXEC_SERVER_URL: undefined })).toEqual(["nightly-build"]);
  expect(await ask("--url ws://127.0.0.1:1 logs ''")).toEqual([""]);
  expect(await ask("-H farm logs ''")).toEqual([""]);
  expect(await ask("-H nowhere logs ''")).toEqual([""]);
  const runtime = `${line.directory}/runtime`;
  await line.run(`mkdir -m 700 ${runtime}`);
  expect(await ask("logs ''", { EXEC_SERVER_URL: undefined, XDG_RUNTIME_DIR: runtime })).toEqual([""]);
  expect((await line.run(`ls -A ${runtime}`)).stdout).toBe("");
});

test("a shell without a script is refused", async () => {
  const { status, stderr } = await line.run("exec-server completion tcsh");
  expect(status).toBe(2);
  expect(stderr).toMatch(/^exec-server: .*'tcsh' is invalid.*bash, zsh, fish[^\n]*\n$/);
});

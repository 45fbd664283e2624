import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { afterAll, beforeAll, expect, test } from "vitest";
import { CommandLine } from "./command-line.ts";
import { Tmux, type TmuxTerminal } from "./tmux.ts";

let line: CommandLine;
let tmux: Tmux;
beforeAll(async () => {
  line = await CommandLine.start();
  tmux = await Tmux.start();
  await line.run(
    "exec-server run -d --name nightly-build -- true && exec-server host add farm ws://127.0.0.1:1 &&" +
      ` exec-server host add near ${line.url} && exec-server host add distant -- sh -c 'touch asked; sleep 60' &&` +
      " mkdir -p tree/@scope/inner tree/.hidden && touch tree/alpha.txt tree/größe tree/-rf 'tree/a b' 'tree/$(id)'",
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

/** How long a person waits before pressing Tab again: on a busy machine the server may be too late. */
const PATIENCE_MS = 4_000;

async function pressTab(terminal: TmuxTerminal, expected: string): Promise<void> {
  for (let tries = 10; tries > 0; tries -= 1) {
    await terminal.press("Tab");
    const shown = terminal.shows(expected, tries === 1 ? undefined : PATIENCE_MS);
    if (tries === 1 || (await shown.catch(() => undefined)) !== undefined) return void (await shown);
  }
}

/**
 * Clears the screen, and waits for the prompt on it: what is typed while a command runs is echoed before the prompt, so
 * that the line wraps where no test expects it.
 */
async function clear(terminal: TmuxTerminal, before = ""): Promise<void> {
  await terminal.enter(`${before}clear; echo cleared`);
  await terminal.shows(/^cleared\n.*\S/m);
}

/** Types a line, presses Tab and waits for what the shell makes of it; then clears the line. */
async function completes(terminal: TmuxTerminal, typed: string, expected: string): Promise<void> {
  await terminal.type(typed);
  await pressTab(terminal, expected);
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
    await clear(terminal, `${load}; `);
    await completes(terminal, "exec-server atta", "exec-server attach");
    await completes(terminal, "exec-server logs --fol", "exec-server logs --follow");
    await completes(terminal, "exec-server wait nigh", "exec-server wait nightly-build");
    await completes(terminal, "exec-server run --sandbox read", "exec-server run --sandbox read-only");
    await completes(terminal, "exec-server run --sandbox=work", "exec-server run --sandbox=workspace-write");
    await completes(terminal, "exec-server kill --signal HU", "exec-server kill --signal HUP");
    await completes(terminal, "exec-server -H far", "exec-server -H farm");
    await completes(terminal, "exec-server cat far", "exec-server cat farm:");
    await completes(terminal, "exec-server completion fi", "exec-server completion fish");
    const tree = `${line.directory}/tree`;
    await completes(terminal, `exec-server cat ${tree}/al`, `exec-server cat ${tree}/alpha.txt`);
    await completes(terminal, `exec-server cp x :${tree}/gr`, `exec-server cp x :${tree}/größe`);
    await completes(terminal, `exec-server ls near:${tree}/al`, `exec-server ls near:${tree}/alpha.txt`);
    await completes(terminal, "exec-server run -- sha256s", "exec-server run -- sha256sum");
    await completes(terminal, "exec-server run --cwd / sha256s", "exec-server run --cwd / sha256sum");
    // Names without a description have nothing behind them.
    await terminal.type("exec-server -H ");
    await terminal.press("Tab", "Tab");
    await terminal.shows(/\bdistant\b[^]*\bnear\b/);
    expect(await terminal.text()).not.toMatch(/ -- *$/m);
    await terminal.press("C-c");
    await clear(terminal);
    // Nothing follows a directory, so that its contents can.
    await terminal.type(`exec-server cp :${tree}/@sc`);
    await pressTab(terminal, `${tree}/@scope/`);
    await completes(terminal, "in", `exec-server cp :${tree}/@scope/inner/`);
    // Several candidates are listed.
    await terminal.type("exec-server host ");
    await terminal.press("Tab", "Tab");
    await terminal.shows("remove");
  },
  // Each of twenty lines starts the program.
  300_000,
);

/** What the shells ask. */
const ask = async (words: string, env: Record<string, string | undefined> = {}): Promise<string[]> => {
  const { status, stdout, stderr } = await line.run(`exec-server complete -- ${words}`, { env });
  expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
  return stdout
    .trimEnd()
    .split("\n")
    .map((text) => text.split("\t")[0]!)
    .sort();
};

/** On a busy machine the server may be too late. */
const asked = (words: string, env?: Record<string, string | undefined>) =>
  expect.poll(() => ask(words, env), { timeout: 60_000, interval: 100 });

test("commands, options and values are completed", async () => {
  expect(await ask("''")).toEqual(expect.arrayContaining(["run", "ps", "serve", "completion"]));
  expect(await ask("help lo")).toEqual(["logs"]);
  expect(await ask("--host ''")).toEqual(["distant", "farm", "local", "near"]);
  expect(await ask("host remove ''")).toEqual(["distant", "farm", "local", "near"]);
  expect(await ask("run --sandbox ''")).toEqual(["read-only", "workspace-write"]);
  expect(await ask("agent --sandbox ''")).toEqual(["none", "read-only", "workspace-write"]);
  expect(await ask("agent --max-to")).toEqual(["--max-tokens-total", "--max-tool-calls"]);
  expect(await ask("fetch --output ''")).toEqual([":files"]);
  expect(await ask("token new x --preset s")).toEqual(["sandboxed"]);
  expect(await ask("token list ''")).toEqual([":files"]);
  // Words of the command that is run are its own, and its name is that of a program.
  expect(await ask("run ls --")).toEqual([":files"]);
  for (const words of ["run -- sha256s", "run sha256s", "map x.csv -- sha256s", "record x.cast -- sha256s"])
    expect(await ask(words), words).toEqual(["sha256sum"]);
  expect(await ask("run -- ./x")).toEqual([":files"]);
  expect(await ask("map sha256s")).toEqual([":files"]);
  expect(await ask("run --time")).toEqual(["--timeout"]);
  expect(await ask("-H farm kill --sig")).toEqual(["--signal"]);
});

test("names come from the server that the line names, and nothing fails or starts without it", async () => {
  await asked("logs ''").toEqual(["nightly-build"]);
  await asked(`--url ${line.url} logs ''`, { EXEC_SERVER_URL: undefined }).toEqual(["nightly-build"]);
  await asked("--url ws://127.0.0.1:1 logs ''").toEqual([""]);
  await asked("-H farm logs ''").toEqual([""]);
  await asked("-H nowhere logs ''").toEqual([""]);
  const runtime = `${line.directory}/runtime`;
  await line.run(`mkdir -m 700 ${runtime}`);
  await asked("logs ''", { EXEC_SERVER_URL: undefined, XDG_RUNTIME_DIR: runtime }).toEqual([""]);
  expect((await line.run(`ls -A ${runtime}`)).stdout).toBe("");
});

test("paths are completed on the server that they name, if their names are plain words", async () => {
  const tree = `${line.directory}/tree`;
  const plain = [`:${tree}/-rf`, `:${tree}/@scope/`, `:${tree}/alpha.txt`, `:${tree}/größe`];
  await asked(`cp :${tree}/`).toEqual(plain.sort());
  await asked(`cp :${tree}/.h`).toEqual([`:${tree}/.hidden/`]);
  await asked(`cat near:${tree}/al`, { EXEC_SERVER_URL: undefined }).toEqual([`near:${tree}/alpha.txt`]);
  await asked(`-H near ls ${tree}/al`, { EXEC_SERVER_URL: undefined }).toEqual([`${tree}/alpha.txt`]);
  await asked(`cp local:${tree}/al`).toEqual([`local:${tree}/alpha.txt`]);
  await asked("cp farm:/et").toEqual([""]);
  await asked(`cp :${tree}/nowhere/x`).toEqual([""]);
  // A plain path of cp is on this machine, and so is one of ls on the own server.
  await asked("cp al").toEqual([":files"]);
  await asked("ls al", { EXEC_SERVER_URL: undefined }).toEqual([":files"]);
});

test("a path on this machine needs no server, and one on a host of ssh asks nobody", async () => {
  const runtime = `${line.directory}/empty-runtime`;
  await line.run(`mkdir -m 700 ${runtime}`);
  const env = { EXEC_SERVER_URL: undefined, XDG_RUNTIME_DIR: runtime };
  await asked(`cat :${line.directory}/tree/al`, env).toEqual([`:${line.directory}/tree/alpha.txt`]);
  expect((await line.run(`ls -A ${runtime}`)).stdout).toBe("");
  await asked("cat distant:/et").toEqual([""]);
  expect((await line.run("ls asked")).status).not.toBe(0);
});

test("a server that does not answer is given up within a second", async () => {
  const silent = createServer().listen(0, "127.0.0.1");
  await once(silent, "listening");
  const { port } = silent.address() as AddressInfo;
  const connectedMs = new Promise<number>((resolve) =>
    silent.once("connection", (socket) => {
      const began = performance.now();
      socket.on("error", () => {}).once("close", () => resolve(performance.now() - began));
      socket.resume();
    }),
  );
  await asked(`cat --url ws://127.0.0.1:${port} /et`).toEqual([""]);
  // A connection has 10 s otherwise.
  expect(await connectedMs).toBeLessThan(8_000);
  silent.close();
});

test("a shell without a script is refused", async () => {
  const { status, stderr } = await line.run("exec-server completion tcsh");
  expect(status).toBe(2);
  expect(stderr).toMatch(/^exec-server: .*'tcsh' is invalid.*bash, zsh, fish[^\n]*\n$/);
});

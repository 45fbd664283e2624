import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Relay } from "../client/relay.ts";
import { builtCli, type ServerUnderTest, startServer } from "../fault/server-under-test.ts";
import { runCommand, startCommand } from "./command.ts";
import { type TerminalOptions, Tmux, type TmuxTerminal } from "./tmux.ts";

const LOST = "connection lost, reconnecting";

let server: ServerUnderTest;
beforeAll(async () => {
  server = await startServer();
});
afterAll(async () => {
  await server.kill("SIGTERM");
});

/** Leaves a process on the server. */
async function leave(name: string, flags: readonly string[], ...command: string[]): Promise<void> {
  const args = ["--url", server.url, "run", "-d", ...flags, "--name", name, "--", ...command];
  const { status, stderr } = await runCommand(args, { env: { TERM: "screen-256color" } });
  expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
}

function attach(
  tmux: Tmux,
  args: readonly string[],
  options?: TerminalOptions,
  url = server.url,
): Promise<TmuxTerminal> {
  return tmux.open([process.execPath, builtCli, "--url", url, "attach", ...args], options);
}

/** A shell that everybody recognizes by its prompt. */
const SHELL = ["env", "PS1=kept> ", "ENV=", "sh", "-i"];

describe.concurrent("attach", () => {
  test("shows one process in three terminals; the window of the last who typed counts", async () => {
    await using tmux = await Tmux.start();
    await leave("three", ["-t"], ...SHELL);
    const small = await attach(tmux, ["three"], { columns: 80, rows: 24 });
    const large = await attach(tmux, ["three"], { columns: 100, rows: 30 });
    const onlooker = await attach(tmux, ["--read-only", "three"], { columns: 100, rows: 30 });
    const all = [small, large, onlooker];
    await Promise.all(all.map((terminal) => terminal.shows("kept>")));
    await small.enter("stty size");
    await Promise.all(all.map((terminal) => terminal.shows("24 80")));
    await large.enter("stty size");
    await Promise.all(all.map((terminal) => terminal.shows("30 100")));
    // Another window changes, but without typing.
    await small.resize(70, 20);
    await large.enter("echo again; stty size");
    await Promise.all(all.map((terminal) => terminal.shows(/^again\n30 100$/m)));
    await small.hasSize(70, 20);
    await Promise.all(all.map((terminal) => terminal.shows("size is 20 70")));
    await onlooker.enter("echo nobody reads this");
    await large.enter("echo everybody reads this");
    await Promise.all(all.map((terminal) => terminal.shows(/^everybody reads this$/m)));
    for (const terminal of all) expect(await terminal.text()).not.toContain("nobody");
    await small.press("Enter", "~", ".");
    expect(await small.status()).toBe(0);
    await small.shows(/detached from three$/);
    await large.enter("exit 5");
    expect(await large.status()).toBe(5);
    expect(await onlooker.status()).toBe(5);
  });

  test("paints the screen of a program that has run before, and continues", async () => {
    await using tmux = await Tmux.start();
    const vim = [
      "vim",
      "-n",
      "-i",
      "NONE",
      "-u",
      "NONE",
      "--cmd",
      "set number mouse=a shortmess+=F laststatus=2",
    ];
    await leave("editor", ["-t"], ...vim);
    const first = await attach(tmux, ["editor"]);
    const reference = await tmux.open(vim);
    const typed = ["i", "o", "n", "e", "Enter", "t", "w", "o", "Escape"];
    for (const terminal of [first, reference]) {
      await terminal.shows("[No Name]");
      await terminal.press(...typed);
    }
    await first.looksLike(reference);
    const second = await attach(tmux, ["editor"]);
    await second.shows("two");
    await second.looksLike(reference);
    for (const terminal of [second, reference]) await terminal.press("o", "t", "h", "r", "e", "e", "Escape");
    await reference.shows("three");
    for (const terminal of [first, second]) await terminal.looksLike(reference);
    await first.press("Enter", "~", ".");
    expect(await first.status()).toBe(0);
    await first.hasModes(/alternate=0 cursor-keys=0 keypad=0 .* mouse=0/);
    await second.press(":", "c", "q", "Enter");
    expect(await second.status()).toBe(1);
  });

  test("leaves no empty lines behind, neither above the screen nor below", async () => {
    await using tmux = await Tmux.start();
    await leave("tidy", ["-t"], ...SHELL);
    const command = `${process.execPath} ${builtCli} --url ${server.url} attach tidy`;
    const terminal = await tmux.open(["sh", "-c", `echo before; ${command}; echo after`]);
    await terminal.shows("kept>");
    await terminal.enter("echo during");
    await terminal.shows(/^during$/m);
    await terminal.press("Enter");
    await terminal.shows(/^kept>\nkept>$/m);
    await terminal.press("~", ".");
    await terminal.shows("after");
    expect(await terminal.history()).toBe(
      "before\nkept> echo during\nduring\nkept>\nkept>\ndetached from tidy\nafter",
    );
  });

  test("shows the right screen of a program that has written more than is kept", async () => {
    await using tmux = await Tmux.start();
    const script =
      "printf '\\033[?1049h\\033[?25l'; seq 1 400000; printf '\\033[2J\\033[3;4H\\033[33mpainted\\033[m'; read line";
    await leave("loud", ["-t"], "sh", "-c", script);
    const reference = await tmux.open(["sh", "-c", script]);
    const attached = await attach(tmux, ["loud"]);
    await Promise.all([reference, attached].map((terminal) => terminal.shows("painted")));
    const late = await attach(tmux, ["loud"]);
    await late.shows("painted");
    for (const terminal of [attached, late]) await terminal.looksLike(reference);
    await late.press("Enter");
    for (const terminal of [attached, late]) expect(await terminal.status()).toBe(0);
  });

  test("survives a cut connection without a wrong screen", async () => {
    await using tmux = await Tmux.start();
    await using relay = await Relay.open(server.port);
    await leave("cut", ["-t"], ...SHELL);
    const local = await attach(tmux, ["cut"], {}, relay.url);
    const second = await attach(tmux, ["cut"]);
    await Promise.all([local, second].map((terminal) => terminal.shows("kept>")));
    relay.refuses = true;
    relay.cut();
    await local.shows(LOST);
    await second.enter("seq 1 300000; echo done");
    await second.shows(/^done$/m);
    await local.type("echo typed blindly");
    relay.refuses = false;
    await local.hides(LOST);
    await second.shows("typed blindly");
    await local.looksLike(second);
    await local.press("Enter");
    await second.shows(/^typed blindly$/m);
    await second.enter("exit");
    expect(await local.status()).toBe(0);
  });

  test("passes Ctrl-C to the program", async () => {
    await using tmux = await Tmux.start();
    await leave("stop", ["-t"], "sh", "-c", "trap 'exit 4' INT; echo ready; while :; do sleep 0.05; done");
    const terminal = await attach(tmux, ["stop"]);
    await terminal.shows("ready");
    await terminal.press("C-c");
    expect(await terminal.status()).toBe(4);
  });

  test("shows a process on pipes from its beginning, and sends it lines", async () => {
    await using tmux = await Tmux.start();
    const script = "echo beginning; read one; echo got $one; read two; echo got $two; echo bad >&2; exit 6";
    await leave("pipes", ["-i"], "sh", "-c", script);
    const terminal = await attach(tmux, ["pipes"]);
    await terminal.shows("beginning");
    await terminal.enter("first");
    await terminal.shows("got first");
    await terminal.enter("~.");
    expect(await terminal.status()).toBe(0);
    await terminal.shows("detached from pipes");
    const piped = await runCommand(["--url", server.url, "attach", "pipes"], { input: "second\n" });
    expect(piped).toMatchObject({ status: 6, stdout: "beginning\ngot first\ngot second\n", stderr: "bad\n" });
  });

  test("does not end the input of a terminal when its own stdin ends", async () => {
    await using tmux = await Tmux.start();
    await leave("stays", ["-t"], ...SHELL);
    const attached = await attach(tmux, ["stays"]);
    await attached.shows("kept>");
    const piped = startCommand(["--url", server.url, "attach", "stays"], { input: "echo $((40 + 2))\r" });
    await attached.shows(/^42\nkept>$/m);
    await attached.enter("exit 8");
    expect(await attached.status()).toBe(8);
    expect(await piped.ended()).toMatchObject({ status: 8, stdout: expect.stringContaining("42") });
  });

  test("says where output of a process on pipes is missing", async () => {
    await leave("evicted", [], "sh", "-c", "seq 1 400000; exit 2");
    const waited = await runCommand(["--url", server.url, "wait", "evicted"]);
    expect(waited.status).toBe(2);
    const { status, stdout, stderr } = await runCommand(["--url", server.url, "attach", "evicted"]);
    expect({ status, stderr }).toEqual({
      status: 2,
      stderr: "exec-server: some output is missing here: the server no longer has it\n",
    });
    expect(stdout).toMatch(/399999\n400000\n$/);
  });

  test("to a process that has ended shows its last screen, and ends with its status", async () => {
    await using tmux = await Tmux.start();
    await leave("past", ["-t"], "sh", "-c", "echo goodbye; exit 3");
    const terminal = await attach(tmux, ["past"]);
    expect(await terminal.status()).toBe(3);
    await terminal.shows("goodbye");
  });

  test("to a process that is not there says so in one line", async () => {
    const ended = await runCommand(["--url", server.url, "attach", "nothing"]);
    expect(ended).toMatchObject({
      status: 255,
      stdout: "",
      stderr: "exec-server: there is no kept process 'nothing'; see 'exec-server ps'\n",
    });
  });
});

import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Relay } from "../client/relay.ts";
import { builtCli, type ServerUnderTest, startServer } from "../fault/server-under-test.ts";
import { Tmux, type TmuxTerminal } from "./tmux.ts";

const LOST = "connection lost, reconnecting";

let server: ServerUnderTest;
beforeAll(async () => {
  server = await startServer();
});
afterAll(async () => {
  await server.kill("SIGTERM");
});

/** A command of the client through a relay that can cut it off. */
async function through(relay: Relay, tmux: Tmux, ...args: string[]): Promise<TmuxTerminal> {
  return tmux.open([process.execPath, builtCli, "--url", relay.url, ...args]);
}

async function shellThrough(relay: Relay, tmux: Tmux): Promise<TmuxTerminal> {
  const terminal = await through(relay, tmux, "shell", "--env", "PS1=remote> ", "--env", "PROMPT_COMMAND=");
  await terminal.shows(/[#$>]$/);
  // A profile may have set another prompt.
  await terminal.enter("PS1='remote> '; clear");
  await terminal.shows(/^remote>$/);
  return terminal;
}

const ROWS = 24;
/** Whether the screen has a row for each process, or as many as there is room for. */
function showsAllOfTop(screen: string): boolean {
  const rows = screen.split("\n");
  const header = rows.findIndex((row) => row.includes("PID USER"));
  const processes = Number(/Tasks: *(\d+) total/.exec(screen)?.[1]);
  return header > 0 && rows.length > header + Math.min(processes, ROWS - header - 1);
}

async function lose(relay: Relay, ...terminals: TmuxTerminal[]): Promise<void> {
  relay.refuses = true;
  relay.cut();
  await Promise.all(terminals.map((terminal) => terminal.shows(LOST)));
}

async function come(relay: Relay, ...terminals: TmuxTerminal[]): Promise<void> {
  relay.refuses = false;
  await Promise.all(terminals.map((terminal) => terminal.hides(LOST)));
}

describe.concurrent("a shell", () => {
  test("has the size of the window, Ctrl-C, Ctrl-Z and the status of its end", async () => {
    await using tmux = await Tmux.start();
    await using relay = await Relay.open(server.port);
    const terminal = await shellThrough(relay, tmux);
    await terminal.enter("stty size; echo TERM=$TERM");
    await terminal.shows(/^24 80\nTERM=screen-256color$/m);
    await terminal.resize(100, 30);
    await terminal.hasSize(100, 30);
    await terminal.enter("sh -c 'echo running; sleep 1000; echo stayed'");
    await terminal.shows(/^running$/m);
    await terminal.press("C-z");
    await terminal.shows("Stopped");
    await terminal.enter("fg");
    await terminal.shows(/^sh -c/m);
    await terminal.press("C-c");
    await terminal.shows(/\^C\nremote>$/);
    await terminal.enter("echo status $?");
    await terminal.shows("status 130");
    // What is left in the background does not hold it.
    await terminal.enter("sleep 20 & disown; exit 7");
    expect(await terminal.status()).toBe(7);
  });

  test("runs vim as if it ran here, also after a cut connection", async () => {
    await using tmux = await Tmux.start();
    await using relay = await Relay.open(server.port);
    const file = join(tmux.home, "notes.c");
    await writeFile(file, Array.from({ length: 60 }, (_, line) => `int line_${line} = ${line};`).join("\n"));
    const set = "set number mouse=a ruler laststatus=2 shortmess+=F";
    const vim = `cd ${tmux.home}; vim -n -i NONE -u NONE --cmd '${set}' -c 'syntax on' notes.c`;
    const local = await tmux.open(["sh", "-c", vim]);
    const remote = await shellThrough(relay, tmux);
    await remote.enter(vim);
    await Promise.all([local, remote].map((terminal) => terminal.shows("line_21")));
    const both = async (...keys: string[]) => {
      for (const terminal of [local, remote]) await terminal.press(...keys);
    };
    await both("1", "0", "G", "o", "t", "y", "p", "e", "d", "Escape");
    await remote.looksLike(local);
    await lose(relay, remote);
    // What is typed meanwhile is not lost.
    await both("3", "j", "O", "b", "l", "i", "n", "d", "Escape", "C-f");
    await local.shows("line_30");
    await come(relay, remote);
    await remote.looksLike(local);
    await both(":", "q", "!", "Enter");
    await remote.shows(/^remote>$/m);
    await remote.enter("exit");
    expect(await remote.status()).toBe(0);
  });

  test("runs top, whose screen is the same after a cut connection", async () => {
    await using tmux = await Tmux.start();
    await using relay = await Relay.open(server.port);
    const terminal = await shellThrough(relay, tmux);
    // It draws once and then waits, so that the screen can be compared.
    await terminal.enter("top -d 1000");
    let screen = "";
    await terminal.until(
      async () => showsAllOfTop((screen = await terminal.text())),
      () => `all rows of top:\n${screen}`,
    );
    let before = await terminal.state();
    await terminal.until(
      async () => {
        const earlier = before;
        before = await terminal.state();
        return before.rows.join() === earlier.rows.join();
      },
      () => "a screen that does not change",
    );
    await lose(relay, terminal);
    await come(relay, terminal);
    // It is painted in pieces.
    await terminal.looksLike({ state: async () => before });
    await terminal.press("q");
    await terminal.shows(/remote>$/);
  });

  test("shows the right screen after more output than the server keeps", async () => {
    await using tmux = await Tmux.start();
    await using relay = await Relay.open(server.port);
    const terminal = await shellThrough(relay, tmux);
    const go = join(tmux.home, "go");
    const drawn = "printf '\\033[2J\\033[5;5H\\033[32mgreen\\033[m\\033[7;1H'";
    const script =
      `printf '\\033[?1049h\\033[?1h\\033[?2004h'; echo waiting; until [ -e ${go} ]; do sleep 0.05; done; ` +
      `seq 1 400000; ${drawn}; touch ${go}.done; read line`;
    await writeFile(join(tmux.home, "draw.sh"), script);
    const reference = await tmux.open(["bash", join(tmux.home, "draw.sh")]);
    await terminal.enter(`bash ${join(tmux.home, "draw.sh")}`);
    await terminal.shows("waiting");
    await reference.shows("waiting");
    await lose(relay, terminal);
    await writeFile(go, "");
    await reference.shows("green");
    await come(relay, terminal);
    await terminal.shows("green");
    await terminal.looksLike(reference);
  });

  test("is left with ~. while the connection is lost", async () => {
    await using tmux = await Tmux.start();
    await using relay = await Relay.open(server.port);
    const terminal = await shellThrough(relay, tmux);
    await lose(relay, terminal);
    await terminal.press("Enter", "~", ".");
    expect(await terminal.status()).toBe(255);
    await terminal.hides(LOST);
  });

  test("has the size that the window got while the connection was lost", async () => {
    await using tmux = await Tmux.start();
    await using relay = await Relay.open(server.port);
    const terminal = await shellThrough(relay, tmux);
    await lose(relay, terminal);
    await terminal.resize(90, 28);
    await come(relay, terminal);
    await terminal.hasSize(90, 28);
  });

  test("takes a large paste whole", async () => {
    await using tmux = await Tmux.start();
    await using relay = await Relay.open(server.port);
    const terminal = await shellThrough(relay, tmux);
    const pasted = Array.from({ length: 20_000 }, (_, line) => `line ${line}\n`).join("");
    await writeFile(join(tmux.home, "pasted"), pasted);
    const copy = join(tmux.home, "copy");
    await terminal.enter(`stty -echo; echo ready; head -c ${pasted.length} > ${copy}; stty echo; echo taken`);
    await terminal.shows(/^ready$/m);
    await tmux.command("load-buffer", join(tmux.home, "pasted"));
    await tmux.command("paste-buffer", "-r", "-t", terminal.name);
    await terminal.shows(/^taken$/m);
    expect(await readFile(copy, "utf8")).toBe(pasted);
  });

  test("is suspended with ~^Z and continues", async () => {
    await using tmux = await Tmux.start();
    await using relay = await Relay.open(server.port);
    const terminal = await tmux.open(["env", "PS1=local> ", "bash", "--norc", "--noprofile", "-i"]);
    await terminal.shows("local>");
    await terminal.enter(`${process.execPath} ${builtCli} --url ${relay.url} shell --env PROMPT_COMMAND=`);
    await terminal.shows(/[#$>]$/);
    await terminal.enter("PS1='remote> '; clear");
    await terminal.shows(/^remote>$/);
    await terminal.press("Enter", "~", "C-z");
    await terminal.shows(/Stopped[^]*local>$/);
    await terminal.enter("echo $((6 * 7))");
    await terminal.shows(/^42$/m);
    await terminal.enter("fg");
    await terminal.shows(/^remote>\nremote>$/);
    await terminal.enter("exit 3");
    await terminal.shows(/local>$/);
    await terminal.enter("echo status $?");
    await terminal.shows("status 3");
  });

  test("ends when its terminal is closed, and the remote shell too", async () => {
    await using tmux = await Tmux.start();
    await using relay = await Relay.open(server.port);
    const terminal = await shellThrough(relay, tmux);
    const pidFile = join(tmux.home, "pid");
    await terminal.enter(`echo $$ > ${pidFile}; echo written`);
    await terminal.shows(/^written$/m);
    const pid = Number(await readFile(pidFile, "utf8"));
    await tmux.command("kill-session", "-t", terminal.name);
    const isGone = () => {
      try {
        return !process.kill(pid, 0);
      } catch {
        return true;
      }
    };
    await terminal.until(
      async () => isGone(),
      () => `the end of process ${pid}`,
    );
  });

  test("is left with ~. after Enter, and this terminal is as before", async () => {
    await using tmux = await Tmux.start();
    await using relay = await Relay.open(server.port);
    const command = `${process.execPath} ${builtCli} --url ${relay.url} shell; echo "status $?"; stty -a`;
    const terminal = await tmux.open(["sh", "-c", command]);
    await terminal.shows(/[#$>]$/);
    await terminal.enter("printf '\\033[?1049h\\033[?25l\\033[?1000h'; echo inside");
    await terminal.shows(/^inside$/m);
    await terminal.press("Enter", "~", ".");
    await terminal.shows(/status 255[^]*\nisig icanon iexten echo /);
    await terminal.hasModes(/alternate=0 .* mouse=0/);
    expect((await terminal.state()).cursor).toContain("visible=1");
  });

  test.each(["SIGTERM", "SIGHUP"] as const)(
    "that is ended by %s leaves this terminal as before",
    async (signal) => {
      await using tmux = await Tmux.start();
      await using relay = await Relay.open(server.port);
      const program = `${process.execPath} ${builtCli} --url ${relay.url} shell`;
      const pidFile = join(tmux.home, "pid");
      const terminal = await tmux.open([
        "bash",
        "-c",
        `set -m; (echo $BASHPID > ${pidFile}; exec ${program}); echo "status $?"; stty -a`,
      ]);
      await terminal.shows(/[#$>]$/);
      process.kill(Number(await readFile(pidFile, "utf8")), signal);
      const text = await terminal.shows(/status \d+[^]* icanon iexten echo /);
      expect(text).toContain(signal === "SIGTERM" ? "status 143" : "status 129");
    },
  );

  test("without a terminal reads its commands from stdin", async () => {
    await using tmux = await Tmux.start();
    await using relay = await Relay.open(server.port);
    const program = `${process.execPath} ${builtCli} --url ${relay.url} shell`;
    const terminal = await tmux.open([
      "sh",
      "-c",
      `echo 'echo "tty: $(tty)"; exit 5' | ${program}; echo "status $?"`,
    ]);
    expect(await terminal.shows("status")).toMatch(/^tty: not a tty\nstatus 5/);
  });
});

test("run -t gives a command a terminal, and ends with its status", async () => {
  await using tmux = await Tmux.start();
  await using relay = await Relay.open(server.port);
  const terminal = await through(
    relay,
    tmux,
    "run",
    "-t",
    "--",
    "sh",
    "-c",
    "tty; stty size; read line; exit $line",
  );
  await terminal.shows(/^\/dev\/pts\/\d+\n24 80$/);
  await terminal.enter("9");
  expect(await terminal.status()).toBe(9);
});

test("run -t passes Ctrl-C to the command", async () => {
  await using tmux = await Tmux.start();
  await using relay = await Relay.open(server.port);
  const script = "trap 'echo interrupted; exit 4' INT; echo ready; while :; do sleep 0.05; done";
  const terminal = await through(relay, tmux, "run", "-t", "--", "sh", "-c", script);
  await terminal.shows("ready");
  await terminal.press("C-c");
  expect(await terminal.status()).toBe(4);
  await terminal.shows("interrupted");
});

test("run -t ends when nobody reads its output", async () => {
  await using tmux = await Tmux.start();
  const program = `${process.execPath} ${builtCli} --url ${server.url} run -t -- yes`;
  const terminal = await tmux.open(["bash", "-c", `${program} | head -n 1; echo "status \${PIPESTATUS[0]}"`]);
  expect(await terminal.shows("status")).toMatch(/^y\nstatus 141$/);
});

test("a shell on a Codex server has the size of the window and its status", async () => {
  await using tmux = await Tmux.start();
  await using codex = await startServer({ codex: true });
  const terminal = await tmux.open([process.execPath, builtCli, "--url", codex.url, "shell"]);
  await terminal.shows(/[#$>]$/);
  await terminal.enter("stty size; exit 6");
  await terminal.shows(/^24 80$/m);
  expect(await terminal.status()).toBe(6);
});

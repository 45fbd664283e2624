import { readFileSync } from "node:fs";
import { createServer } from "node:net";
import { once } from "node:events";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { socketUrl } from "../../src/base/socket-url.ts";
import { connect } from "../../src/client/host/connect.ts";
import { SERVER_PATH } from "../conformance/server-process.ts";
import { builtCli } from "../fault/server-under-test.ts";
import { Person } from "./person.ts";
import { type SshMachine, startSshd } from "./sshd.ts";
import { Tmux, type TmuxTerminal } from "./tmux.ts";

/** The environment of the own server of a user whose shell has these variables. */
async function serverEnvironment(person: Person, env: Record<string, string>) {
  expect(await person.run(["run", "--", "true"], { env })).toMatchObject({ status: 0, stderr: "" });
  const { pid } = await person.server();
  const entries = readFileSync(`/proc/${pid}/environ`, "utf8").split("\0").slice(0, -1);
  const {
    PATH: _path,
    HOME: _home,
    USER: _user,
    LOGNAME: _login,
    SHELL: _shell,
    ...rest
  } = Object.fromEntries(
    entries.map((entry) => [entry.slice(0, entry.indexOf("=")), entry.slice(entry.indexOf("=") + 1)]),
  );
  return rest;
}

describe("the environment of your own server", () => {
  it("has the locale, the time zone and the editor of the shell that starts it, and nothing else", async () => {
    await using person = new Person();
    const passed = {
      LANG: "de_DE.UTF-8",
      LC_TIME: "C",
      TZ: "Asia/Tokyo",
      COLORTERM: "truecolor",
      EDITOR: "vim",
    };
    const others = { AWS_PROFILE: "work", LD_PRELOAD: "", LCX: "1" };
    expect(await serverEnvironment(person, { ...passed, ...others })).toEqual(passed);
  });

  it("has a UTF-8 locale if the shell has none", async () => {
    await using person = new Person();
    expect(await serverEnvironment(person, {})).toEqual({ LANG: "C.UTF-8" });
  });

  it("has what EXEC_SERVER_PASS_ENV lists", async () => {
    await using person = new Person();
    const env = { EXEC_SERVER_PASS_ENV: "AWS_* PATH", LANG: "de_DE.UTF-8", AWS_PROFILE: "work", TZ: "UTC" };
    expect(await serverEnvironment(person, env)).toEqual({ AWS_PROFILE: "work", LANG: "C.UTF-8" });
    const { pid } = await person.server();
    expect(readFileSync(`/proc/${pid}/environ`, "utf8")).toContain(`PATH=${SERVER_PATH}\0`);
  });

  it("has the ssh agent of a desktop, but none that ends with a login or belongs to someone else", async () => {
    const listening = async (path: string) => {
      const server = createServer().listen(path);
      await once(server, "listening");
      return server;
    };
    const agentOf = async (env: (home: string) => Record<string, string>) => {
      await using person = new Person();
      const agent = await listening(join(person.home, "agent"));
      try {
        const { SSH_AUTH_SOCK: found } = await serverEnvironment(person, env(person.home));
        return found?.replace(person.home, "HOME");
      } finally {
        agent.close();
      }
    };
    expect(await agentOf((home) => ({ SSH_AUTH_SOCK: `${home}/agent` }))).toBe("HOME/agent");
    expect(await agentOf((home) => ({ SSH_AUTH_SOCK: `${home}/gone` }))).toBeUndefined();
    expect(await agentOf(() => ({ SSH_AUTH_SOCK: "/etc/hostname" }))).toBeUndefined();
    const login = { SSH_CONNECTION: "192.0.2.1 50000 192.0.2.2 22" };
    expect(await agentOf((home) => ({ SSH_AUTH_SOCK: `${home}/agent`, ...login }))).toBeUndefined();
  });
});

/** Types letters of one, two and no columns, goes back and takes some out: a shell without a locale loses its place. */
async function editsText(terminal: TmuxTerminal): Promise<void> {
  await terminal.shows(/[#$>]$/);
  await terminal.enter("PS1='there> '; clear");
  await terminal.shows(/^there>$/);
  await terminal.type("echo '[ünï😀漢字e\u0301x]'");
  await terminal.shows("漢字e\u0301x]'");
  // Takes out the x, the letter with its accent, the second wide one, and the first umlaut.
  await terminal.press("Left", "Left", "BSpace", "BSpace", "BSpace");
  await terminal.press("Home", "Right", "Right", "Right", "Right", "Right", "Right", "Right", "DC");
  await terminal.press("Enter");
  await terminal.shows(/^there> echo '\[nï😀漢\]'\n\[nï😀漢\]\nthere>$/m);
}

describe("a line of umlauts, wide and combining characters can be edited", () => {
  let local: Person;
  let remote: Person;
  let machine: SshMachine;

  beforeAll(async () => {
    [local, remote] = [new Person(), new Person()];
    machine = await startSshd(join(remote.home, "sshd"), {
      XDG_RUNTIME_DIR: remote.runtime,
      EXEC_SERVER_EXIT_WHEN_IDLE: "30s",
    });
  });
  afterAll(async () => {
    await machine?.[Symbol.asyncDispose]();
    await remote[Symbol.asyncDispose]();
    await local[Symbol.asyncDispose]();
  });

  const terminalOf = (tmux: Tmux, ...args: string[]) =>
    tmux.open(["env", `PATH=${machine.bin}:${SERVER_PATH}`, process.execPath, builtCli, ...args], {
      env: { ...local.env, LANG: "C.UTF-8" },
    });

  it("in a shell here", async () => {
    await using tmux = await Tmux.start();
    await editsText(await terminalOf(tmux, "shell"));
  });

  it("in a shell over ssh, where nothing sets a locale", async () => {
    await using tmux = await Tmux.start();
    await editsText(await terminalOf(tmux, "-H", "ssh://machine", "shell"));
  });

  it("in a kept process over ssh", async () => {
    await using tmux = await Tmux.start();
    const shell = ["run", "-d", "-t", "--name", "kept", "--", "bash", "--norc"];
    await local.run(["-H", "ssh://machine", ...shell], {
      env: { PATH: `${machine.bin}:${SERVER_PATH}`, TERM: "xterm" },
    });
    await editsText(await terminalOf(tmux, "-H", "ssh://machine", "attach", "kept"));
  });

  it("in a terminal of your own server that a program or a page opens", async () => {
    await local.run(["run", "--", "true"]);
    await using host = await connect(socketUrl(local.socket));
    const terminal = await host.terminal(["locale"], { cols: 80, rows: 24 });
    let text = "";
    for await (const { bytes } of terminal.output()) text += Buffer.from(bytes).toString();
    expect(text).toContain('LC_CTYPE="C.UTF-8"');
  });
});

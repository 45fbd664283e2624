import { createHash, randomBytes } from "node:crypto";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it, test } from "vitest";
import { SERVER_PATH } from "../conformance/server-process.ts";
import { builtCli } from "../fault/server-under-test.ts";
import type { CommandOptions } from "./command.ts";
import { Person } from "./person.ts";
import { type SshMachine, startSshd } from "./sshd.ts";
import { Tmux } from "./tmux.ts";
import { killIfThere } from "../fixtures/kill-if-there.ts";

let local: Person;
/** The same user on the other machine, with a runtime directory of their own. */
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

const run = (args: readonly string[], options: CommandOptions = {}) =>
  local.run(args, { ...options, env: { PATH: `${machine.bin}:${SERVER_PATH}`, ...options.env } });
const over = (url: string, ...args: string[]) => run(["-H", url, ...args]);

it("a command on ssh://MACHINE gets input, output and status there, and leaves nothing behind", async () => {
  const script = "echo out $SSH_CONNECTION; echo error >&2; cat; exit 5";
  const ended = await run(["-H", "ssh://machine", "run", "--", "sh", "-c", script], { input: "input" });
  expect(ended).toMatchObject({ status: 5, stderr: "error\n" });
  expect(ended.stdout).toMatch(
    new RegExp(`^out 127\\.0\\.0\\.1 \\d+ 127\\.0\\.0\\.1 ${machine.port}\ninput$`),
  );
  // The connection is closed when the command ends; ssh itself takes a moment.
  await expect.poll(sshProcesses, { timeout: 60_000 }).toEqual([]);
});

it("a port, and a host of hosts.toml that ssh reaches, do the same", async () => {
  const url = `ssh://127.0.0.1:${machine.port}`;
  expect(await over(url, "run", "--", "echo", "there")).toMatchObject({
    status: 0,
    stdout: "there\n",
    stderr: "",
  });
  expect(await run(["host", "add", "m", url])).toMatchObject({ status: 0, stderr: "" });
  expect(await over("m", "run", "--", "echo", "there")).toMatchObject({
    status: 0,
    stdout: "there\n",
    stderr: "",
  });
});

it("a megabyte goes there and back unchanged", async () => {
  const bytes = randomBytes(1_000_000);
  const ended = await run(["-H", "ssh://machine", "run", "--", "sha256sum"], { input: bytes });
  expect(ended.stdout).toBe(`${createHash("sha256").update(bytes).digest("hex")}  -\n`);
});

it("says in one line why a machine cannot be reached", async () => {
  expect(await over("ssh://127.0.0.1:1", "run", "--", "true")).toMatchObject({
    status: 255,
    stderr:
      "exec-server: cannot reach 'ssh://127.0.0.1:1': ssh: connect to host 127.0.0.1 port 1: Connection refused\n",
  });
  const denied = await over(`ssh://nobody-at-all@127.0.0.1:${machine.port}`, "run", "--", "true");
  expect(denied).toMatchObject({ status: 255, stdout: "" });
  expect(denied.stderr).toMatch(
    /^exec-server: cannot reach 'ssh:\/\/nobody-at-all@.*': .*Permission denied \(publickey\)\.\n$/,
  );
  const status = (await over("ssh://127.0.0.1:1", "ls")).status;
  expect(status).toBe(1);
});

it("says in one line that exec-server is not installed there, and a host can say where it is", async () => {
  const command = ["run", "--", "echo", "there"];
  const missing = (name: string, remedy: string) =>
    new RegExp(
      `^exec-server: exec-server was not found on '${name}': .*not-installed.*; install it there with 'npm install --global ./exec-server-\\*.tgz', or say where it is: ${remedy}\n$`,
    );
  const elsewhere = { env: { EXEC_SERVER_REMOTE_COMMAND: "not-installed" } };
  const ended = await run(["-H", "ssh://machine", ...command], elsewhere);
  expect(ended.status).toBe(255);
  expect(ended.stderr).toMatch(missing("ssh://machine", "EXEC_SERVER_REMOTE_COMMAND=/path/to/exec-server"));
  await run(["host", "add", "far", "ssh://machine", "--remote-command", "/opt/not-installed"]);
  expect((await over("far", ...command)).stderr).toMatch(
    missing("far", "exec-server host edit far --remote-command /path/to/exec-server"),
  );
  await run(["host", "edit", "far", "--remote-command", join(machine.remoteBin, "exec-server")]);
  expect(await over("far", ...command)).toMatchObject({ status: 0, stdout: "there\n" });
});

it("says in one line that a shell there prints something of its own", async () => {
  const greeting = join(machine.remoteBin, "greeting");
  writeFileSync(greeting, `#!/bin/sh\necho Welcome back\nexec exec-server "$@"\n`, { mode: 0o755 });
  const args = ["-H", "ssh://machine", "run", "--", "true"];
  expect(await run(args, { env: { EXEC_SERVER_REMOTE_COMMAND: greeting } })).toMatchObject({
    status: 255,
    stderr:
      "exec-server: 'ssh://machine' printed something that is not an exec-server message; its shell must not print anything when it runs a command\n",
  });
});

it("says in one line that there is no ssh here", async () => {
  const ended = await run(["-H", "ssh://machine", "run", "--", "true"], { env: { PATH: "/nowhere" } });
  expect(ended).toMatchObject({
    status: 255,
    stderr: "exec-server: cannot reach 'ssh://machine' because ssh was not found; install it\n",
  });
});

it("what is kept on ssh://MACHINE is on the user's own server there, and outlives the connection", async () => {
  const started = await over(
    "ssh://machine",
    "run",
    "-d",
    "--name",
    "kept",
    "--",
    "sh",
    "-c",
    "echo up; exec sleep 60",
  );
  expect(started).toMatchObject({ status: 0, stdout: "kept\n", stderr: "" });
  expect(await remote.server()).toMatchObject({ runningProcesses: 1 });
  // The connection is closed when the command ends; ssh itself takes a moment.
  await expect.poll(sshProcesses, { timeout: 60_000 }).toEqual([]);
  const url = `ssh://127.0.0.1:${machine.port}`;
  const kept = (...args: string[]) => over(url, ...args);
  expect(await kept("ps", "-q")).toMatchObject({ status: 0, stdout: "kept\n" });
  expect(await kept("logs", "kept")).toMatchObject({ status: 0, stdout: "up\n" });
  expect(await kept("kill", "kept")).toMatchObject({ status: 0 });
  expect(await kept("wait", "kept")).toMatchObject({ status: 143 });
});

it("an address that ssh could take for an option is refused", async () => {
  expect(await over("ssh://-oProxyCommand=touch$IFS/tmp/x", "run", "--", "true")).toMatchObject({
    status: 2,
  });
});

test.each([["shell"], ["run", "-t", "--", "bash"]])(
  "a connection that is lost ends '%s' with one line, right below what it showed",
  async (...command) => {
    await using tmux = await Tmux.start();
    const path = `PATH=${machine.bin}:${SERVER_PATH}`;
    const args = ["env", path, process.execPath, builtCli, "-H", "ssh://machine", ...command];
    const terminal = await tmux.open(args, { env: local.env });
    await terminal.shows(/[#$>]$/);
    await terminal.enter("PS1='remote> '; clear");
    await terminal.shows(/^remote>$/);
    for (const pid of sshProcesses()) killIfThere(pid, "SIGTERM");
    expect(await terminal.status()).toBe(255);
    expect(await terminal.history()).toMatch(
      /^remote>\nexec-server: lost the connection to 'ssh:\/\/machine': ssh (?:was ended by SIGTERM|exited with status 255)[^\n]*$/m,
    );
  },
);

/** Connections of the test's own ssh that are still there. */
function sshProcesses(): number[] {
  const config = join(remote.home, "sshd", "config");
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .flatMap((pid) => {
      try {
        return readFileSync(`/proc/${pid}/cmdline`, "utf8").includes(config) ? [Number(pid)] : [];
      } catch {
        return []; // It has ended meanwhile.
      }
    });
}

import { chmod, mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { CommandLine } from "./command-line.ts";

// Every mistake is one line that says what to do, with the right status.

let line: CommandLine;
let locked: CommandLine;
beforeAll(async () => {
  line = await CommandLine.start();
  const token = join(line.directory, "token");
  await writeFile(token, "right-token-of-some-length");
  locked = await CommandLine.start(["--ws-auth", "capability-token", "--ws-token-file", token]);
  await mkdir(join(line.directory, "runtime"), { mode: 0o700 });
});
afterAll(async () => {
  await line?.[Symbol.asyncDispose]();
  await locked?.[Symbol.asyncDispose]();
});

/** Commands that connect, each with its failure status. */
const COMMANDS: readonly (readonly [string, number])[] = [
  ["run -- true", 255],
  ["ps", 1],
  ["logs x", 1],
  ["wait x", 255],
  ["kill x", 1],
  ["ls /", 1],
  ["cat /etc/hostname", 1],
  ["fetch http://127.0.0.1:1/", 1],
];

test.concurrent.each(COMMANDS)("%s without a server ends with %d and one line", async (command, status) => {
  const ended = await line.run(`exec-server ${command}`, { env: { EXEC_SERVER_URL: "ws://127.0.0.1:1" } });
  expect(ended).toEqual({
    status,
    stdout: "",
    stderr: expect.stringMatching(/^exec-server: [^\n]*ECONNREFUSED[^\n]*; is the server running there\?\n$/),
  });
});

test.concurrent.each(COMMANDS)(
  "%s without the token ends with %d and the remedy",
  async (command, status) => {
    for (const token of [undefined, "wrong"]) {
      const ended = await locked.run(`exec-server ${command}`, { env: { EXEC_SERVER_TOKEN: token } });
      expect(ended).toEqual({
        status,
        stdout: "",
        stderr: expect.stringMatching(
          /^exec-server: [^\n]+; pass the server's token in EXEC_SERVER_TOKEN or with --token-file\n$/,
        ),
      });
    }
  },
);

test.concurrent.each(COMMANDS)(
  "%s on an unknown host ends with 2, and names the known ones",
  async (command) => {
    expect(await line.run(`exec-server -H nowhere ${command}`)).toEqual({
      status: 2,
      stdout: "",
      stderr: expect.stringMatching(/^exec-server: there is no host 'nowhere'; [^\n]+\n$/),
    });
  },
);

test.concurrent("the right token is taken from the environment or a file", async () => {
  const right = { EXEC_SERVER_TOKEN: "right-token-of-some-length" };
  expect((await locked.run("exec-server ps -q", { env: right })).status).toBe(0);
  expect((await locked.run(`exec-server ps -q --token-file ${line.directory}/token`)).status).toBe(0);
  expect(await locked.run("exec-server ps --token-file nope")).toEqual({
    status: 2,
    stdout: "",
    stderr: "exec-server: cannot read the token in nope: No such file or directory (os error 2)\n",
  });
});

test.concurrent.each([
  ["ps", "<&-"],
  ["run -- true", "<&-"],
  ["ls /", ">&-"],
  ["ps", ">&-"],
  ["ps", "2>&-"],
  ["run -- true", "<&- >&- 2>&-"],
  ["--help", "<&- 2>&-"],
])("%s %s does its work without that stream", async (command, redirection) => {
  const { status, stderr } = await line.run(`exec-server ${command} ${redirection}`);
  expect(status).toBe(0);
  expect(stderr).not.toContain("internal error");
});

test.concurrent.each(["ps -q", "run -- echo x", "--help", "ls /"])(
  "%s works without HOME and PATH",
  async (command) => {
    const { status, stderr } = await line.run(
      `env -u HOME -u PATH ${process.execPath} $(command -v exec-server) ${command}`,
    );
    expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
  },
);

test.concurrent("a full disk, or a reader who has left, is said once and ends the command", async () => {
  const full = "exec-server: cannot write to stdout: No space left on device (os error 28)\n";
  for (const command of ["ps --json", "ls /", "completion bash", "status --json"])
    expect(await line.run(`exec-server ${command} > /dev/full`), command).toEqual({
      status: 1,
      stdout: "",
      stderr: full,
    });
  for (const command of ["ls -l /usr/bin", "completion bash", "ps --json"]) {
    const { stdout, stderr } = await line.run(`exec-server ${command} | true; echo \${PIPESTATUS[0]}`);
    expect({ command, stderr }).toEqual({ command, stderr: "" });
    expect(stdout).toMatch(/^(?:0|141)\n$/);
  }
});

test.concurrent("what a person may not read is said", async () => {
  const secret = join(line.directory, "secret");
  await mkdir(secret);
  await writeFile(join(secret, "file"), "");
  await chmod(secret, 0o000);
  const as = "setpriv --reuid 65534 --regid 65534 --clear-groups";
  const serve = `chmod 755 . bin; ${as} exec-server > nobody.url & until [ -s nobody.url ]; do sleep 0.05; done`;
  const ended = await line.run(
    `${serve}; url=$(cat nobody.url); exec-server --url $url ls secret_; exec-server --url $url ls ${secret}; echo $?; exec-server --url $url cat ${secret}/file; echo $?; kill %1`,
    { env: { HOME: "/nonexistent" } },
  );
  expect(ended.stdout).toBe("1\n1\n");
  expect(ended.stderr).toContain(`exec-server: ${secret}: permission denied\n`);
  expect(ended.stderr).toContain(`exec-server: ${secret}/file: permission denied\n`);
});

test.concurrent("not a directory is said, for a path and for --cwd", async () => {
  await writeFile(join(line.directory, "file"), "");
  expect((await line.run(`exec-server ls ${line.directory}/file/x`)).stderr).toBe(
    `exec-server: ${line.directory}/file/x: not a directory\n`,
  );
  const { status, stderr } = await line.run(`exec-server run --cwd ${line.directory}/file -- true`);
  expect(status).toBe(255);
  expect(stderr).toMatch(/^exec-server: [^\n]*file: no such directory; choose another with --cwd\n$/);
});

test.concurrent("a host that is a program is reached by every command on files", async () => {
  const ended = await line.run(
    "exec-server host add pipe -- exec-server --listen stdio; exec-server -H pipe ls /etc/hostname; exec-server cat pipe:/etc/hostname",
  );
  expect(ended.status).toBe(0);
  expect(ended.stdout).toMatch(/^\/etc\/hostname\n.+\n$/);
});

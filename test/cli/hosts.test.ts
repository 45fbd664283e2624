import { spawn } from "node:child_process";
import { chmodSync, copyFileSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, it } from "vitest";
import { findCodexBinary } from "../../scripts/install-codex.mjs";
import { launch } from "../conformance/server-process.ts";
import { builtCli } from "../fault/server-under-test.ts";
import type { Ended } from "./command.ts";
import { Person } from "./person.ts";

const TOKEN = "a-secret-token-of-the-server";
const hostsFile = (person: Person): string => join(person.home, ".config/exec-server/hosts.toml");
const done = { status: 0, stdout: "", stderr: "" };

it("hosts are added, listed, used and removed, and their file is for the user alone", async () => {
  await using person = new Person();
  const tokenFile = join(person.home, "token");
  writeFileSync(tokenFile, `${TOKEN}\n`);
  const server = await launch("ours", ["--ws-auth", "capability-token", "--ws-token-file", tokenFile]);
  try {
    const url = await server.banner();
    expect(await person.run(["host", "add", "one", url, "--token-file", tokenFile])).toMatchObject(done);
    const program = ["--", process.execPath, builtCli, "--listen", "stdio"];
    expect(await person.run(["host", "add", "two", ...program])).toMatchObject(done);
    expect(statSync(hostsFile(person)).mode & 0o777).toBe(0o600);
    const listed = await person.run(["host", "list", "--json"]);
    expect(JSON.parse(listed.stdout)).toEqual([
      { name: "one", url, hasToken: true },
      { name: "two", program: process.execPath, args: program.slice(2), hasToken: false },
    ]);
    const shown = await person.run(["host", "list"]);
    expect(shown.stdout).toMatch(
      /^NAME {2,}TOKEN {2,}PLACE\none {2,}yes {2,}ws:.*\ntwo {2,}- {2,}\/.*--listen stdio\n$/,
    );
    expect(listed.stdout + shown.stdout).not.toContain(TOKEN);

    const served = { status: 3, stdout: "out\n", stderr: "" };
    const command = ["run", "--", "sh", "-c", "echo out; exit 3"];
    for (const host of ["one", "two"])
      expect(await person.run(["-H", host, ...command])).toMatchObject(served);
    expect(await person.run(command, { env: { EXEC_SERVER_HOST: "one" } })).toMatchObject(served);
    // The command line decides before the environment, and a URL of the environment before a host.
    const elsewhere = { EXEC_SERVER_URL: "ws://127.0.0.1:1", EXEC_SERVER_HOST: "two" };
    expect(await person.run(["-H", "one", ...command], { env: elsewhere })).toMatchObject(served);
    expect((await person.run(command, { env: elsewhere })).stderr).toContain("ECONNREFUSED 127.0.0.1:1");
    expect(await person.run(["-H", "local", ...command], { env: elsewhere })).toMatchObject(served);
    const withToken = { EXEC_SERVER_URL: url, EXEC_SERVER_TOKEN: TOKEN };
    expect(await person.run(command, { env: withToken })).toMatchObject(served);
    expect(await person.run(["--url", url, "--token-file", tokenFile, ...command])).toMatchObject(served);
    // A pipe of the shell holds it as well as a file.
    const piped = { through: ["sh", "-c", `echo ${TOKEN} | "$@"`, "sh"] };
    const fromStdin = ["--url", url, "--token-file", "/dev/stdin", ...command];
    expect(await person.run(fromStdin, piped)).toMatchObject(served);
    expect(await person.run(["--url", url, "--token-file", "/dev/zero", ...command])).toMatchObject({
      status: 2,
      stderr: "exec-server: cannot read the token in /dev/zero: it is larger than 1 MiB\n",
    });
    const refused = await person.run(["--url", url, ...command]);
    expect(refused).toMatchObject({ status: 255, stdout: "" });
    expect(refused.stderr).toContain("pass the server's token in EXEC_SERVER_TOKEN or with --token-file");
    // The token of the environment is for a URL alone.
    expect(await person.run(["host", "add", "three", url])).toMatchObject(done);
    const unknown = await person.run(["-H", "three", ...command], { env: { EXEC_SERVER_TOKEN: TOKEN } });
    expect(unknown.stderr).toContain(
      "pass the server's token as auth_bearer_token of the host 'three' in hosts.toml or with --token-file",
    );
    expect(await person.run(["host", "remove", "three"])).toMatchObject(done);

    expect(await person.run(["host", "remove", "one"])).toMatchObject(done);
    expect(await person.run(["-H", "one", ...command])).toMatchObject({
      status: 2,
      stderr: "exec-server: there is no host 'one'; known hosts: two\n",
    });
  } finally {
    await server.stop();
  }
});

it("each mistake about hosts is one line", async () => {
  await using person = new Person();
  const mistakes: [string[], string][] = [
    [
      ["-H", "x", "run", "true"],
      "there is no host 'x'; no host is configured yet: see 'exec-server host add --help'",
    ],
    [["-H", "x", "--url", "ws://h", "run", "true"], "use either -H or --url"],
    [["-H", "ws://h", "run", "true"], "'ws://h' is a URL; pass it with --url"],
    [
      ["--token-file", "/nothing", "--url", "ws://h", "run", "true"],
      "cannot read the token in /nothing: No such file or directory (os error 2)",
    ],
    [
      ["host", "add", "a b", "ws://h"],
      "'a b' cannot be a host name: it must have 1 to 64 letters, digits, '-' or '_'",
    ],
    [
      ["host", "add", "a", "http://h"],
      "cannot add 'a': 'url' must be a URL with ws://, wss:// or relay+https://",
    ],
    [
      ["host", "remove", "a"],
      "there is no host 'a'; no host is configured yet: see 'exec-server host add --help'",
    ],
  ];
  for (const [args, line] of mistakes)
    expect(await person.run(args)).toMatchObject({ status: 2, stdout: "", stderr: `exec-server: ${line}\n` });
  await person.run(["host", "add", "a", "ws://h"]);
  expect((await person.run(["host", "add", "a", "ws://h"])).stderr).toContain("use --replace");
  expect(await person.run(["host", "add", "--replace", "a", "ws://other"])).toMatchObject(done);
  const file = hostsFile(person);
  writeFileSync(
    file,
    `${readFileSync(file, "utf8")}\n[[environments]]\nid = "b"\nurl = "ws://b"\nauth_bearer_token = "t"\n`,
  );
  chmodSync(file, 0o644);
  expect(await person.run(["host", "list"])).toMatchObject({
    status: 0,
    stderr: `exec-server: other users can read the secrets in ${file}; run 'chmod 600 ${file}'\n`,
  });
  const good = '[[environments]]\nid = "good"\nprogram = "p"\n';
  writeFileSync(file, `[[environments]]\nid = 1\n[[environments]]\nid = "bad"\n${good}`);
  expect(await person.run(["-H", "bad", "run", "true"])).toMatchObject({
    status: 255,
    stderr: `exec-server: ${file}: host 'bad' cannot be used: it must have either 'url' or 'program'\n`,
  });
  expect(await person.run(["-H", "a", "run", "true"])).toMatchObject({
    status: 2,
    stderr: `exec-server: there is no host 'a'; known hosts: good; some entries of ${file} cannot be used: see 'exec-server host list'\n`,
  });
  expect(await person.run(["host", "list"])).toMatchObject({
    status: 0,
    stdout: "NAME  TOKEN  PLACE\ngood  -      p\n",
    stderr: `exec-server: ${file}: host 1 cannot be used: 'id' must be a string
exec-server: ${file}: host 'bad' cannot be used: it must have either 'url' or 'program'
`,
  });
  expect(await person.run(["host", "remove", "bad"])).toMatchObject(done);
  expect((await person.run(["host", "list"])).stderr).not.toContain("bad");
});

it("a host is changed by options, and the file of hosts in an editor", async () => {
  await using person = new Person();
  const file = hostsFile(person);
  const edit = (...args: string[]) => person.run(["host", "edit", ...args], { env: { EDITOR: editor } });
  const editor = `sh -c 'sed -i s/build/forge/ "$0"'`;
  await person.run(["host", "add", "far", "ssh://build.example", "--remote-command", "/opt/es"]);
  expect(readFileSync(file, "utf8")).toContain('"build.example", "/opt/es --listen stdio"');
  expect(await edit("far", "--remote-command", "~/es")).toMatchObject(done);
  expect(readFileSync(file, "utf8")).toContain('"build.example", "~/es --listen stdio"');
  expect(await edit()).toMatchObject(done);
  const forged = readFileSync(file, "utf8");
  expect(forged).toContain('"forge.example", "~/es --listen stdio"');
  expect(statSync(file).mode & 0o777).toBe(0o600);

  const refusals: [string[], string, string?][] = [
    [["nobody", "--ca", "x"], "there is no host 'nobody'; known hosts: far"],
    [["--ca", "x"], "name the host that these options are about"],
    [["far", "--ca", "x"], "cannot change 'far': 'ca' needs 'url'"],
  ];
  for (const [args, message] of refusals)
    expect(await edit(...args)).toMatchObject({ status: 2, stderr: `exec-server: ${message}\n` });
  await person.run(["host", "add", "box", "--", "docker", "exec", "-i", "box", "exec-server", "--stdio"]);
  expect((await edit("box", "--remote-command", "x")).stderr).toBe(
    "exec-server: --remote-command needs a host that ssh reaches, which 'box' is not\n",
  );
  await person.run(["host", "remove", "box"]);
});

it("an editor that fails, or leaves something unreadable, changes nothing, and its text is kept", async () => {
  await using person = new Person();
  const file = hostsFile(person);
  await person.run(["host", "add", "far", "ssh://build.example"]);
  const before = readFileSync(file, "utf8");
  const edit = (EDITOR: string) => person.run(["host", "edit"], { env: { EDITOR } });
  const broken = await edit(`sh -c 'echo [[ >> "$0"'`);
  expect(broken.status).toBe(1);
  const [, copy = ""] = /nothing was changed, and your text is in (.*)\n$/.exec(broken.stderr) ?? [];
  expect(readFileSync(copy, "utf8")).toBe(`${before}[[\n`);
  rmSync(dirname(copy), { recursive: true });
  const failed = await edit("false");
  expect(failed).toMatchObject({ status: 1, stdout: "" });
  expect(failed.stderr).toMatch(
    /^exec-server: the editor 'false' failed; nothing was changed, and your text is in /,
  );
  rmSync(dirname(failed.stderr.trim().split(" ").at(-1)!), { recursive: true });
  const meanwhile = await edit(`sh -c 'echo "# mine" >> "$0"; echo "# theirs" >> ${file}'`);
  expect(meanwhile.stderr).toContain(
    `${file} was changed meanwhile; nothing was changed, and your text is in `,
  );
  rmSync(dirname(meanwhile.stderr.trim().split(" ").at(-1)!), { recursive: true });
  expect(readFileSync(file, "utf8")).toBe(`${before}# theirs\n`);
});

it("the real Codex takes hosts.toml as its environments.toml", async () => {
  await using person = new Person();
  const tokenFile = join(person.home, "token");
  writeFileSync(tokenFile, TOKEN);
  await person.run(["host", "add", "one", "wss://build.example:1", "--token-file", tokenFile]);
  await person.run(["host", "add", "two", "ssh://user@machine.example:22"]);
  await person.run(["host", "add", "three", "--", "docker", "exec", "-i", "box", "exec-server", "--stdio"]);
  // Not under the temporary directory, about which Codex complains.
  const codexHome = mkdtempSync("/var/tmp/es-codex-");
  const file = join(codexHome, "environments.toml");
  const complaint = async (): Promise<string> => {
    // It loads its configuration, and ends there because it is given no prompt.
    const { stderr } = await codex(["exec", "--skip-git-repo-check"], {
      HOME: person.home,
      CODEX_HOME: codexHome,
    });
    return stderr;
  };
  try {
    copyFileSync(hostsFile(person), file);
    expect(await complaint()).not.toContain("environment");
    writeFileSync(file, `${readFileSync(file, "utf8")}nonsense = 1\n`);
    expect(await complaint()).toContain("unknown field `nonsense`");
  } finally {
    rmSync(codexHome, { recursive: true, force: true });
  }
});

function codex(args: readonly string[], env: Record<string, string>): Promise<Pick<Ended, "stderr">> {
  const child = spawn(findCodexBinary()!, args, {
    cwd: env["CODEX_HOME"],
    env,
    stdio: ["pipe", "ignore", "pipe"],
  });
  let stderr = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => void (stderr += text));
  child.stdin.end();
  return new Promise((resolve) => child.once("close", () => resolve({ stderr })));
}

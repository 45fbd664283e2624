import { afterAll, beforeAll, expect, test } from "vitest";
import { CommandLine, type Ended } from "./command-line.ts";

let line: CommandLine;
beforeAll(async () => {
  line = await CommandLine.start();
});
afterAll(async () => line?.[Symbol.asyncDispose]());

let count = 0;
/** Leaves a process on the server, and returns its name. */
async function keep(script: string): Promise<string> {
  count += 1;
  const name = `p${count}`;
  const started = await line.run(`exec-server run -d --name ${name} -- sh -c '${script}'`);
  expect(started).toEqual({ status: 0, stdout: `${name}\n`, stderr: "" });
  return name;
}

/** The same for a process that has ended. */
async function keepEnded(script: string): Promise<string> {
  const name = await keep(script);
  await line.run(`exec-server wait ${name}`);
  return name;
}

const failed = (message: string, status = 1): Ended => ({
  status,
  stdout: "",
  stderr: `exec-server: ${message}\n`,
});

test.concurrent("kill ends what an ended process has left on its output, and frees its name", async () => {
  const name = await keepEnded("sleep 600 & exit 3");
  const list = async (): Promise<unknown> => {
    const listed = JSON.parse((await line.run("exec-server ps --json")).stdout) as { name: string }[];
    return listed.find((each) => each.name === name);
  };
  expect(await list()).toMatchObject({ state: "exited" });
  expect(await line.run(`exec-server kill ${name}`)).toEqual({
    status: 0,
    stdout: `${name}: had already ended, exited with 3; the programs that still held its output were ended\n`,
    stderr: "",
  });
  expect(await list()).toMatchObject({ state: "closed" });
  const again = await line.run(`exec-server kill ${name}`);
  expect(again.stdout).toBe(`${name}: had already ended, exited with 3\n`);
});

test.concurrent("ps says what to do when there is nothing to list", async () => {
  await using empty = await CommandLine.start();
  expect(await empty.run("exec-server ps")).toEqual({
    status: 0,
    stdout: "",
    stderr: "exec-server: no kept processes; start one with 'exec-server run -d --name NAME -- COMMAND'\n",
  });
  expect(await empty.run("exec-server ps -q")).toEqual({ status: 0, stdout: "", stderr: "" });
  expect(await empty.run("exec-server ps --json")).toEqual({ status: 0, stdout: "[]\n", stderr: "" });
});

test.concurrent("ps lists running and ended processes, oldest first", async () => {
  const ended = await keepEnded("exit 3");
  const running = await keep("exec sleep 60");
  const killed = await keepEnded("kill -KILL $$");
  const { stdout } = await line.run("exec-server ps");
  expect(stdout).toMatch(/^NAME +STATUS +AGE +ATTACHED +COMMAND\n/);
  expect(stdout).toMatch(new RegExp(`^${ended} +exited 3, \\d+s ago +\\d+s +0  sh -c 'exit 3'$`, "m"));
  expect(stdout).toMatch(new RegExp(`^${killed} +SIGKILL, \\d+s ago `, "m"));
  expect(stdout).toMatch(new RegExp(`^${running} +running +\\d+s +0  sh -c 'exec sleep 60'$`, "m"));
  const names = (await line.run("exec-server ps -q")).stdout.trim().split("\n");
  expect(names.indexOf(ended)).toBeLessThan(names.indexOf(running));
  const listed = JSON.parse((await line.run("exec-server ps --json")).stdout) as { name: string }[];
  expect(listed.find(({ name }) => name === ended)).toMatchObject({
    state: "closed",
    exitCode: 3,
    argv: ["sh", "-c", "exit 3"],
  });
  await line.run(`exec-server kill ${running}`);
});

test.concurrent("ps fits the terminal, and carries out nothing that a command contains", async () => {
  await keepEnded(
    'printf "\\033]0;evil\\007" > /dev/null; : this is a long comment that no narrow terminal can show as a whole',
  );
  await line.run("exec-server run -d --name evil -- true $'\\e[31mred\\nline'");
  const { stdout } = await line.runInTerminal("exec-server ps", 50, { env: { NO_COLOR: "1" } });
  expect(stdout.split("\n").filter((text) => text.length > 50)).toEqual([]);
  expect(stdout).not.toContain("\u001b");
  const wide = (await line.runInTerminal("exec-server ps", 200, { env: { NO_COLOR: "1" } })).stdout;
  expect(wide).toContain("true '\\x1b[31mred\\nline'");
  expect((await line.runInTerminal("exec-server ps", 200)).stdout).toContain("\u001b[1mNAME");
  expect((await line.run("FORCE_COLOR=1 exec-server ps")).stdout).toContain("\u001b[1mNAME");
});

test.concurrent("logs prints each stream where it belongs", async () => {
  const name = await keepEnded("echo out; echo err >&2");
  expect(await line.run(`exec-server logs ${name}`)).toEqual({ status: 0, stdout: "out\n", stderr: "err\n" });
});

test.concurrent("logs of a running process ends at once, and logs -f ends with the process", async () => {
  const running = await keep("echo begun; sleep 60");
  const first = await line.run(`until exec-server logs ${running} | grep begun; do :; done`);
  expect(first.stdout).toBe("begun\n");
  const following = line.run(`exec-server logs -f ${running}`);
  await line.run(`exec-server kill ${running}`);
  expect(await following).toEqual({ status: 0, stdout: "begun\n", stderr: "" });
});

test.concurrent("logs selects lines at the beginning and at the end", async () => {
  const name = await keepEnded("seq 1 9");
  const logs = async (options: string): Promise<string> =>
    (await line.run(`exec-server logs ${options} ${name}`)).stdout;
  expect(await logs("--head 2")).toBe("1\n2\n");
  expect(await logs("--tail 2")).toBe("8\n9\n");
  expect(await logs("-f -n 1")).toBe("9\n");
  expect(await logs("--tail 0")).toBe("");
  expect(await logs("--head 100")).toBe(await logs("--tail 100"));
});

test.concurrent("logs says when the beginning is no longer retained, and still has its first lines", async () => {
  const name = await keepEnded("seq 1 500000; sleep 0");
  const all = await line.run(`exec-server logs ${name} | tail -1`);
  expect(all.stdout).toBe("500000\n");
  expect(all.stderr).toMatch(/^exec-server: the beginning is no longer retained \(events 1 to \d+\)\n$/);
  expect(await line.run(`exec-server logs --head 2 ${name}`)).toEqual({
    status: 0,
    stdout: "1\n2\n",
    stderr: "",
  });
  expect(await line.run(`exec-server logs --tail 1 ${name}`)).toEqual({
    status: 0,
    stdout: "500000\n",
    stderr: "",
  });
});

test.concurrent("logs --json prints one line for each event, and continues from a number", async () => {
  const name = await keepEnded('echo a; printf "\\377" >&2; exit 4');
  const events = (text: string) =>
    text
      .trim()
      .split("\n")
      .map((one) => JSON.parse(one) as { readonly seq: number; readonly kind: string });
  const { stdout } = await line.run(`exec-server logs --json ${name}`);
  const all = events(stdout);
  expect(all.map(({ seq }) => seq)).toEqual([1, 2, 3, 4]);
  const output = all.filter(({ kind }) => kind === "output").map(({ seq: _seq, ...event }) => event);
  expect(output).toContainEqual({ kind: "output", stream: "stdout", text: "a\n" });
  expect(output).toContainEqual({ kind: "output", stream: "stderr", base64: "/w==" });
  // The end of a process can be known before the end of its output.
  expect(all.find(({ kind }) => kind === "exited")).toMatchObject({ exitCode: 4 });
  expect(all[3]).toEqual({ seq: 4, kind: "closed" });
  expect(events((await line.run(`exec-server logs --json --since-seq 2 ${name}`)).stdout)).toEqual(
    all.slice(1),
  );
});

test.concurrent("logs --timestamps says when each line began", async () => {
  const go = `${line.directory}/go`;
  const before = new Date().toISOString();
  const name = await keep(
    `printf one; until [ -e ${go} ]; do sleep 0.05; done; printf "1\\ntwo\\n"; echo err >&2`,
  );
  await line.run(`until exec-server logs ${name} | grep -q one; do :; done`);
  const between = new Date().toISOString();
  await line.run(`touch ${go}; exec-server wait ${name}`);
  const { stdout, stderr } = await line.run(`exec-server logs --timestamps ${name}`);
  const [first, second] = [...stdout.matchAll(/^(\S+) (.*)$/gm)].map(([, time = "", text]) => ({
    time,
    text,
  }));
  expect([first?.text, second?.text]).toEqual(["one1", "two"]);
  expect(stderr).toMatch(/^\d{4}-\d\d-\d\dT[\d:.]+Z err\n$/);
  const moments = [before, first!.time, between, second!.time, new Date().toISOString()];
  expect(moments.toSorted()).toEqual(moments);
  const json = (await line.run(`exec-server logs --timestamps --json ${name}`)).stdout.split("\n");
  expect(JSON.parse(json[0]!)).toEqual({
    seq: 1,
    time: first!.time,
    kind: "output",
    stream: "stdout",
    text: "one",
  });
});

test.concurrent("logs ends quietly with its reader, and says why stdout takes nothing", async () => {
  const name = await keepEnded("seq 1 100000");
  expect(await line.run(`exec-server logs ${name} | head -1; echo \${PIPESTATUS[0]}`)).toEqual({
    status: 0,
    stdout: "1\n141\n",
    stderr: "",
  });
  expect(await line.run(`exec-server logs ${name} > /dev/full`)).toEqual(
    failed("cannot write to stdout: No space left on device (os error 28)"),
  );
});

test.concurrent("wait passes the status on, of the last name", async () => {
  const [three, zero] = [await keepEnded("exit 3"), await keepEnded("exit 0")];
  expect(await line.run(`exec-server wait ${three}`)).toEqual({ status: 3, stdout: "", stderr: "" });
  expect((await line.run(`exec-server wait ${three} ${zero}`)).status).toBe(0);
  expect((await line.run(`exec-server wait ${zero} ${three}`)).status).toBe(3);
  expect(JSON.parse((await line.run(`exec-server wait --json ${three}`)).stdout)).toMatchObject([
    { name: three, exitCode: 3 },
  ]);
});

test.concurrent("wait --timeout gives up with 124, and the process continues", async () => {
  const name = await keep("exec sleep 60");
  expect(await line.run(`exec-server wait --timeout 100ms ${name}`)).toEqual(
    failed(`${name}: still running after 100ms`, 124),
  );
  expect((await line.run("exec-server ps")).stdout).toMatch(new RegExp(`^${name} +running`, "m"));
  const waiting = line.run(`exec-server wait ${name}`);
  expect(await line.run(`exec-server kill -s KILL ${name}`)).toEqual({
    status: 0,
    stdout: `${name}: sent SIGKILL\n`,
    stderr: "",
  });
  expect((await waiting).status).toBe(137);
});

test.concurrent("kill ends a process, or kills one that does not end, and says how it ended", async () => {
  const name = await keep("exec sleep 60");
  expect(await line.run(`exec-server kill ${name}`)).toEqual({
    status: 0,
    stdout: `${name}: ended by SIGTERM\n`,
    stderr: "",
  });
  expect((await line.run(`exec-server kill ${name}`)).stdout).toBe(
    `${name}: had already ended, ended by SIGTERM\n`,
  );
  const stubborn = await keep('trap "" TERM; echo ready; while :; do sleep 0.1; done');
  await line.run(`until exec-server logs ${stubborn} | grep -q ready; do :; done`);
  expect((await line.run(`exec-server kill --timeout 200ms ${stubborn}`)).stdout).toBe(
    `${stubborn}: ended by SIGKILL\n`,
  );
});

test.concurrent("kill --signal only sends a signal", async () => {
  const name = await keep('trap "echo hup; exit 9" HUP; echo ready; while :; do sleep 0.05; done');
  await line.run(`until exec-server logs ${name} | grep -q ready; do :; done`);
  expect(await line.run(`exec-server kill -s hup ${name}`)).toEqual({
    status: 0,
    stdout: `${name}: sent SIGHUP\n`,
    stderr: "",
  });
  expect((await line.run(`exec-server wait ${name}`)).status).toBe(9);
  expect(await line.run(`exec-server kill -s hup ${name}`)).toEqual(
    failed(`${name} has already ended (exited with 9); nothing was sent`),
  );
});

test.concurrent("logs says why the server has forgotten a process", async () => {
  await using small = await CommandLine.start(["--max-kept-processes", "1"]);
  await small.run("exec-server run -d --name first -- true && exec-server wait first");
  await small.run("exec-server run -d --name second -- true");
  expect(await small.run("exec-server logs first")).toEqual(
    failed(
      "there is no kept process 'first'; it ended, and was forgotten to make room for newer ones (maxKeptProcesses)",
    ),
  );
});

test.concurrent("kill continues after a name that is not known", async () => {
  const name = await keep("exec sleep 60");
  expect(await line.run(`exec-server kill nope ${name}`)).toEqual({
    status: 1,
    stdout: `${name}: ended by SIGTERM\n`,
    stderr: "exec-server: there is no kept process 'nope'; see 'exec-server ps'\n",
  });
});

test.concurrent.each([
  ["logs nope", 1, "there is no kept process 'nope'; see 'exec-server ps'"],
  ["wait nope", 255, "there is no kept process 'nope'; see 'exec-server ps'"],
  ["kill nope", 1, "there is no kept process 'nope'; see 'exec-server ps'"],
  ["logs 'a b'", 2, "'a b' cannot be the name of a process; use up to 128 letters, digits, '_', '.' and '-'"],
  [
    "logs --tail x a",
    2,
    "option '-n, --tail <LINES>' argument 'x' is invalid. Expected a whole number; see 'exec-server logs --help'",
  ],
  [
    "kill --signal FOO a",
    2,
    "option '-s, --signal <SIGNAL>' argument 'FOO' is invalid. Expected one of TERM, KILL, INT, HUP, QUIT, USR1, USR2, STOP, CONT; see 'exec-server kill --help'",
  ],
  ["logs", 2, "missing required argument 'name'; see 'exec-server logs --help'"],
])("exec-server %s ends with %d: %s", async (args, status, message) => {
  expect(await line.run(`exec-server ${args}`)).toEqual(failed(message, status));
});

test.concurrent("rename gives a process another name", async () => {
  const name = await keep("exec sleep 60");
  const other = await keep("exec sleep 60");
  expect(await line.run(`exec-server rename ${name} ${other}`)).toEqual(
    failed(`there is already a kept process ${other}`),
  );
  expect(await line.run(`exec-server rename ${name} .x`)).toMatchObject({ status: 2 });
  expect(await line.run(`exec-server rename ${name} renamed`)).toEqual({ status: 0, stdout: "", stderr: "" });
  expect(await line.run(`exec-server rename ${name} again`)).toEqual(
    failed(`there is no kept process '${name}'; see 'exec-server ps'`),
  );
  expect(await line.run(`exec-server kill renamed ${other}`)).toMatchObject({ status: 0 });
});

test.concurrent("rm removes what has ended, and with --force what runs", async () => {
  const [ended, running] = [await keepEnded("true"), await keep("exec sleep 60")];
  const names = async (): Promise<string[]> =>
    (await line.run("exec-server ps -q")).stdout.trim().split("\n");
  expect(await line.run(`exec-server rm ${running} ${ended} nobody`)).toEqual({
    status: 1,
    stdout: `${ended}\n`,
    stderr:
      `exec-server: ${running} has not ended; end it with 'exec-server kill ${running}', or use --force to do both\n` +
      "exec-server: there is no kept process 'nobody'; see 'exec-server ps'\n",
  });
  expect(await names()).toContain(running);
  expect(await names()).not.toContain(ended);
  expect(await line.run(`exec-server rm -f ${running}`)).toEqual({
    status: 0,
    stdout: `${running}\n`,
    stderr: "",
  });
  expect(await names()).not.toContain(running);
  expect(await line.run(`exec-server logs ${running}`)).toEqual(
    failed(`there is no kept process '${running}'; it ended, and was forgotten on a client's request`),
  );
});

test.concurrent("prune removes everything that has ended", async () => {
  await using own = await CommandLine.start();
  expect(await own.run("exec-server prune")).toEqual({
    status: 0,
    stdout: "",
    stderr: "exec-server: nothing to remove\n",
  });
  for (const name of ["a", "b"])
    await own.run(`exec-server run -d --name ${name} -- true; exec-server wait ${name}`);
  await own.run("exec-server run -d --name c -- sleep 60");
  expect((await own.run("exec-server prune --older-than 1h")).stderr).toBe(
    "exec-server: nothing to remove\n",
  );
  expect(await own.run("exec-server prune")).toEqual({ status: 0, stdout: "a\nb\n", stderr: "" });
  expect((await own.run("exec-server ps -q")).stdout).toBe("c\n");
  await own.run("exec-server rm -f c");
});

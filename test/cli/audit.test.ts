import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { CommandLine } from "./command-line.ts";
import { startCommand } from "./command.ts";

const HEAD = /Head: (\d+:[0-9a-f]{64})\n$/;

/** A command line, and a log that its own server has written. */
async function withLog(): Promise<{ commands: CommandLine; file: string }> {
  const commands = await CommandLine.start();
  const file = join(commands.directory, "audit.jsonl");
  const served = await commands.run(
    `printf '%s\\n' '{"id":1,"method":"initialize","params":{"clientName":"x"}}' '{"method":"initialized","params":{}}' |
     exec-server --listen stdio --audit audit.jsonl --audit-max-bytes 4096 && echo`,
  );
  expect(served.status).toBe(0);
  return { commands, file };
}

it("audit verify says that a log fits, and prints its head, which the server has logged", async () => {
  const { commands, file } = await withLog();
  await using _ = commands;
  const fits = await commands.run("exec-server audit verify audit.jsonl");
  expect(fits).toMatchObject({ status: 0, stderr: "" });
  expect(fits.stdout).toMatch(/^The log is intact: 5 lines, from 1 to 5\.\n/);
  const [, head] = HEAD.exec(fits.stdout) ?? [];
  const known = await commands.run(`exec-server audit verify audit.jsonl --head ${head} --json`);
  expect(JSON.parse(known.stdout)).toMatchObject({ fits: true, lines: 5, first: 1, lost: 0 });
  const text = readFileSync(file, "utf8");

  writeFileSync(file, text.replace('"x"', '"y"'));
  expect(await commands.run("exec-server audit verify audit.jsonl")).toMatchObject({
    status: 1,
    stdout: "",
    stderr: "exec-server: audit.jsonl:3: line 3 was changed: its hash does not match\n",
  });
  writeFileSync(file, text.slice(0, text.lastIndexOf("\n", text.length - 2) + 1));
  expect(await commands.run("exec-server audit verify audit.jsonl")).toMatchObject({ status: 0 });
  const cut = await commands.run(`exec-server audit verify audit.jsonl --head ${head} --json`);
  expect(cut.status).toBe(1);
  expect(JSON.parse(cut.stdout)).toMatchObject({ fits: false, fault: { kind: "cutOff", line: 5 } });
  rmSync(file);
  expect(await commands.run("exec-server audit verify audit.jsonl")).toMatchObject({
    status: 2,
    stderr: expect.stringMatching(/^exec-server: cannot read the audit log audit\.jsonl: .*\n$/) as string,
  });
  for (const wrong of ["--head 12", "--head x:y"])
    expect(await commands.run(`exec-server audit verify audit.jsonl ${wrong}`)).toMatchObject({ status: 2 });
});

it("a killed server leaves a log that fits, and the next one continues it and logs the head", async () => {
  const { commands, file } = await withLog();
  await using _ = commands;
  const socket = join(commands.directory, "s");
  const serve = ["serve", "--listen", `unix://${socket}`, "--audit", file];
  const first = startCommand(serve);
  await first.shows("ws+unix");
  const ran = await commands.run(`exec-server --url ws+unix://${socket} run -- echo hello`, {
    env: { EXEC_SERVER_URL: undefined },
  });
  expect(ran).toMatchObject({ status: 0, stdout: "hello\n" });
  // A killed server may lose its last 20 ms.
  await expect.poll(() => readFileSync(file, "utf8"), { timeout: 20_000 }).toContain('"ended"');
  process.kill(first.child.pid!, "SIGKILL");
  await first.ended();
  const second = startCommand(serve);
  await second.shows("ws+unix");
  process.kill(second.child.pid!, "SIGTERM");
  const { stderr } = await second.ended();
  const fits = await commands.run("exec-server audit verify audit.jsonl");
  const [, head = "none"] = HEAD.exec(fits.stdout) ?? [];
  expect(fits.status).toBe(0);
  expect(stderr).toContain(head);
  const events = readFileSync(file, "utf8")
    .trim()
    .split("\n")
    .map((line) => (JSON.parse(line) as { event: string }).event);
  expect(events.filter((event) => event === "opened")).toHaveLength(3);
  expect(events.filter((event) => event === "stopped")).toHaveLength(2);
  for (const event of ["start", "ended"]) expect(events).toContain(event);
});

it.each([
  ["--audit-failure continue", "the argument '--audit-failure <MODE>' needs '--audit <PATH>'"],
  [
    "--audit a --audit-failure maybe",
    "invalid value 'maybe' for '--audit-failure <MODE>': expected refuse, continue",
  ],
  [
    "--audit a --audit-max-bytes 5",
    "invalid value '5' for '--audit-max-bytes <BYTES>': it must be a number of at least 4096",
  ],
])("serve %s is a mistake", async (args, message) => {
  await using commands = await CommandLine.start();
  expect(await commands.run(`exec-server serve ${args}`)).toMatchObject({
    status: 2,
    stderr: expect.stringContaining(message) as string,
  });
});

it("the table audit of a configuration file is the same, and its mistakes are named", async () => {
  const { commands } = await withLog();
  await using _ = commands;
  writeFileSync(
    join(commands.directory, "c.toml"),
    '[audit]\nfile = "b.jsonl"\non_failure = "continue"\nmax_bytes = 8192\n',
  );
  expect(await commands.run("exec-server --listen stdio --config c.toml </dev/null")).toMatchObject({
    status: 0,
  });
  expect((await commands.run("exec-server audit verify b.jsonl")).stdout).toContain("The log is intact");
  for (const [line, fault] of [
    ["max_bytes = 1", "c.toml:3: audit.max_bytes must be a number of at least 4096"],
    ['on_failure = "x"', 'c.toml:3: audit.on_failure must be "refuse" or "continue"'],
    ["nope = 1", "c.toml:3: audit.nope is not a known key"],
  ]) {
    writeFileSync(join(commands.directory, "c.toml"), `[audit]\nfile = "b.jsonl"\n${line}\n`);
    expect((await commands.run("exec-server --listen stdio --config c.toml </dev/null")).stderr).toContain(
      fault,
    );
  }
});

it("audit show and tail print a log for people, and as it is", async () => {
  const { commands } = await withLog();
  await using _ = commands;
  const shown = await commands.run("exec-server audit show audit.jsonl");
  expect(shown).toMatchObject({ status: 0, stderr: "" });
  expect(shown.stdout.split("\n")).toHaveLength(6);
  expect(shown.stdout).toMatch(/^\d{4}-\d\d-\d\dT[\d:]+Z {2}\S+ +session +client=x /m);
  const raw = await commands.run("exec-server audit show audit.jsonl --event session --json");
  expect(JSON.parse(raw.stdout)).toMatchObject({ event: "session", client: "x", n: 3 });
  const last = await commands.run("exec-server audit tail -n 1 audit.jsonl");
  expect(last.stdout).toMatch(/ stopped\n$/);
  expect((await commands.run("exec-server audit tail audit.jsonl --since 2100-01-01")).stdout).toBe("");
  expect(await commands.run("exec-server audit show nowhere")).toMatchObject({
    status: 2,
    stderr: expect.stringMatching(/^exec-server: cannot read the audit log nowhere: .*\n$/) as string,
  });
  expect(await commands.run("exec-server audit show audit.jsonl --since soon")).toMatchObject({ status: 2 });
});

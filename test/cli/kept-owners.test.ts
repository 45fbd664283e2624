import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { createHash } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { CommandLine, type Ended } from "./command-line.ts";

let directory: string;
let line: CommandLine;
beforeAll(async () => {
  directory = await mkdtemp("/var/tmp/exec-server-owners-");
  const table = join(directory, "tokens.toml");
  const entry = (name: string, rest: string): string =>
    `[[token]]\nname = "${name}"\nsha256 = "${createHash("sha256").update(name).digest("hex")}"\n${rest}\n`;
  writeFileSync(
    table,
    [
      ...["ann", "bob"].map((name) => entry(name, 'preset = "full"')),
      entry("watch", 'preset = "observe"\nsee = ["ann"]'),
      entry("boss", 'preset = "full"\ncontrol = ["*"]'),
    ].join(""),
  );
  line = await CommandLine.start(["--ws-auth", "token-table", "--ws-token-table", table]);
  for (const name of ["ann", "bob"])
    expect(await as(name, `run -d --name web -- sh -c 'echo ${name}; exec sleep 600'`)).toMatchObject({
      status: 0,
    });
  expect(await as("bob", "run -d -t --name top -- sleep 600")).toMatchObject({ status: 0 });
});
afterAll(async () => {
  await line?.[Symbol.asyncDispose]();
  await rm(directory, { recursive: true, force: true });
});

/** Runs a command with a token, which is its own name. */
const as = (token: string, command: string): Promise<Ended> =>
  line.run(`exec-server ${command}`, { env: { EXEC_SERVER_TOKEN: token } });

test("ps shows owners only if there are several, and names that can be typed", async () => {
  expect((await as("ann", "ps")).stdout).toMatch(/^NAME +STATUS .*\nweb +running/);
  expect((await as("watch", "ps")).stdout).toMatch(/^NAME +STATUS .*\nweb +running/);
  const { stdout } = await as("boss", "ps");
  expect(stdout).toMatch(
    /^NAME +OWNER +STATUS .*\nweb +ann +running .*\nweb +bob +running .*\ntop +bob +running .*\n$/,
  );
  expect((await as("boss", "ps -q")).stdout).toBe("ann/web\nbob/web\ntop\n");
  const listed = JSON.parse((await as("boss", "ps --json")).stdout) as { name: string; owner: string }[];
  expect(listed.map(({ owner, name }) => [owner, name])).toEqual([
    ["name:ann", "web"],
    ["name:bob", "web"],
    ["name:bob", "top"],
  ]);
  // On a busy machine the server may be too late.
  const completed = async (): Promise<string> => (await as("boss", "complete -- logs b")).stdout;
  await expect.poll(completed, { timeout: 60_000 }).toContain("bob/web");
});

test("OWNER/NAME means the process of that owner, and a name that several have is one clear error", async () => {
  const several =
    "several owners have a kept process web: name:ann, name:bob; name the owner, as in OWNER/web";
  for (const command of ["logs web", "kill web", "attach web"])
    expect(await as("boss", command)).toMatchObject({ stdout: "", stderr: `exec-server: ${several}\n` });
  expect(await as("boss", "logs bob/web")).toEqual({ status: 0, stdout: "bob\n", stderr: "" });
  expect(await as("boss", "logs name:ann/web")).toEqual({ status: 0, stdout: "ann\n", stderr: "" });
  expect(await as("watch", "logs ann/web")).toEqual({ status: 0, stdout: "ann\n", stderr: "" });
  // Its own comes first.
  expect(await as("ann", "logs web")).toEqual({ status: 0, stdout: "ann\n", stderr: "" });
  expect(await as("boss", "kill bob/web")).toEqual({
    status: 0,
    stdout: "bob/web: ended by SIGTERM\n",
    stderr: "",
  });
  expect(await as("boss", "wait bob/web")).toMatchObject({ status: 143 });
  expect((await as("ann", "ps")).stdout).toContain("running");
});

test("rm means the client's own process, whatever those of others do", async () => {
  expect(await as("boss", "run -d --name web -- true")).toMatchObject({ status: 0 });
  expect(await as("boss", "wait web")).toMatchObject({ status: 0 });
  expect(await as("boss", "rm ann/web")).toMatchObject({ status: 1, stdout: "" });
  expect(await as("boss", "rm web")).toEqual({ status: 0, stdout: "web\n", stderr: "" });
  expect((await as("ann", "ps")).stdout).toContain("running");
});

test("what a token may not do with the processes of others is one line", async () => {
  expect(await as("watch", "kill ann/web")).toEqual({
    status: 1,
    stdout: "",
    stderr:
      "exec-server: the token watch may not use process/attach with mode control: its preset observe does not have the right control\n",
  });
  for (const name of ["bob/web", "nobody/web", "ann/none"])
    expect(await as("watch", `logs ${name}`)).toEqual({
      status: 1,
      stdout: "",
      stderr: `exec-server: there is no kept process '${name}'; see 'exec-server ps'\n`,
    });
  expect(await as("boss", "logs /web")).toMatchObject({
    status: 2,
    stderr: "exec-server: '/web' has no owner before its slash: write OWNER/NAME\n",
  });
});

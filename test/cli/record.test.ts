import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { builtCli, type ServerUnderTest, startServer } from "../fault/server-under-test.ts";
import { runCommand } from "./command.ts";
import { Tmux, type TmuxTerminal, untilSize } from "./tmux.ts";

// `exec-server record` and `replay` in a real terminal.

let tmux: Tmux;
let server: ServerUnderTest;

beforeAll(async () => {
  server = await startServer();
  tmux = await Tmux.start();
});

afterAll(async () => {
  await tmux[Symbol.asyncDispose]();
  await server[Symbol.asyncDispose]();
});

const terminal = (...args: string[]): Promise<TmuxTerminal> =>
  tmux.open([process.execPath, builtCli, ...args], { env: { EXEC_SERVER_URL: server.url } });

const eventsOf = (file: string): [number, string, string][] =>
  readFileSync(file, "utf8")
    .trimEnd()
    .split("\n")
    .slice(1)
    .map((line) => JSON.parse(line) as [number, string, string]);

test("A recording plays what the terminal showed, with its status and its sizes", async () => {
  const file = join(tmux.home, "demo.cast");
  const script = `printf '\\033[32mgreen é\\033[m\\n'; read answer; ${untilSize(70, 20)}; exit 6`;
  const recorded = await terminal("record", file, "--", "sh", "-c", script);
  await recorded.shows("green é");
  await recorded.resize(70, 20);
  await recorded.enter("typed");
  await recorded.shows("size is 20 70");
  expect(await recorded.status()).toBe(6);
  expect(JSON.parse(readFileSync(file, "utf8").split("\n")[0]!)).toMatchObject({
    version: 2,
    width: 80,
    height: 24,
  });
  expect(
    eventsOf(file)
      .filter(([, kind]) => kind === "r")
      .map(([, , size]) => size),
  ).toContain("70x20");
  const played = await terminal("replay", "--speed", "100", file);
  await played.shows(/green é\ntyped\nsize is 20 70/);
  expect(await played.status()).toBe(0);
});

test("Whoever leaves with ~. has a recording up to that moment", async () => {
  const file = join(tmux.home, "left.cast");
  const recorded = await terminal("record", file, "--", "sh", "-c", "echo here; exec cat");
  await recorded.shows("here");
  await recorded.press("Enter");
  await recorded.type("~.");
  expect(await recorded.status()).toBe(255);
  expect(
    eventsOf(file)
      .map(([, , text]) => text)
      .join(""),
  ).toContain("here\r\n");
});

test("A file that exists is not replaced by accident, and what is no recording is not played", async () => {
  const file = join(tmux.home, "precious");
  writeFileSync(file, "precious\n");
  const env = { EXEC_SERVER_URL: server.url };
  expect(await runCommand(["record", file, "true"], { env })).toMatchObject({
    status: 255,
    stderr: `exec-server: ${file} exists; --force replaces it\n`,
  });
  expect((await runCommand(["record", "--force", file, "no-such-program"], { env })).status).toBe(127);
  expect(readFileSync(file, "utf8")).toBe("precious\n");
  expect(await runCommand(["replay", file])).toMatchObject({
    status: 1,
    stderr: `exec-server: ${file} is not an asciicast (version 2 or 3)\n`,
  });
  expect(await runCommand(["replay", join(tmux.home, "missing")])).toMatchObject({
    status: 1,
    stderr: `exec-server: cannot read ${join(tmux.home, "missing")}: No such file or directory (os error 2)\n`,
  });
});

test("A recording of version 3 counts from the previous event, and pauses can be shortened", async () => {
  const lines = [
    '{"version":3,"term":{"cols":80,"rows":24}}',
    '[0.1,"o","a"]',
    "# a comment",
    '[3600,"o","b"]',
    '[0.1,"x","1"]',
  ];
  const { status, stdout } = await runCommand(["replay", "--max-idle", "10ms", "-"], {
    input: lines.join("\n"),
  });
  expect({ status, stdout }).toEqual({ status: 0, stdout: "ab" });
  const broken = await runCommand(["replay", "-"], { input: `${lines[0]}\n[1,"o"]` });
  expect(broken).toMatchObject({
    status: 1,
    stderr: "exec-server: line 2 of - is not an event of a recording\n",
  });
});

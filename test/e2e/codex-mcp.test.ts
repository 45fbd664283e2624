import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { Relay } from "../client/relay.ts";
import { builtCli, startServer } from "../fault/server-under-test.ts";
import { runCodex, toml } from "./codex-run.ts";
import { call, MockModel, type Step, type ToolOutput } from "./mock-model.ts";
import { ONE_PIXEL_PNG } from "./one-pixel.ts";

let place: string;
const at = (...names: readonly string[]): string => join(place, ...names);
beforeEach(() => {
  // A sandbox protects it: it is not among the directories for temporary files.
  place = realpathSync(mkdtempSync("/var/tmp/es-codex-mcp-"));
  for (const name of ["home", "here", "root", "origin"]) mkdirSync(at(name));
});
afterEach(() => rmSync(place, { recursive: true, force: true, maxRetries: 5 }));

const tool = (name: string, args: object = {}): Step => call(name, args, "mcp__hands");
const sh = (cmd: string, more: object = {}): Step => tool("exec_command", { cmd, login: false, ...more });

const started = (args: readonly string[]): string => `[mcp_servers.hands]
  command = ${toml(process.execPath)}
  args = ${toml([builtCli, "mcp", "--root", at("root"), ...args])}`;

/** Has the real Codex carry out a script with the hands of this configuration. */
async function play(
  config: string,
  steps: readonly Step[],
  env: Record<string, string> = {},
): Promise<readonly ToolOutput[]> {
  await using model = await MockModel.start(steps);
  const { code, stderr } = await runCodex({
    home: at("home"),
    workspace: at("here"),
    modelOrigin: model.origin,
    environment: { variables: {} },
    config,
    env,
  });
  expect({ code, stderr }).toMatchObject({ code: 0 });
  return model.outputs;
}

/** A repository whose test fails. */
function makeRepository(): void {
  writeFileSync(at("origin", "add.sh"), "echo $(($1 - $2))\n");
  writeFileSync(
    at("origin", "test.sh"),
    '[ "$(sh add.sh 2 3)" = 5 ] && echo green || { echo red; exit 1; }\n',
  );
  const git = (...args: readonly string[]): unknown =>
    execFileSync("git", ["-c", "user.name=a", "-c", "user.email=a@b.c", ...args], { cwd: at("origin") });
  git("init", "-q");
  git("add", ".");
  git("commit", "-qm", "begin");
}

it("repairs a repository on a machine whose connection is lost time and again", async () => {
  makeRepository();
  await using server = await startServer();
  await using relay = await Relay.open(server.port);
  const cutting =
    (step: Step): Step =>
    (outputs) => {
      relay.cut();
      return typeof step === "function" ? step(outputs) : step;
    };
  const outputs = await play(started(["--url", `ws://127.0.0.1:${relay.port}`]), [
    sh(`git clone -q ${at("origin")} work && cd work && sh test.sh`),
    cutting(tool("search_files", { pattern: "- \\$2", path: "work" })),
    cutting(tool("read_file", { path: "work/add.sh" })),
    cutting(tool("edit_file", { path: "work/add.sh", old_string: "$1 - $2", new_string: "$1 + $2" })),
    (async () => {
      setTimeout(() => relay.cut(), 500);
      return await Promise.resolve(sh("sleep 1; sh test.sh && git diff --stat", { workdir: "work" }));
    }) as Step,
  ]);
  const [cloned, found, read, edited, tested] = outputs.map(({ text }) => text);
  expect(cloned).toContain("red");
  expect(found).toContain(at("root", "work", "add.sh"));
  expect(read).toContain("$1 - $2");
  expect(edited).toContain("+echo $(($1 + $2))");
  expect(tested).toContain("green");
  expect(tested).toContain("add.sh | 2 +-");
  expect(readFileSync(at("root", "work", "add.sh"), "utf8")).toBe("echo $(($1 + $2))\n");
  expect(readFileSync(at("origin", "add.sh"), "utf8")).toBe("echo $(($1 - $2))\n");
});

const TOKEN = "a token that is too long to be guessed";

/** How Codex gets hands: a program that it starts, or a server over HTTP. */
const WAYS = {
  "over stdio": async (use: (config: string) => Promise<void>) =>
    await use(started(["--url", "stdio", "--network"])),
  "over HTTP": async (use: (config: string) => Promise<void>) => {
    const sha256 = createHash("sha256").update(TOKEN).digest("hex");
    const token = ["--ws-auth", "capability-token", "--ws-token-sha256", sha256];
    await using server = await startServer({
      args: ["--mcp", "--mcp-root", at("root"), "--mcp-network", ...token],
    });
    await use(`[mcp_servers.hands]
      url = ${toml(`http://127.0.0.1:${server.port}/mcp`)}
      bearer_token_env_var = "HANDS_TOKEN"`);
  },
};

it.each(Object.entries(WAYS))("uses every tool %s", async (_, withHands) => {
  writeFileSync(at("root", "dot.png"), Buffer.from(ONE_PIXEL_PNG, "base64"));
  await withHands(async (config) => {
    const outputs = await play(
      config,
      [
        sh("read line; echo got $line; sleep 100", { tty: true, yield_time_ms: 250 }),
        tool("write_stdin", { session_id: 1, chars: "it\n" }),
        tool("wait_for", { session_id: 1, pattern: "nothing", timeout_ms: 300 }),
        tool("read_output", { session_id: 1 }),
        tool("list_processes"),
        tool("kill_process", { session_id: 1 }),
        tool("write_file", { path: "a.txt", content: "one\n" }),
        tool("edit_file", { path: "a.txt", old_string: "one", new_string: "two" }),
        tool("read_file", { path: "a.txt" }),
        tool("read_file", { path: "dot.png" }),
        tool("list_directory"),
        tool("search_files", { pattern: "^t" }),
        tool("http_request", { url: "http://127.0.0.1:1/" }),
        tool("write_file", { path: "../outside", content: "x" }),
      ],
      { HANDS_TOKEN: TOKEN },
    );
    const said = outputs.map(({ text }) => text);
    for (const [index, words] of [
      '"running":true',
      "got it",
      '"reason":"timeout"',
      "got it",
      '"session_id":1',
      '"running":false',
      '"created":true',
      "+two",
      "two",
      "",
      '"name":"a.txt"',
      '"line":1',
      "http_request: ",
      "they can write below",
    ].entries())
      expect({ index, said: said[index] }).toEqual({ index, said: expect.stringContaining(words) });
    expect(outputs[9]?.imageUrls).toHaveLength(1);
  });
});

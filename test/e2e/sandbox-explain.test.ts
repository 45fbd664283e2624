import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { findDeceiving } from "../../src/base/visible-text.ts";
import { runProgram } from "./run-program.ts";

// `exec-server sandbox explain`: what a sandbox means on this machine.

let base: string;
let cwd: string;

beforeAll(() => {
  base = mkdtempSync("/var/tmp/exec-server-explain-");
  cwd = join(base, "work");
  mkdirSync(join(cwd, ".git/objects"), { recursive: true });
  mkdirSync(join(cwd, "sub"));
  writeFileSync(join(cwd, "sub/.env"), "");
  symlinkSync("sub", join(cwd, "linked"));
});

afterAll(() => rmSync(base, { recursive: true, force: true }));

const explain = (...args: readonly string[]) => runProgram(["sandbox", "explain", ...args], { cwd: base });

function file(name: string, text: string): string {
  const path = join(base, name);
  writeFileSync(path, text);
  return path;
}

describe.concurrent("sandbox explain", () => {
  test("prints what a preset means in a directory", async () => {
    const { status, stdout, stderr } = await explain("--cwd", "work", "--sandbox", "workspace-write");
    expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
    const lines = stdout.split("\n");
    expect(lines[0]).toBe(`A process in ${cwd}:`);
    expect(lines).toEqual(
      expect.arrayContaining([
        expect.stringMatching(new RegExp(`^${cwd} +write +rule$`)),
        expect.stringMatching(new RegExp(`^${cwd}/\\.git +read +rule$`)),
        expect.stringMatching(new RegExp(`^${cwd}/\\.codex +reserved +rule$`)),
        expect.stringMatching(/^\/tmp +write +rule$/),
        expect.stringMatching(/^everything else +read +rule for \/$/),
        "network: none",
      ]),
    );
  });

  test("takes the library's object, and searches its patterns", async () => {
    const context = file("options.json", JSON.stringify({ deny: ["**/.env", "linked"], network: true }));
    const { status, stdout } = await explain("--cwd", cwd, "--context", context, "--json");
    expect(status).toBe(0);
    expect(JSON.parse(stdout)).toEqual({
      cwd,
      sandbox: true,
      network: "enabled",
      everythingElse: "read",
      paths: [{ path: join(cwd, "sub"), access: "hidden", reason: `rule for ${cwd}/linked` }],
      patterns: [`${cwd}/**/.env`],
    });
  });

  test("takes a context of the protocol", async () => {
    const permissions = { type: "disabled" };
    const context = file("context.json", JSON.stringify({ permissions, windowsSandboxLevel: "disabled" }));
    expect(await explain("--context", context)).toEqual({
      status: 0,
      stdout: "The context does not ask for a sandbox: everything is allowed.\n",
      stderr: "",
    });
    const { stdout } = await explain("--context", context, "--json");
    expect(JSON.parse(stdout)).toEqual({ cwd: base, sandbox: false });
  });

  test("narrows the sandbox of a server", async () => {
    const config = file("server.toml", `[sandbox]\nwrite = ["${cwd}/sub"]\nnetwork = true\n`);
    const alone = JSON.parse((await explain("--config", config, "--json")).stdout) as Record<string, unknown>;
    expect(alone).toMatchObject({ network: "enabled", everythingElse: "read" });
    expect(alone["paths"]).toContainEqual({ path: join(cwd, "sub"), access: "write", reason: "rule" });
    const both = await explain("--config", config, "--sandbox", "read-only", "--json");
    expect(JSON.parse(both.stdout)).toMatchObject({
      network: "restricted",
      everythingElse: "read",
      paths: [{ path: base, access: "hidden", reason: "belongs to the server" }],
    });
  });

  test.each([
    [["--sandbox", "nothing"], 2, "error: invalid value 'nothing' for '--sandbox <NAME>'"],
    [[], 2, "error: one of '--sandbox <NAME>', '--context <FILE>' and '--config <PATH>' is required"],
    [
      ["--sandbox", "read-only", "--context", "x"],
      2,
      "error: the argument '--sandbox <NAME>' cannot be used with",
    ],
    [["--sandbox", "read-only", "--cwd", "missing"], 1, /^Error: \/\S+\/missing is not a directory\n$/],
    [
      ["--context", "missing.json"],
      1,
      "Error: failed to read missing.json: No such file or directory (os error 2)",
    ],
  ])("refuses %j", async (args, status, message) => {
    const ended = await explain(...args);
    expect(ended).toMatchObject({ status, stdout: "" });
    if (typeof message === "string") expect(ended.stderr.startsWith(message)).toBe(true);
    else expect(ended.stderr).toMatch(message);
  });

  test.each([
    ["no-json", "{", /no-json is not JSON: /],
    [
      "no-context",
      '{"permissions":{"type":"managed"}}',
      /no-context is not a sandbox context: missing field/,
    ],
    ["no-option", '{"writes":[]}', /^Error: a sandbox has no "writes"; it has write, read, deny, network\n$/],
  ])("says what is wrong in a file with %s", async (name, text, message) => {
    const ended = await explain("--context", file(name, text));
    expect(ended).toMatchObject({ status: 1, stdout: "" });
    expect(ended.stderr).toMatch(message);
  });

  test("prints nothing that a terminal would carry out, whatever names are given", async () => {
    const name = `evil\u001b]0;x\u0007\u009b31m\u202e`;
    const place = join(base, name);
    mkdirSync(place, { recursive: true });
    const escaped = "evil\\x1b]0;x\\x07\\x9b31m\\u202e";
    const preset = ["--sandbox", "workspace-write"];
    const { stdout } = await explain("--cwd", place, ...preset);
    expect(stdout).toContain(`A process in ${base}/${escaped}:\n`);
    const json = await explain("--cwd", place, ...preset, "--json");
    expect(JSON.parse(json.stdout)).toMatchObject({ cwd: place });
    const wrong = await Promise.all([
      explain("--cwd", join(place, "missing"), ...preset),
      runProgram(["serve", "--config", join(place, "missing")]),
      runProgram(["serve", `--${name}`]),
      runProgram(["doctor", `--${name}`]),
    ]);
    for (const { stderr } of wrong) expect(stderr).toContain(escaped);
    for (const text of [stdout, json.stdout, ...wrong.map(({ stderr }) => stderr)])
      expect(findDeceiving(text.replaceAll("\n", ""))).toBe(-1);
  });

  test("has one subcommand, and a help", async () => {
    expect(await runProgram(["sandbox"])).toMatchObject({ status: 2, stdout: "" });
    expect(await runProgram(["sandbox", "open"])).toMatchObject({
      status: 2,
      stderr: "error: unrecognized subcommand 'open'\n\nFor more information, try '--help'.\n",
    });
    const { status, stdout } = await runProgram(["sandbox", "explain", "--help"]);
    expect({ status, first: stdout.split("\n")[0] }).toEqual({
      status: 0,
      first: "Print what a sandbox allows on this machine",
    });
  });
});

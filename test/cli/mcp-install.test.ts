import {
  existsSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  realpathSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { parse } from "smol-toml";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { builtCli } from "../fault/server-under-test.ts";
import { Person } from "./person.ts";

let person: Person;
beforeEach(() => {
  person = new Person();
});
afterEach(() => person[Symbol.asyncDispose]());

const at = (name: string): string => join(person.home, name);
const read = (name: string): string => readFileSync(at(name), "utf8");
const started = (...args: readonly string[]) => ({
  command: process.execPath,
  args: [builtCli, "mcp", ...args],
});
const mcp = (...args: readonly string[]) => person.run(["mcp", ...args]);

describe("install writes", () => {
  it.each([
    ["claude-code", ".mcp.json", "mcpServers"],
    ["cursor", ".cursor/mcp.json", "mcpServers"],
    ["vscode", ".vscode/mcp.json", "servers"],
  ])("the project's file for %s", async (client, file, section) => {
    const { status, stdout } = await mcp("install", client, "--project", "--read-only");
    expect({ status, stdout }).toEqual({
      status: 0,
      stdout: expect.stringContaining(`has the server 'exec-server' in ${realpathSync(at(file))}; restart `),
    });
    expect(JSON.parse(read(file))).toEqual({
      [section]: { "exec-server": expect.objectContaining(started("--root", person.home, "--read-only")) },
    });
  });

  it("the user's file for Codex, whose other contents stay", async () => {
    mkdirSync(at(".codex"));
    const text =
      '# mine\nmodel = "x"\n\n[mcp_servers.exec-server]\ncommand = "old"\n\n# two\n[mcp_servers.two]\ncommand = "z"\n';
    writeFileSync(at(".codex/config.toml"), text, { mode: 0o640 });
    const { status } = await mcp("install", "codex", "--root", "src", "--network");
    expect(status).toBe(0);
    const written = read(".codex/config.toml");
    expect(written).toContain('# mine\nmodel = "x"\n\n# two\n[mcp_servers.two]\ncommand = "z"\n');
    expect(parse(written)).toEqual({
      model: "x",
      mcp_servers: { two: { command: "z" }, "exec-server": started("--root", at("src"), "--network") },
    });
    expect(statSync(at(".codex/config.toml")).mode & 0o777).toBe(0o640);
  });

  it("after a byte order mark, and with the line ends of the file", async () => {
    writeFileSync(at(".mcp.json"), '\ufeff{"mcpServers":{"o":{"command":"x"}},"n":1}\r\n');
    expect((await mcp("install", "claude-code", "--project")).status).toBe(0);
    const written = read(".mcp.json");
    expect(JSON.parse(written.slice(1))).toMatchObject({ mcpServers: { o: { command: "x" } }, n: 1 });
    expect([written.lastIndexOf("\ufeff"), /[^\r]\n/.test(written)]).toEqual([0, false]);
  });

  it("nothing through a link that leads nowhere", async () => {
    symlinkSync("/nonexistent/x", at(".mcp.json"));
    expect(await mcp("install", "claude-code", "--project")).toMatchObject({
      status: 1,
      stderr: expect.stringContaining("it is a link to a file that does not exist"),
    });
    expect(lstatSync(at(".mcp.json")).isSymbolicLink()).toBe(true);
  });

  it("beside comments, and again in the same place", async () => {
    mkdirSync(at(".vscode"));
    writeFileSync(at(".vscode/mcp.json"), '{\n  // mine\n  "servers": {\n    "a": {}, // last\n  },\n}\n');
    await mcp("install", "vscode", "--project", "--tools", "read_file");
    await mcp("install", "vscode", "--project");
    const { command, args } = started("--root", person.home);
    expect(read(".vscode/mcp.json")).toBe(
      `{\n  // mine\n  "servers": {\n    "a": {}, // last\n    "exec-server": ${JSON.stringify({ type: "stdio", command, args }, undefined, 2).replaceAll("\n", "\n    ")}\n  },\n}\n`,
    );
  });

  it("nothing into a file that it does not understand", async () => {
    for (const [text, said] of [
      ['{\n"mcpServers": {,}}', "line 2 is not JSON; correct it first"],
      ["[]", "it does not hold an object"],
      ['{"mcpServers": 1}', "mcpServers is not an object"],
    ] as const) {
      writeFileSync(at(".mcp.json"), text);
      const { status, stderr } = await mcp("install", "claude-code", "--project");
      expect({ status, stderr }).toEqual({ status: 1, stderr: expect.stringContaining(said) });
      expect(read(".mcp.json")).toBe(text);
    }
    mkdirSync(at(".codex"));
    const inline = 'mcp_servers = { "exec-server" = { command = "x" } }\n';
    writeFileSync(at(".codex/config.toml"), inline);
    const { status, stderr } = await mcp("install", "codex");
    expect({ status, stderr }).toEqual({ status: 1, stderr: expect.stringContaining("by hand") });
    expect(read(".codex/config.toml")).toBe(inline);
  });

  it("no file that is not there, or not ours", async () => {
    for (const [client, said] of [
      ["claude-desktop", "Edit Config"],
      ["claude-code", "pass --project"],
      ["vscode", "pass --project"],
    ] as const) {
      const { status, stderr } = await mcp("install", client);
      expect({ status, stderr }).toEqual({ status: 2, stderr: expect.stringContaining(said) });
    }
    expect(existsSync(at(".mcp.json"))).toBe(false);
  });
});

describe("a token", () => {
  const env = { EXEC_SERVER_TOKEN: "secret-token" };
  const url = ["--url", "wss://build.example", "--root", "/srv"];

  it.each([
    ["claude-code", "${EXEC_SERVER_TOKEN}"],
    ["cursor", "${env:EXEC_SERVER_TOKEN}"],
    ["vscode", "${env:EXEC_SERVER_TOKEN}"],
    ["codex", 'env_vars = [ "EXEC_SERVER_TOKEN" ]'],
  ])("is passed on by %s", async (client, reference) => {
    const { status, stdout } = await person.run(["mcp", "config", client, ...url], { env });
    expect({ status, stdout }).toEqual({ status: 0, stdout: expect.stringContaining(reference) });
    expect(stdout).not.toContain("secret");
  });

  it("is named by its file", async () => {
    writeFileSync(at("t"), "secret-token");
    const { stdout } = await mcp("config", "claude-desktop", ...url, "--token-file", "t");
    expect(JSON.parse(stdout)).toEqual({
      mcpServers: {
        "exec-server": started("--url", "wss://build.example", "--token-file", at("t"), "--root", "/srv"),
      },
    });
  });

  it("is not written, wherever it is", async () => {
    const desktop = await person.run(["mcp", "config", "claude-desktop", ...url], { env });
    expect(desktop).toMatchObject({ status: 2, stdout: "", stderr: expect.stringContaining("--token-file") });
    const inUrl = await mcp(
      "config",
      "cursor",
      "--url",
      "wss://build.example/?token=secret",
      "--root",
      "/srv",
    );
    expect(inUrl).toMatchObject({ status: 2, stdout: "", stderr: expect.stringContaining("secret") });
    expect(inUrl.stderr).not.toContain("token=");
  });
});

it("mistakes are said", async () => {
  for (const [args, said] of [
    [["config"], "missing required argument"],
    [["config", "emacs"], "Allowed choices are claude-code, claude-desktop, codex, cursor, vscode"],
    [["config", "codex", "--name", "a b"], "--name needs up to 64 letters"],
    [
      ["config", "codex", "--url", "ws://h", "--root", "relative"],
      "--root must be an absolute path on another machine",
    ],
    [["--sandbox", "none", "--read-only"], "--read-only needs a sandbox"],
    [["--sandbox", "none", "--network"], "leave out --network"],
    [["--tools", "read_file,rm"], "there is no tool 'rm' here; there are exec_command"],
    [["--read-only", "--tools", "write_file"], "there is no tool 'write_file' here"],
  ] as const) {
    const { status, stdout, stderr } = await mcp(...args);
    expect({ args, status, stdout, stderr }).toMatchObject({
      status: 2,
      stdout: "",
      stderr: expect.stringContaining(said),
    });
  }
});

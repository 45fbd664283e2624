import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { CliError } from "./cli-error.ts";
import { readLimits } from "./config-file.ts";

let path: string;
let directory: string;

beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), "exec-server-config-"));
  path = join(directory, "limits.toml");
});

afterAll(() => rmSync(directory, { recursive: true, force: true }));

function read(text: string) {
  writeFileSync(path, text);
  return readLimits(path);
}

describe("readLimits", () => {
  it("reads numbers, switches and paths", async () => {
    const text = `
      [limits]
      max_connections = 1_000
      allow_direct_exec = false
      fs_roots = ["/srv/work", "/tmp"]
    `;
    expect(await read(text)).toEqual({
      maxConnections: 1000,
      allowDirectExec: false,
      fsRoots: ["/srv/work", "/tmp"],
    });
  });

  it("takes an empty file and an empty table for no limits", async () => {
    expect(await read("")).toEqual({});
    expect(await read("# nothing\n[limits]\n")).toEqual({});
  });

  it.each([
    ["an unknown key", "[limits]\n\nmax_conections = 1\n", "3: limits.max_conections is not a known key"],
    ["an unknown table", "[limits]\n[server]\nx = 1\n", "2: server is not a known key"],
    ["a key outside the table", "max_connections = 1\n", "1: max_connections is not a known key"],
    ["another spelling", "limits.maxSessions = 1\n", "1: limits.maxSessions is not a known key"],
    [
      "a wrong type",
      '[limits]\nmax_sessions = "many"\n',
      "2: limits.max_sessions must be a whole number from 1 to 1000000",
    ],
    [
      "a fraction",
      "[limits]\nmax_sessions = 1.5\n",
      "2: limits.max_sessions must be a whole number from 1 to 1000000",
    ],
    [
      "a value out of range",
      "[limits]\n# few\nmax_sessions = 0\n",
      "3: limits.max_sessions must be a whole number from 1 to 1000000",
    ],
    [
      "a number for a switch",
      "limits.allow_direct_exec = 1",
      "1: limits.allow_direct_exec must be true or false",
    ],
    [
      "a relative root",
      '[limits]\nfs_roots = ["/a", "b"]',
      "2: limits.fs_roots must be a list of absolute paths",
    ],
    ["a list of tables", "[[limits]]\nmax_sessions = 1\n", "1: limits must be a table"],
  ])("refuses %s, and says where", async (_, text, message) => {
    await expect(read(text)).rejects.toThrow(new CliError(`Error: ${path}:${message}`, "OS_ERROR"));
  });

  it("says where a file is no TOML", async () => {
    await expect(read("[limits]\nmax_sessions = = 1\n")).rejects.toThrow(
      /limits\.toml:2:\d+: Invalid TOML document/,
    );
  });

  it("says why a file cannot be read", async () => {
    const missing = join(directory, "missing.toml");
    await expect(readLimits(missing)).rejects.toThrow(
      `Error: failed to read the configuration ${missing}: No such file or directory (os error 2)`,
    );
  });
});

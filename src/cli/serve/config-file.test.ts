import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Failure } from "../shared/failure.ts";
import { readConfiguration } from "./config-file.ts";

let path: string;
let directory: string;

beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), "exec-server-config-"));
  path = join(directory, "limits.toml");
});

afterAll(() => rmSync(directory, { recursive: true, force: true }));

function read(text: string) {
  writeFileSync(path, text);
  return readConfiguration(path);
}

describe("readConfiguration", () => {
  it("reads numbers, switches and paths", async () => {
    const text = `
      [limits]
      max_connections = 1_000
      allow_direct_exec = false
      fs_roots = ["/srv/work", "/tmp"]
    `;
    expect(await read(text)).toEqual({
      limits: { maxConnections: 1000, allowDirectExec: false, fsRoots: ["/srv/work", "/tmp"] },
    });
  });

  it("reads the directory of a durable server, which begins at the file's own", async () => {
    expect(await read('durable = "state"')).toEqual({ limits: {}, durable: join(directory, "state") });
    expect(await read('durable = "/var/lib/d"')).toEqual({ limits: {}, durable: "/var/lib/d" });
    for (const value of ['""', "true"])
      await expect(read(`durable = ${value}`)).rejects.toThrow("must be the path of a directory");
  });

  it("takes an empty file and an empty table for no limits", async () => {
    expect(await read('[[secret]]\nname = "A"\nfrom = "env"\nhosts = ["a.test"]\n')).toEqual({
      limits: {},
      secrets: [{ name: "A", from: "env", hosts: ["a.test"] }],
    });
    expect(await read("")).toEqual({ limits: {} });
    expect(await read("# nothing\n[limits]\n")).toEqual({ limits: {} });
  });

  it("reads a sandbox as a table, by name, or as a context of the wire", async () => {
    const table = `
      require_sandbox = true
      [sandbox]
      write = [".", "/tmp"]
      read = "all"
      deny = ["**/.env"]
      network = false
    `;
    expect(await read(table)).toEqual({
      limits: {},
      requireSandbox: true,
      sandbox: { write: [".", "/tmp"], read: "all", deny: ["**/.env"], network: false },
    });
    expect(await read('sandbox = "read-only"\n[limits]\nmax_sessions = 3')).toEqual({
      limits: { maxSessions: 3 },
      sandbox: "read-only",
    });
    const context = `
      [sandbox]
      windowsSandboxLevel = "disabled"
      [sandbox.permissions]
      type = "managed"
      network = "restricted"
      file_system = { type = "unrestricted" }
    `;
    expect((await read(context)).sandbox).toMatchObject({ permissions: { type: "managed" } });
  });

  it("lets the files that it names begin at its own directory", async () => {
    const text = `
      [tls]
      cert = "cert.pem"
      key = "../private/key.pem"
      client_ca = "/etc/clients.pem"
      [audit]
      file = "log/audit.jsonl"
      [fleet]
      servers = "tls://nats.example:4222"
      credentials = "fleet.creds"
      nkey = "a.nk"
      ca = "ca.pem"
      cert = "/etc/cert.pem"
      key = "./key.pem"
      user = "relative/looking"
    `;
    expect(await read(text)).toEqual({
      limits: {},
      tls: {
        cert: join(directory, "cert.pem"),
        key: join(directory, "../private/key.pem"),
        clientCa: "/etc/clients.pem",
      },
      audit: { file: join(directory, "log/audit.jsonl") },
      fleet: {
        servers: "tls://nats.example:4222",
        credentials: join(directory, "fleet.creds"),
        nkey: join(directory, "a.nk"),
        ca: join(directory, "ca.pem"),
        cert: "/etc/cert.pem",
        key: join(directory, "key.pem"),
        user: "relative/looking",
      },
    });
  });

  it("reads what is measured and logged", async () => {
    const text = 'metrics = true\nconsole = false\nlog_level = "info"\nlog_format = "text"';
    expect(await read(text)).toEqual({
      limits: {},
      metrics: true,
      console: false,
      logLevel: "info",
      logFormat: "text",
    });
  });

  it.each([
    [
      "a level that is none",
      '\nlog_level = "loud"',
      '2: log_level must be one of "error", "warn", "info", "debug"',
    ],
    ["a format that is none", "log_format = true", '1: log_format must be one of "json", "text"'],
    ["a text for a switch", 'metrics = "yes"', "1: metrics must be true or false"],
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
    [
      "an unknown preset",
      'sandbox = "danger"',
      '1: sandbox is invalid: there is no sandbox "danger"; there are read-only, workspace-write',
    ],
    ["a number for a sandbox", "\nsandbox = 1", "2: sandbox must be a table or the name of a preset"],
    [
      "an unknown key of a sandbox",
      "[limits]\n[sandbox]\nwrites = []",
      '2: sandbox is invalid: a sandbox has no "writes"; it has write, read, deny, network',
    ],
    [
      "a wrong value of a sandbox",
      '[sandbox]\nwrite = "/srv"',
      "1: sandbox is invalid: write of a sandbox must be a list of paths",
    ],
    [
      "half a context",
      '[sandbox]\npermissions = { type = "managed" }',
      /1: sandbox is not a valid sandbox context: /,
    ],
    ["a secret that is no list", '[secret]\nname = "A"\n', "1: secret must be a table: [[secret]]"],
    ["an unknown key of a secret", '[[secret]]\nname = "A"\nkey = "x"\n', "3: secret.key is not a known key"],
    [
      "a secret without hosts",
      '[[secret]]\nname = "A"\nfrom = "env"\n',
      /secret\.hosts must be a list of 1 to 32 hosts to which it may be sent$/,
    ],
    [
      "two secrets of one name",
      '[[secret]]\nname = "A"\nfrom = "env"\nhosts = ["a.test"]\n'.repeat(2),
      /secret\.name 'A' is used twice$/,
    ],
    ["text for a switch", 'require_sandbox = "yes"', "1: require_sandbox must be true or false"],
    ["a list of tables", "[[limits]]\nmax_sessions = 1\n", "1: limits must be a table"],
  ])("refuses %s, and says where", async (_, text, message) => {
    const expected = typeof message === "string" ? new Failure(`${path}:${message}`) : message;
    await expect(read(text)).rejects.toThrow(expected);
  });

  it("says where a file is no TOML", async () => {
    await expect(read("[limits]\nmax_sessions = = 1\n")).rejects.toThrow(
      /limits\.toml:2:\d+: Invalid TOML document/,
    );
  });

  it("says why a file cannot be read", async () => {
    const missing = join(directory, "missing.toml");
    await expect(readConfiguration(missing)).rejects.toThrow(
      `failed to read the configuration ${missing}: No such file or directory (os error 2)`,
    );
  });
});

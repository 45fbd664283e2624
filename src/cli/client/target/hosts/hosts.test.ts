import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { withChangedHost, withHost, withoutHost } from "./edit-hosts.ts";
import { hostsPath } from "../../../shared/hosts-path.ts";
import { parseHosts, readHosts } from "./hosts-file.ts";
import { replaceFile } from "../../../shared/replace-file.ts";

let directory = "";
beforeEach(() => void (directory = mkdtempSync(join(tmpdir(), "es-hosts-"))));
afterEach(() => rmSync(directory, { recursive: true }));

const names = (text: string): string[] => parseHosts(text, "hosts.toml").hosts.map(({ id }) => id);
const faultOf = (text: string): string => {
  try {
    const { hosts, faults } = parseHosts(text, "F");
    expect(hosts).toEqual([]);
    return faults.map(({ message }) => message).join();
  } catch (error) {
    return (error as Error).message;
  }
};
const entry = (lines: string): string => `[[environments]]\nid = "a"\n${lines}\n`;

describe("hosts.toml", () => {
  it("is below the directory for configuration", () => {
    expect(hostsPath({ XDG_CONFIG_HOME: "/c", HOME: "/h" })).toBe("/c/exec-server/hosts.toml");
    expect(hostsPath({ XDG_CONFIG_HOME: "relative", HOME: "/h" })).toBe("/h/.config/exec-server/hosts.toml");
    expect(hostsPath({})).toMatch(/^\/.*\.config\/exec-server\/hosts\.toml$/);
  });

  it("takes a whole file of Codex's", () => {
    const text = `
default = "b"
include_local = true
[[environments]]
id = "b"
url = "wss://h:1/path"
auth_bearer_token = "t"
connect_timeout_sec = 1.5
initialize_timeout_sec = 0
[environments.skills]
[[environments]]
id = "P_1-x"
program = "ssh"
args = []
env = { A = "" }
cwd = "."
`;
    expect(names(text)).toEqual(["b", "P_1-x"]);
  });

  it.each([
    ["x = 1", "F: 'x' is not a known key; hosts are [[environments]] with an 'id', fleets [fleets.NAME]"],
    ["environments = 1", "F: hosts are written as [[environments]]"],
    ["environments = [1]", "F: host 1 cannot be used: it must be a table"],
    ["[[environments]]", "F: host 1 cannot be used: 'id' is missing"],
    [entry(""), "F: host 'a' cannot be used: it must have either 'url' or 'program'"],
    [
      entry('url = "ws://h"\nprogram = "p"'),
      "F: host 'a' cannot be used: it must have either 'url' or 'program'",
    ],
    [
      entry('url = "http://h"'),
      "F: host 'a' cannot be used: 'url' must be a URL with ws://, wss:// or relay+https://",
    ],
    [entry('url = "ws://h"\nargs = []'), "F: host 'a' cannot be used: 'args' needs 'program'"],
    [
      entry('program = "p"\nauth_bearer_token = "t"'),
      "F: host 'a' cannot be used: 'auth_bearer_token' needs 'url'",
    ],
    [
      entry('program = "p"\nconnect_timeout_sec = 1'),
      "F: host 'a' cannot be used: 'connect_timeout_sec' needs 'url'",
    ],
    [
      entry('program = "p"\nargs = ["x", 1]'),
      "F: host 'a' cannot be used: 'args' must be an array of strings",
    ],
    [entry('program = "p"\nenv = { A = 1 }'), "F: host 'a' cannot be used: 'env' must be a table of strings"],
    [entry('program = ""'), "F: host 'a' cannot be used: 'program' must be a non-empty string"],
    [entry('program = "p"\nuser = "u"'), "F: host 'a' cannot be used: 'user' is not a known key"],
    [entry('program = "p"\n"__proto__" = "u"'), "F: host 'a' cannot be used: '__proto__' is not a known key"],
    [
      entry('url = "ws://h"\nconnect_timeout_sec = "1"'),
      "F: host 'a' cannot be used: 'connect_timeout_sec' must be a number of seconds",
    ],
    [
      `${entry('program = "p"')}${entry('program = "q"')}`,
      "F: host 'a' cannot be used: its 'id' is used twice",
    ],
    [
      '[[environments]]\nid = "local"\nprogram = "p"',
      "F: host 'local' cannot be used: 'id' must not be 'local', which is reserved",
    ],
    [
      '[[environments]]\nid = "a b"\nprogram = "p"',
      "F: host 'a b' cannot be used: 'id' must have 1 to 64 letters, digits, '-' or '_'",
    ],
    ["[[environments]\n", "F:1:16: Invalid TOML document: expected end of table array declaration"],
  ])("%j is refused", (text, why) => expect(faultOf(text)).toBe(why));

  it("keeps the other hosts if one cannot be used", () => {
    const text = `${entry('program = "p"')}[[environments]]\nid = "b"\n[[environments]]\nid = "c"\nurl = "ws://c"\n`;
    expect(names(text)).toEqual(["a", "c"]);
    expect(names(`${text}${entry('program = "q"')}`)).toEqual(["c"]);
    expect(withHost(text, { id: "d", url: "ws://d" }, "F").startsWith(text)).toBe(true);
    expect(names(withoutHost(text, "a", "F"))).toEqual(["c"]);
    // What cannot be used can be removed.
    expect(parseHosts(withoutHost(text, "b", "F"), "F").faults).toEqual([]);
  });

  it("is exposed only if it holds a token that others can read", () => {
    const path = join(directory, "h.toml");
    const write = (lines: string, mode: number): boolean => {
      writeFileSync(path, entry(lines));
      chmodSync(path, mode);
      return readHosts(path).isExposed;
    };
    const token = 'url = "ws://h"\nauth_bearer_token = "t"';
    expect([
      write(token, 0o644),
      write(token, 0o640),
      write(token, 0o600),
      write('url = "ws://h"', 0o644),
    ]).toEqual([true, true, false, false]);
    expect(readHosts(join(directory, "missing"))).toMatchObject({ hosts: [], text: undefined });
    expect(() => readHosts(directory)).toThrow(`cannot read ${directory}: `);
  });
});

const COMMENTED = `# my hosts
default = "two" # later

# the first
[[environments]]
id = "one"
url = "ws://one"
# still the first

# the second
[[environments]] # here
id = "two"
program = "ssh"
args = [
  "-T", # no terminal
  "two",
]
[environments.env]
A = "1"

# the third
[[environments]]
id = "three"
url = "ws://three"`;

describe("changing hosts.toml", () => {
  it("changes keys of one host and leaves the rest as it is", () => {
    const one = withChangedHost(COMMENTED, { id: "one", url: "wss://one", auth_bearer_token: "t" }, "F");
    const expected = COMMENTED.replace('url = "ws://one"', 'url = "wss://one"');
    expect(one).toBe(expected.replace('id = "one"', 'auth_bearer_token = "t"\nid = "one"'));
    const two = parseHosts(COMMENTED, "F").hosts[1]!;
    // Its array spans lines and contains comments.
    expect(() => withChangedHost(COMMENTED, { ...two, args: ["m"] }, "F")).toThrow(
      "cannot change two in F without touching the rest; do it with 'exec-server host edit'",
    );
    expect(withChangedHost(COMMENTED, two, "F")).toBe(COMMENTED);
  });

  it("adds at the end and leaves the rest as it is", () => {
    const added = withHost(
      COMMENTED,
      { id: "four", program: "p", args: ['"\\\n'], env: { "a b": "c" } },
      "F",
    );
    expect(added.startsWith(`${COMMENTED}\n`)).toBe(true);
    expect(parseHosts(added, "F").hosts.at(-1)).toEqual({
      id: "four",
      program: "p",
      args: ['"\\\n'],
      env: { "a b": "c" },
    });
    expect(withHost("", { id: "a", url: "ws://h" }, "F")).toBe(
      '[[environments]]\nid = "a"\nurl = "ws://h"\n',
    );
  });

  it("removes the lines of one host, with its tables, and keeps every comment between hosts", () => {
    const removed = withoutHost(COMMENTED, "two", "F");
    expect(names(removed)).toEqual(["one", "three"]);
    for (const kept of [
      "# my hosts",
      "# later",
      "# the first",
      "# still the first",
      "# the second",
      "# the third",
    ])
      expect(removed).toContain(kept);
    expect(removed).not.toContain("environments.env");
    expect(names(withoutHost(COMMENTED, "one", "F"))).toEqual(["two", "three"]);
    expect(names(withoutHost(COMMENTED, "three", "F"))).toEqual(["one", "two"]);
    expect(withoutHost(withHost(COMMENTED, { id: "x", url: "ws://h" }, "F"), "x", "F")).toBe(
      `${COMMENTED}\n`,
    );
  });

  it("refuses rather than to damage what it does not understand", () => {
    const inline = 'environments = [{ id = "a", program = "p" }]';
    expect(() => withHost(inline, { id: "b", url: "ws://h" }, "F")).toThrow(
      "cannot add to F without touching the rest; do it with 'exec-server host edit'",
    );
    expect(() => withoutHost(inline, "a", "F")).toThrow(
      "cannot remove a from F without touching the rest; do it with 'exec-server host edit'",
    );
    const confusing = `[[environments]]\nid = "a"\nprogram = """\n[[environments]]\n"""\n[[environments]]\nid = "b"\nprogram = "p"\n`;
    expect(() => withoutHost(confusing, "b", "F")).toThrow("do it with 'exec-server host edit'");
  });
});

describe("replaceFile", () => {
  it("writes for the owner alone, through a link, and makes the directories", async () => {
    const path = join(directory, "a/b/hosts.toml");
    await replaceFile(path, () => "one");
    expect([
      readFileSync(path, "utf8"),
      statSync(path).mode & 0o777,
      statSync(join(directory, "a")).mode & 0o777,
    ]).toEqual(["one", 0o600, 0o700]);
    symlinkSync(path, join(directory, "link"));
    await replaceFile(join(directory, "link"), () => "two");
    expect([readFileSync(path, "utf8"), readlinkSync(join(directory, "link"))]).toEqual(["two", path]);
  });

  it("leaves the file as it is if the change fails", async () => {
    const path = join(directory, "f");
    writeFileSync(path, "old");
    await expect(
      replaceFile(path, () => {
        throw new Error("no");
      }),
    ).rejects.toThrow(`cannot write ${path}: no`);
    expect([readdirSync(directory), readFileSync(path, "utf8")]).toEqual([["f"], "old"]);
  });

  it("loses no change of twenty at once", async () => {
    const path = join(directory, "f");
    writeFileSync(path, "");
    await Promise.all(
      Array.from({ length: 20 }, () => replaceFile(path, (place) => `${readFileSync(place, "utf8")}x`)),
    );
    expect(readFileSync(path, "utf8")).toBe("x".repeat(20));
  });

  it("says what is in the way", async () => {
    mkdirSync(join(directory, "d/f.new"), { recursive: true });
    await expect(replaceFile(join(directory, "d"), () => "")).rejects.toThrow(/^cannot write .*\/d: /);
  });
});

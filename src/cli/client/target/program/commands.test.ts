import { expect, it } from "vitest";
import { keptCommand } from "./kept-command.ts";
import { sshCommand, withRemoteCommand } from "./ssh-command.ts";

const LIFE = ["-T", "-o", "ServerAliveInterval=15", "-o", "ServerAliveCountMax=3"];

it.each<[string, string[]]>([
  ["ssh://m", ["--", "m"]],
  ["ssh://m/", ["--", "m"]],
  ["ssh://u@m.example:2222", ["-l", "u", "-p", "2222", "--", "m.example"]],
  ["ssh://[::1]", ["--", "::1"]],
  ["ssh://u@[fe80::1%eth0]:22", ["-l", "u", "-p", "22", "--", "fe80::1%eth0"]],
  ["ssh://alias_of-config", ["--", "alias_of-config"]],
])("%s is reached with ssh %j", (url, args) =>
  expect(sshCommand(url)).toEqual(["ssh", ...LIFE, ...args, "exec-server --listen stdio"]),
);

it.each([
  "ssh://",
  "ssh://-oProxyCommand=id",
  "ssh://-m",
  "ssh://-l@m",
  "ssh://u@-m",
  "ssh://m:99999",
  "ssh://m:x",
  "ssh://m/path",
  "ssh://m?x",
  "ssh://m;id",
  "ssh://$(id)",
  "ssh://m m",
  "ssh://m\n",
  "ssh://u:p@m",
  "ssh://[::1",
  "ssh://::1",
  "SSH://m",
])("%j is refused", (url) => expect(() => sshCommand(url)).toThrow("is not an address for ssh"));

it("the command on the other machine can be named", () => {
  const named = "~/bin/exec-server --listen stdio";
  expect(sshCommand("ssh://m", "~/bin/exec-server").at(-1)).toBe(named);
  const [, ...args] = sshCommand("ssh://m");
  expect(withRemoteCommand(args, "~/bin/exec-server")).toEqual([...args.slice(0, -1), named]);
  expect(withRemoteCommand(["exec", "box", "exec-server", "--listen", "stdio"], "x")).toBeUndefined();
});

it.each<[string[], string[] | undefined]>([
  [
    ["ssh", "m", "exec-server --listen stdio"],
    ["ssh", "m", "exec-server bridge --stdio"],
  ],
  [
    ["ssh", "m", "exec-server --listen=stdio"],
    ["ssh", "m", "exec-server bridge --stdio"],
  ],
  [
    ["ssh", "m", "exec-server serve --stdio"],
    ["ssh", "m", "exec-server bridge --stdio"],
  ],
  [
    ["docker", "exec-server", "--listen", "stdio"],
    ["docker", "exec-server", "bridge", "--stdio"],
  ],
  [
    ["docker", "exec-server", "serve", "--listen", "stdio://"],
    ["docker", "exec-server", "bridge", "--stdio"],
  ],
  [
    ["exec-server", "--stdio"],
    ["exec-server", "bridge", "--stdio"],
  ],
  [
    ["exec-server", "bridge", "--stdio"],
    ["exec-server", "bridge", "--stdio"],
  ],
  [
    ["ssh", "m", "exec-server bridge --stdio"],
    ["ssh", "m", "exec-server bridge --stdio"],
  ],
  [["codex", "exec-server"], undefined],
  [["program"], undefined],
])("what is kept needs %j to be %j", (command, expected) =>
  expect(keptCommand(command as [string, ...string[]])).toEqual(expected),
);

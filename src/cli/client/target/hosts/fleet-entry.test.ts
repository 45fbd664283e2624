import { expect, test } from "vitest";
import { addressOf } from "./fleet-entry.ts";
import { parseHosts } from "./hosts-file.ts";

const fleets = (text: string): [string[], string[]] => {
  const { fleets: known, fleetFaults } = parseHosts(text, "F");
  return [[...known.keys()], fleetFaults.map(({ message }) => message)];
};

test("fleets stand beside hosts, and a fault concerns only its own fleet", () => {
  const text = `
[fleets.a]
servers = "nats://h:1"
[[environments]]
id = "host"
url = "ws://h"
[fleets.b]
servers = ["tls://h", "tls://i:2/"]
nkey = "n"
ca = "/ca"
cert = "c"
key = "k"
inbox = "me"
[fleets.c]
`;
  expect(fleets(text)).toEqual([["a", "b"], ["F: fleet 'c' cannot be used: 'servers' is missing"]]);
  expect(parseHosts(text, "F").hosts).toHaveLength(1);
});

test.each([
  ["servers = 1", "'servers' must be nats://HOST:PORT or tls://HOST:PORT, or an array of them"],
  ["servers = []", "'servers' must be nats://HOST:PORT or tls://HOST:PORT, or an array of them"],
  ['servers = "nats://u:p@h"', "'servers' must be nats://HOST:PORT or tls://HOST:PORT, or an array of them"],
  ['servers = "nats://h"\ntoken = "t"', "'token' is not a known key"],
  ['servers = "nats://h"\nuser = ""', "'user' must be a non-empty string"],
  ['servers = "nats://h"\nuser = "u"', "'user' needs 'password'"],
  ['servers = "nats://h"\npassword = "p"', "'password' needs 'user'"],
  ['servers = "tls://h"\ncert = "c"', "'cert' needs 'key'"],
  ['servers = "tls://h"\nkey = "c"', "'key' needs 'cert'"],
  ['servers = "nats://h"\nnkey = "n"\ncredentials = "c"', "it has both 'credentials' and 'nkey'"],
  ['servers = "nats://h"\nca = "c"', "'ca' needs servers with tls://"],
  ['servers = ["nats://h", "tls://h"]', "either all of its 'servers' have tls://, or none"],
  ['servers = "nats://h"\ninbox = "a.b"', "'inbox' must be 1 to 64 letters, digits, '-' or '_'"],
])("a fleet with %j cannot be used", (lines, fault) => {
  expect(fleets(`[fleets.a]\n${lines}\n`)).toEqual([[], [`F: fleet 'a' cannot be used: ${fault}`]]);
});

test("names of fleets are those of hosts, and no host has the same one", () => {
  expect(fleets('[fleets]\na = 1\n[fleets.local]\n[fleets."a b"]\n')[1]).toEqual([
    "F: fleet 'a' cannot be used: it must be a table",
    "F: fleet 'local' cannot be used: its name must not be 'local', which is reserved",
    "F: fleet 'a b' cannot be used: its name must have 1 to 64 letters, digits, '-' or '_'",
  ]);
  expect(fleets('[[environments]]\nid = "a"\nurl = "ws://h"\n[fleets.a]\nservers = "nats://h"\n')).toEqual([
    [],
    ["F: fleet 'a' cannot be used: a host has the same name"],
  ]);
  expect(() => parseHosts("fleets = 1", "F")).toThrow("F: fleets are written as [fleets.NAME]");
});

test("paths are relative to the directory of the file, and the token is not for NATS", () => {
  const entry = { servers: "tls://h", nkey: "keys/n", ca: "/etc/ca", auth_bearer_token: "t" };
  expect(addressOf(entry, "/home/me/.config/hosts.toml")).toEqual({
    servers: "tls://h",
    nkey: "/home/me/.config/keys/n",
    ca: "/etc/ca",
  });
});

import { expect, it } from "vitest";
import { readRights } from "./read-rights.ts";

const refuse = (key: string, why: string): Error => new Error(`${key} ${why}`);
const read = (rights: object) => readRights({ preset: "full", ...rights }, refuse);

it.each([
  [{}, {}],
  [{ run_as: "bob" }, { runAs: "bob" }],
  [{ run_as: "1000" }, { runAs: "1000" }],
  [{ run_as: 1000 }, { runAs: "1000" }],
  [{ run_as: 0 }, { runAs: "0" }],
  [
    { see: ["ann", "*"], control: [] },
    { see: ["ann", "*"], control: [] },
  ],
  [{ roots: ["/", "/srv/a b"] }, { roots: ["/", "/srv/a b"] }],
  [{ read_only: false }, { readOnly: false }],
  [{ policy: "read-only" }, { policy: "read-only" }],
  [{ policy: { write: ["/srv"] } }, { policy: { write: ["/srv"] } }],
  [{ limits: { max_processes: 5, max_connections: 1 } }, { limits: { maxProcesses: 5, maxConnections: 1 } }],
  [{ limits: {} }, { limits: {} }],
  [{ secrets: ["A_KEY", "team.key"] }, { secrets: ["A_KEY", "team.key"] }],
  [{ secrets: [] }, { secrets: [] }],
  [{ name: "somebody else's affair" }, {}],
])("%j is read as %j", (table, options) => {
  expect(read(table)).toEqual({ preset: "full", ...options });
});

it.each([
  [{ preset: "root" }, "preset must be one of full, sandboxed, files, observe"],
  [{ preset: undefined }, "preset must be one of"],
  [{ read_only: "yes" }, "read_only must be true or false"],
  ...["", -1, 0.5, true, null, ["bob"]].map((user) => [
    { run_as: user },
    "run_as must be the name or number of a user",
  ]),
  ...["/srv", [], ["srv"], ["/srv", 5], ["/a\0b"]].map((roots) => [
    { roots },
    "roots must be a list of absolute paths",
  ]),
  ...["ann", ["a b"], [""], ["ann", 5], ["x".repeat(1025)]].map((see) => [
    { see },
    'see must be a list of names of tokens, or ["*"]',
  ]),
  [{ control: "*" }, 'control must be a list of names of tokens, or ["*"]'],
  ...[5, null, ["/srv"], new Date()].map((policy) => [
    { policy },
    "policy must be a table or the name of a preset",
  ]),
  [{ policy: "open" }, 'policy is invalid: there is no sandbox "open"'],
  [{ policy: { permissions: 5 } }, "policy is not a valid sandbox context: "],
  [{ limits: 5 }, "limits must be a table"],
  [{ secrets: "A_KEY" }, "secrets must be a list of names"],
  [{ secrets: ["a b"] }, "secrets must be a list of names"],
  [{ limits: { max_frames: 1 } }, "limits.max_frames is not one of the limits max_connections, "],
  [{ limits: { max_processes: "5" } }, "limits.max_processes "],
] as [object, string][])("%j is refused: %s", (table, message) => {
  expect(() => read(table)).toThrow(message);
});

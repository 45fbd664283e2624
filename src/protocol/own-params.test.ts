import { describe, expect, it } from "vitest";
import type { Method } from "./define.ts";
import { record } from "./fields.ts";
import { methods, notifications } from "./index.ts";
import * as z from "zod";

const table: Record<string, Method> = methods;
const uri = "file:///f";
const processId = "p";
const tcpId = "t";
const listenId = "l";
const sandbox = { permissions: { type: "disabled" }, windowsSandboxLevel: "disabled" };
const start = { processId, argv: ["a"], cwd: uri, env: {}, tty: true };
const limits = { memoryBytes: 1, cpuSeconds: 1, openFiles: 1, processes: 1 };

/** All parameters of this server's own methods, and its additions to those of Codex. */
const whole: Record<string, Record<string, unknown>> = {
  initialize: { clientName: "c", resumeSessionId: "s", urgentInput: true, reportStarts: true },
  "process/start": {
    ...start,
    terminalSize: { rows: 1, cols: 65_535 },
    followScreen: true,
    specKind: "prepared",
    timeoutMs: 0,
    closeOnExit: true,
    idempotencyKey: "k",
    tellPid: true,
    tellEnforced: true,
    label: "l",
    limits,
    contain: true,
    keep: { name: "n", replace: true },
    spool: true,
    secrets: [{ name: "S", hosts: ["h"] }],
  },
  "process/read": { processId, spooled: true },
  "process/signal": { processId, signal: "SIGUSR1" },
  "process/terminate": { processId, mode: "graceful", timeoutMs: 1 },
  "process/flow": { processId, paused: true },
  "process/resize": { processId, rows: 65_535, cols: 1 },
  "process/closeStdin": { processId },
  "process/wait": { processId, until: "closed", timeoutMs: 1 },
  "process/attach": {
    name: "n",
    owner: "o",
    sessionId: "s",
    processId,
    mode: "control",
    as: "q",
    fromSeq: 1,
  },
  "process/detach": { processId, forget: true },
  "process/rename": { processId, name: "n" },
  "process/list": { scope: "kept", usage: true, after: { startedAtMs: 1, pid: 2 } },
  "process/times": { processId, fromSeq: 1, ageMs: 1 },
  "process/snapshot": { processId, stream: "pty", maxBytes: 1, screen: true, paint: true },
  "fs/readFile": { path: uri, maxBytes: 1, sandbox },
  "fs/writeFile": { path: uri, dataBase64: "", followSymlinks: true, mode: 0o644, noLinks: true, sandbox },
  "fs/open": { handleId: "h", path: uri, mode: "replace", noLinks: true, sandbox },
  "fs/remove": { path: uri, noLinks: true, sandbox },
  "fs/getMetadata": { path: uri, includeMode: true, sandbox },
  "fs/readDirectory": { path: uri, detailed: true, sandbox },
  "fs/rename": { from: uri, to: uri, noLinks: true, sandbox },
  "fs/chmod": { path: uri, mode: 0o7777, noLinks: true, sandbox },
  "fs/symlink": { target: "t", path: uri, replace: true, noLinks: true, sandbox },
  "fs/readLink": { path: uri, sandbox },
  "fs/hash": { path: uri, names: ["n"], offset: 1, length: 1, sandbox },
  "fs/openPart": { handleId: "h", path: uri, length: 1, private: true, noLinks: true, sandbox },
  "fs/watch": { watchId: "w", path: uri, recursive: true, sandbox },
  "fs/unwatch": { watchId: "w" },
  "http/cancel": { requestId: "r" },
  "http/flow": { requestId: "r", paused: true },
  "tcp/connect": { tcpId, host: "h", port: 1, timeoutMs: 1 },
  "unix/connect": { tcpId, path: uri },
  "tcp/listen": { listenId, host: "h", port: 0 },
  "unix/listen": { listenId, path: uri },
  "tcp/accept": { listenId, tcpId },
  "tcp/unlisten": { listenId },
  "tcp/read": { tcpId, maxBytes: 1 },
  "tcp/write": { tcpId, chunk: "", end: true },
  "tcp/close": { tcpId },
  "server/audit": { maxLines: 1 },
  "server/cordon": { cordoned: true },
};

const parse = (name: string, params: unknown) => table[name]!.params.safeParse(params);

describe("params of this server's own", () => {
  it.each(Object.entries(whole))("%s keeps every member", (name, params) => {
    expect(parse(name, params)).toEqual({ success: true, data: params });
  });

  it("are all in the table above", () => {
    const withParams = Object.entries(table).filter(
      ([name, { extension, params }]) =>
        extension && !name.startsWith("command/") && !params.safeParse(null).success,
    );
    expect(Object.keys(whole)).toEqual(expect.arrayContaining(withParams.map(([name]) => name)));
    for (const [name, { extensionParams = [] }] of Object.entries(table))
      expect(Object.keys(whole[name] ?? {})).toEqual(expect.arrayContaining([...extensionParams]));
  });

  it.each([
    ["process/start", "idempotencyKey", ["k".repeat(256), null], ["", "k".repeat(257)]],
    ["process/start", "label", ["", "l".repeat(1024), null], ["l".repeat(1025)]],
    ["process/start", "limits", [{}, null], [{ memoryBytes: 0 }, { cpuSeconds: 0.5 }, { openFiles: "1" }]],
    ["process/start", "terminalSize", [null], [{ rows: 0, cols: 1 }, { rows: 1, cols: 65_536 }, { rows: 1 }]],
    ["process/start", "secrets", [[{ name: "S" }], [], null], [[{ name: "a b" }], [{}], {}, ["S"]]],
    ["process/start", "keep", [{ name: `a${"-".repeat(127)}` }, null], [{}, { name: "" }, { name: "-a" }]],
    ["process/start", "timeoutMs", [0, null], [-1, 0.5]],
    ["process/attach", "name", ["0", null], ["a b", `a${"-".repeat(128)}`]],
    ["process/rename", "name", ["a", `a${"-".repeat(127)}`], ["", "-a", `a${"-".repeat(128)}`, null]],
    ["process/attach", "owner", ["o".repeat(2_048), null], ["o".repeat(2_049)]],
    ["process/resize", "rows", [1, 65_535], [0, 65_536, 1.5, null]],
    ["fs/chmod", "mode", [0, 0o7777], [0o10000, -1, 0.5, null]],
    ["tcp/connect", "host", ["h", "h".repeat(253)], ["", "h".repeat(254)]],
    ["tcp/connect", "port", [1, 65_535], [0, 65_536, 1.5]],
    ["tcp/connect", "tcpId", ["", "t".repeat(128)], ["t".repeat(129)]],
    ["tcp/listen", "host", ["h", null, "h".repeat(253)], ["", "h".repeat(254)]],
    ["tcp/listen", "port", [0, 65_535], [-1, 65_536, 1.5, null]],
    ["tcp/listen", "listenId", ["", "l".repeat(128)], ["l".repeat(129)]],
    ["tcp/accept", "listenId", ["", "l".repeat(128)], ["l".repeat(129)]],
    ["server/audit", "maxLines", [0, null, undefined], [-1, "1"]],
    ["server/cordon", "cordoned", [true, false], [null, undefined]],
  ])("%s takes its %s within these bounds", (name, key, taken, refused) => {
    const takes = (value: unknown): boolean => parse(name, { ...whole[name], [key]: value }).success;
    expect([taken.map(takes), refused.map(takes)]).toEqual([taken.map(() => true), refused.map(() => false)]);
  });

  it("the networks of a process start have these ports", () => {
    const takes = (port: unknown): boolean =>
      parse("process/start", { ...start, managedNetwork: { loopbackPorts: [port], allowLocalBinding: true } })
        .success;
    expect([0, 65_535, -1, 65_536, 1.5].map(takes)).toEqual([true, true, false, false, false]);
  });
});

it("the news of a gap keeps every member", () => {
  const gap = { processId, fromSeq: 2, toSeq: 3 };
  expect(notifications["process/gap"].params.parse(gap)).toEqual(gap);
});

describe("an object with keys of the peer's", () => {
  const texts = record(z.string());
  const numbers = record(z.object({ n: z.number() }));

  it("keeps every key", () => {
    const input: unknown = JSON.parse('{"__proto__":"a","":"b","constructor":"c"}');
    expect(texts.parse(input)).toBe(input);
  });

  it.each([null, undefined, [], ["a"], "a", 1])("is not %j", (input) => {
    expect(texts.safeParse(input).error?.issues).toMatchObject([
      { code: "invalid_type", expected: "record", path: [] },
    ]);
  });

  it("names the place of its first wrong value, and no other", () => {
    expect(texts.safeParse({ a: "", b: 1, c: 2 }).error?.issues).toMatchObject([
      { expected: "string", path: ["b"] },
    ]);
    expect(numbers.safeParse({ a: { n: 1 }, b: { n: "" } }).error?.issues).toMatchObject([
      { expected: "number", path: ["b", "n"] },
    ]);
    expect(numbers.safeParse({ a: "" }).error?.issues).toMatchObject([{ expected: "object", path: ["a"] }]);
  });

  it("checks texts that have a rule", () => {
    expect(record(z.string().min(1)).safeParse({ a: "" }).success).toBe(false);
  });
});

import { expect, it } from "vitest";
import type { Method } from "../../src/protocol/define.ts";
import { RpcCode } from "../../src/protocol/errors.ts";
import { methods, notifications, serverMethods } from "../../src/protocol/index.ts";
import * as limits from "../../src/protocol/wire-limits.ts";

it("a client may send these requests", () => {
  expect(Object.keys(methods).sort()).toEqual([
    "capabilities/discoverV2",
    "capabilityRoots/discoverV1",
    "command/exec",
    "command/exec/terminate",
    "command/exec/write",
    "console/link",
    "environment/info",
    "environment/status",
    "environmentConfig/read",
    "fs/canonicalize",
    "fs/chmod",
    "fs/close",
    "fs/copy",
    "fs/createDirectory",
    "fs/getMetadata",
    "fs/hash",
    "fs/open",
    "fs/openPart",
    "fs/readBlock",
    "fs/readDirectory",
    "fs/readFile",
    "fs/readLink",
    "fs/remove",
    "fs/rename",
    "fs/symlink",
    "fs/unwatch",
    "fs/walk",
    "fs/watch",
    "fs/watchMissing",
    "fs/writeBlock",
    "fs/writeFile",
    "http/cancel",
    "http/flow",
    "http/request",
    "initialize",
    "process/attach",
    "process/closeStdin",
    "process/detach",
    "process/flow",
    "process/list",
    "process/ports",
    "process/read",
    "process/rename",
    "process/resize",
    "process/signal",
    "process/snapshot",
    "process/start",
    "process/terminate",
    "process/times",
    "process/wait",
    "process/write",
    "server/audit",
    "server/cordon",
    "server/limits",
    "server/metrics",
    "server/sessions",
    "server/status",
    "tcp/accept",
    "tcp/close",
    "tcp/connect",
    "tcp/listen",
    "tcp/read",
    "tcp/unlisten",
    "tcp/write",
    "unix/connect",
    "unix/listen",
  ]);
});

it("a server may send these requests", () => {
  expect(Object.keys(serverMethods)).toEqual(["network/policyRequest"]);
});

it("notifications have these names and senders", () => {
  const senders = Object.fromEntries(Object.entries(notifications).map(([name, { from }]) => [name, from]));
  expect(senders).toEqual({
    initialized: "client",
    "process/output": "server",
    "process/exited": "server",
    "process/closed": "server",
    "process/started": "server",
    "process/failed": "server",
    "process/gap": "server",
    "fs/missingChanged": "server",
    "fs/watch/changed": "server",
    "http/request/bodyDelta": "server",
    "network/policyDecision": "server",
    "command/exec/outputDelta": "server",
    "command/exec/exited": "server",
  });
});

it("methods belong to these families, which the gate errors name", () => {
  const families: Record<string, string[]> = {};
  for (const [name, { family }] of Object.entries(methods)) {
    (families[family ?? "none"] ??= []).push(name.split("/")[0] ?? "");
  }
  const prefixes = Object.entries(families).map(([family, names]) => [family, [...new Set(names)]]);
  expect(Object.fromEntries(prefixes)).toEqual({
    none: ["initialize"],
    exec: ["process", "command"],
    "environment info": ["environment"],
    "environment status": ["environment", "server", "console"],
    "environment config": ["environmentConfig"],
    filesystem: ["fs"],
    "capability discovery": ["capabilityRoots", "capabilities"],
    http: ["http"],
    tcp: ["tcp", "unix"],
  });
});

it("methods need these rights", () => {
  const rights: Record<string, string[]> = {};
  for (const [name, { right }] of Object.entries(methods)) (rights[right] ??= []).push(name);
  for (const names of Object.values(rights)) names.sort();
  expect(rights).toEqual({
    session: ["console/link", "initialize"],
    start: ["command/exec", "command/exec/terminate", "command/exec/write", "process/start"],
    follow: [
      "process/attach",
      "process/detach",
      "process/flow",
      "process/list",
      "process/read",
      "process/snapshot",
      "process/times",
      "process/wait",
    ],
    control: [
      "process/closeStdin",
      "process/ports",
      "process/rename",
      "process/resize",
      "process/signal",
      "process/terminate",
      "process/write",
    ],
    info: ["environment/info", "environment/status", "server/status"],
    settings: ["environmentConfig/read"],
    readFiles: [
      "fs/canonicalize",
      "fs/close",
      "fs/getMetadata",
      "fs/hash",
      "fs/open",
      "fs/readBlock",
      "fs/readDirectory",
      "fs/readFile",
      "fs/readLink",
      "fs/unwatch",
      "fs/walk",
      "fs/watch",
      "fs/watchMissing",
    ],
    writeFiles: [
      "fs/chmod",
      "fs/copy",
      "fs/createDirectory",
      "fs/openPart",
      "fs/remove",
      "fs/rename",
      "fs/symlink",
      "fs/writeBlock",
      "fs/writeFile",
    ],
    discovery: ["capabilities/discoverV2", "capabilityRoots/discoverV1"],
    network: [
      "http/cancel",
      "http/flow",
      "http/request",
      "tcp/accept",
      "tcp/close",
      "tcp/connect",
      "tcp/listen",
      "tcp/read",
      "tcp/unlisten",
      "tcp/write",
      "unix/connect",
      "unix/listen",
    ],
    operate: ["server/limits", "server/metrics", "server/sessions"],
    audit: ["server/audit"],
    manage: ["server/cordon"],
  });
  const further = Object.entries(methods).map(([name, { alsoNeeds }]: [string, Method]) => [name, alsoNeeds]);
  expect(Object.fromEntries(further.filter(([, needs]) => needs !== undefined))).toEqual({
    "fs/open": { param: "mode", is: "replace", right: "writeFiles" },
    "process/attach": { param: "mode", is: "control", right: "control" },
  });
});

it("requests keep their order, pass others and have a lane of their own by this table; the rest wait for their turn", () => {
  const placed = Object.entries(methods).map(([name, { lane, ordered, overtakes }]: [string, Method]) => [
    name,
    [lane, ordered, overtakes].filter((one) => one !== undefined).join(" "),
  ]);
  expect(Object.fromEntries(placed.filter(([, place]) => place !== ""))).toEqual({
    "process/start": "processId",
    "process/attach": "processId",
    "process/detach": "processId",
    "process/rename": "processId",
    "process/read": "processId always",
    "process/flow": "processId always",
    "process/resize": "processId always",
    "process/write": "processId urgentInput",
    "process/closeStdin": "processId urgentInput",
    "process/signal": "control processId always",
    "process/terminate": "control processId always",
    "environment/info": "control",
    "environment/status": "control",
    "fs/close": "control",
    "server/status": "control",
    "console/link": "control",
    "server/sessions": "control",
    "server/limits": "control",
    "server/metrics": "control",
    "server/audit": "control",
    "server/cordon": "control",
    "command/exec": "v0",
    "command/exec/write": "v0",
    "command/exec/terminate": "control v0 always",
  });
});

it("errors have these numbers", () => {
  expect(RpcCode).toEqual({
    invalidRequest: -32600,
    methodNotFound: -32601,
    invalidParams: -32602,
    internal: -32603,
    notFound: -32004,
    sessionAttached: -32010,
    limit: -32011,
  });
});

it("the wire has these limits", () => {
  expect({ ...limits }).toEqual({
    MAX_JSON_VALUES: 262144,
    MAX_TEXT_CHARACTERS: 8_388_608,
    MAX_DIFFERENT_KEYS: 16384,
    MAX_ID_CHARACTERS: 8192,
    MAX_MESSAGE_BYTES: 67108864,
    MAX_FRAME_BYTES: 16777216,
    MAX_SENT_FRAME_BYTES: 4194304,
    PING_INTERVAL_MS: 30000,
    DETACHED_SESSION_TTL_MS: 80000,
    EXITED_PROCESS_RETENTION_MS: 80000,
    MAX_RETAINED_BYTES: 1048576,
    MAX_RETAINED_CHUNKS: 50000,
    MAX_REMEMBERED_WRITE_IDS: 4096,
    TERMINAL_ROWS: 24,
    TERMINAL_COLUMNS: 80,
    MALFORMED_MESSAGE_ID: -1,
    CREDENTIAL_ENDED_CLOSE_CODE: 4011,
    SESSION_OVER_CLOSE_CODE: 4012,
    SESSION_TAKEN_CLOSE_CODE: 4010,
  });
});

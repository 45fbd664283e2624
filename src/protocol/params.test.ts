import { describe, expect, it } from "vitest";
import type { Method } from "./define.ts";
import { methods } from "./index.ts";

const table: Record<string, Method> = methods;

function parse(name: string, params: unknown) {
  const definition = table[name];
  if (definition === undefined) throw new Error(`no method ${name}`);
  return definition.params.safeParse(params);
}

const special = (kind: string) => ({ type: "special", value: { kind } });

const proxy = {
  enabled: true,
  enableSocks5: false,
  enableSocks5Udp: false,
  allowUpstreamProxy: false,
  dangerouslyAllowAllUnixSockets: false,
  mode: "full",
  allowLocalBinding: false,
};

const auditMetadata = {
  conversationId: "c",
  appVersion: "1",
  userAccountId: "u",
  authMode: null,
  originator: "o",
  userEmail: "e",
  terminalType: "t",
  model: "m",
  slug: "s",
};

const uri = "file:///f";
const walk = { maxDepth: 1, maxDirectories: 1, maxEntries: 1, followDirectorySymlinks: false };
const http = { method: "GET", url: "http://127.0.0.1/", requestId: "" };
const disabled = { permissions: { type: "disabled" }, windowsSandboxLevel: "disabled" };
const entry = (value: object) => ({
  ...disabled,
  permissions: { type: "managed", network: "enabled", file_system: { type: "restricted", entries: [value] } },
});
const inSandbox = (sandbox: unknown) => ({ path: uri, sandbox });
const launch = (networkProxy: unknown) => ({
  processId: "p",
  argv: ["a"],
  cwd: uri,
  env: {},
  tty: false,
  networkProxy,
});

/** Codex's server decodes each of these: none is answered with -32602. */
const taken: [string, unknown][] = [
  ["environment/info", {}],
  ["fs/readFile", { path: uri, followSymlinks: null }],
  ["fs/createDirectory", { path: uri, recursive: null }],
  ["fs/remove", { path: uri, recursive: null, force: null, followSymlinks: null }],
  ["fs/open", { handleId: "", path: uri }],
  ["fs/walk", { path: uri, options: walk }],
  ["fs/watchMissing", { watchId: 1, missing: [] }],
  ["http/request", http],
  [
    "http/request",
    { ...http, bodyBase64: null, timeoutMs: null, headers: [{ name: "a", value: "b", valueEnvVar: null }] },
  ],
  ["fs/canonicalize", inSandbox(disabled)],
  [
    "fs/canonicalize",
    inSandbox({ ...disabled, cwd: null, userHomeDir: null, temporaryDirectories: null, policyContext: null }),
  ],
  [
    "fs/canonicalize",
    inSandbox({ ...disabled, windowsSandboxProxySettingsMode: null, policyContext: { cwd: null } }),
  ],
  [
    "fs/canonicalize",
    inSandbox({ ...entry({ path: special("current_working_directory"), access: "none" }), cwd: uri }),
  ],
  [
    "fs/canonicalize",
    inSandbox(entry({ path: special("minimal"), access: "read", missing_path_behavior: null })),
  ],
  ["capabilities/discoverV2", { cwd: uri, sandbox: { ...disabled, cwd: uri } }],
  ["process/start", launch(null)],
  ["process/start", launch({ proxy, environmentId: null, executionId: null, policyDecisionTimeoutMs: null })],
  [
    "process/start",
    launch({ proxy, auditMetadata, environmentId: "e", executionId: "x", policyDecisionTimeoutMs: 1 }),
  ],
  [
    "process/start",
    launch({ proxy: { ...proxy, domains: { "a.b": "none" }, unixSockets: null, reviewDomains: ["a.b"] } }),
  ],
  [
    "process/start",
    launch({ proxy: { ...proxy, domains: null, credentialMasking: true, credentialProviders: { a: {} } } }),
  ],
];

/** Codex's server answers each of these with -32602. */
const refused: [string, unknown][] = [
  ["environment/info", { a: 1 }],
  ["environment/status", []],
  ["environmentConfig/read", { cwd: uri, configPaths: [["a"]] }],
  ["environmentConfig/read", { cwd: uri, configPaths: ["a"], requirementsPaths: [] }],
  ["fs/readFile", null],
  ["fs/readFile", { path: uri, followSymlinks: 1 }],
  ["fs/open", { handleId: "a", path: uri, mode: null }],
  ["fs/open", { handleId: "a", path: uri, mode: "write" }],
  ["fs/readBlock", { handleId: "a", offset: -1, len: 1 }],
  ["fs/readBlock", { handleId: "a", offset: 1.5, len: 1 }],
  ["fs/readBlock", { handleId: "a", offset: 1e30, len: 1 }],
  ["fs/walk", { path: uri, options: { ...walk, pruneHiddenDirectories: null } }],
  ["fs/copy", { sourcePath: uri, destinationPath: uri }],
  ["fs/watchMissing", { watchId: -1, missing: [] }],
  ["http/request", { method: "GET", url: "http://127.0.0.1/" }],
  ["http/request", { ...http, headers: null }],
  ["http/request", { ...http, redirectPolicy: null }],
  ["http/request", { ...http, streamResponse: null }],
  ["http/request", { ...http, headers: [{ name: "a", valueEnvVar: "B" }] }],
  ["fs/canonicalize", inSandbox({ permissions: { type: "disabled" } })],
  ["fs/canonicalize", inSandbox({ ...disabled, workspaceRoots: null })],
  ["fs/canonicalize", inSandbox({ ...disabled, useLegacyLandlock: null })],
  ["fs/canonicalize", inSandbox({ ...disabled, sandboxOverride: null })],
  ["fs/canonicalize", inSandbox({ ...disabled, policyContext: { workspaceRoots: null } })],
  ["fs/canonicalize", inSandbox({ ...disabled, permissions: { type: "external" } })],
  ["fs/canonicalize", inSandbox(entry({ path: special("elsewhere"), access: "read" }))],
  ["fs/canonicalize", inSandbox(entry({ path: special("unknown"), access: "read" }))],
  ["fs/canonicalize", inSandbox(entry({ path: { type: "path", path: uri }, access: "execute" }))],
  [
    "fs/canonicalize",
    inSandbox({
      ...disabled,
      permissions: {
        type: "managed",
        network: "enabled",
        file_system: { type: "restricted", entries: [], glob_scan_max_depth: 0 },
      },
    }),
  ],
  ["capabilities/discoverV2", { cwd: uri, sandbox: disabled }],
  ["process/start", launch({})],
  ["process/start", launch({ proxy, auditMetadata: null })],
  ["process/start", launch({ proxy, auditMetadata: { model: 5 } })],
  ["process/start", launch({ proxy: { ...proxy, reviewDomains: null } })],
  ["process/start", launch({ proxy: { ...proxy, unixSockets: { "/x": "none" } } })],
];

const shown = ([name, params]: [string, unknown]): [string, string, unknown] => [
  name,
  JSON.stringify(params),
  params,
];

describe("params", () => {
  it.each(taken.map(shown))("%s takes %s", (name, _, params) => {
    // Equality, because a member that the table does not know would be left out silently.
    expect(parse(name, params)).toEqual({ success: true, data: params });
  });

  it.each(refused.map(shown))("%s refuses %s", (name, _, params) => {
    expect(parse(name, params).success).toBe(false);
  });

  it("leave the check of base64 to the code that decodes it", () => {
    expect(parse("process/write", { processId: "p", chunk: "*", writeId: "1" }).success).toBe(true);
  });

  it("leave the check of paths to the code that uses them", () => {
    expect(parse("fs/readFile", { path: "not a uri" }).success).toBe(true);
  });
});

describe("an id that the client chooses", () => {
  it.each([
    ["process/start", "processId", { argv: ["a"], cwd: uri, env: {}, tty: false }],
    ["process/read", "processId", {}],
    ["process/attach", "as", { processId: "p" }],
    ["http/request", "requestId", { method: "GET", url: "http://127.0.0.1/" }],
    ["fs/watch", "watchId", { path: uri }],
  ])("of %s has at most 8192 characters", (method, field, rest) => {
    expect(parse(method, { ...rest, [field]: "x".repeat(8_192) }).error).toBeUndefined();
    const issue = parse(method, { ...rest, [field]: "x".repeat(8_193) }).error?.issues[0];
    expect(issue?.message).toBe("an id has at most 8192 characters");
  });
});

it("a header name that is longer than V8 hashes is refused before anyone looks it up", () => {
  const named = (length: number) =>
    parse("http/request", { ...http, headers: [{ name: "x".repeat(length), value: "" }] });
  expect(named(16_383).error).toBeUndefined();
  expect(named(16_384).error?.issues[0]?.message).toBe(
    "http/request header name is invalid: invalid HTTP header name",
  );
});

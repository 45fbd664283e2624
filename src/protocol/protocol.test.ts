import { describe, expect, it } from "vitest";
import type { Method } from "./define.ts";
import { methods, type Notification, type NotificationName, notifications, serverMethods } from "./index.ts";

const table: Record<string, Method> = { ...methods, ...serverMethods };

const workspace = "file:///home/dev/ws";
const special = (kind: string, subpath?: string) => ({
  type: "special",
  value: { kind, ...(subpath !== undefined && { subpath }) },
});

const fileSandbox = {
  permissions: {
    type: "managed",
    file_system: {
      type: "restricted",
      entries: [
        { path: special("root"), access: "read" },
        { path: special("project_roots"), access: "write" },
        { path: special("project_roots", ".git"), access: "read", missing_path_behavior: "skip" },
      ],
    },
    network: "restricted",
  },
  cwd: workspace,
  policyContext: { cwd: workspace, workspaceRoots: [workspace] },
  workspaceRoots: [workspace],
  userHomeDir: "file:///home/dev",
  temporaryDirectories: [],
  windowsSandboxLevel: "disabled",
  useLegacyLandlock: false,
};

const processSandbox = {
  permissions: {
    type: "managed",
    file_system: { type: "restricted", entries: [{ path: special("root"), access: "read" }] },
    network: "restricted",
  },
  cwd: workspace,
  workspaceRoots: [workspace],
  windowsSandboxLevel: "disabled",
  windowsSandboxProxySettingsMode: "reconcile",
  useLegacyLandlock: false,
};

const discoverySandbox = {
  permissions: { type: "disabled" },
  cwd: workspace,
  workspaceRoots: [workspace],
  userHomeDir: "file:///home/dev",
  temporaryDirectories: [],
  windowsSandboxLevel: "disabled",
  useLegacyLandlock: false,
};

const environmentInfo = {
  shell: { name: "bash", path: "/bin/bash" },
  executorVersion: "0.166.0",
  providerId: "sha256:b504721b",
  cwd: workspace,
  userHomeDir: "file:///home/dev",
  platformOs: "linux",
  prependPathDirs: ["file:///opt/codex/codex-path"],
  temporaryDirectories: [],
  tempDir: "file:///tmp",
  capabilities: {
    networkProxyLaunch: true,
    networkProxyReviewDomains: true,
    credentialMasking: true,
    credentialMaskingCustomProviders: true,
    capabilityDiscoverySandbox: true,
    fsWatchMissing: true,
    capabilityDiscoveryV2: true,
    environmentConfigRead: true,
    httpHeaderEnvVars: true,
    sandboxedFileStreaming: true,
    fileWriteStreaming: true,
    shellSnapshotV2: true,
    windowsMxc: false,
    linuxRootWritePreservesDevices: true,
    linuxApprovedRootWritePreservesRestrictions: true,
  },
};

const start = {
  processId: "69388-5a7ae973",
  metadata: { threadId: "01a1dcc1-e535", toolCallId: "o2" },
  argv: ["/bin/bash", "-lc", "echo x > b.txt; echo rc=$?"],
  cwd: workspace,
  envPolicy: {
    inherit: "all",
    ignoreDefaultExcludes: true,
    exclude: ["CODEX_VERSION"],
    set: {},
    includeOnly: [],
  },
  env: { COLORTERM: "", PAGER: "cat" },
  tty: false,
  pipeStdin: false,
  arg0: null,
  sandbox: processSandbox,
  enforceManagedNetwork: false,
  managedNetwork: null,
};

const manifest = { path: `${workspace}/.codex-plugin/plugin.json`, contents: '{"name":"demo"}' };
const files = { manifest, mcpConfig: { path: `${workspace}/mcp.json`, contents: "{}" }, appsConfig: null };
const skill = {
  name: "s2",
  description: "dd",
  shortDescription: null,
  path: "file:///home/dev/.codex/skills/s2/SKILL.md",
  dependencies: {
    tools: [
      {
        type: "mcp",
        value: "x",
        description: null,
        transport: "stdio",
        command: "c",
        url: null,
        oauthCallbackPort: null,
      },
    ],
  },
  policy: { allowImplicitInvocation: null, products: ["codex"] },
};

/** What Codex 0.166 sends and answers, shortened, plus what only its predecessors had. */
const recorded: Record<string, { params: unknown; result: unknown }> = {
  initialize: {
    params: { clientName: "codex-environment", resumeSessionId: "86abcb12-f617-4716-8fc0-97c20c8f1d70" },
    result: { sessionId: "da6615eb-0f67-4d0f-9d16-60f0b756f40a", environmentInfo },
  },
  "process/start": { params: start, result: { processId: start.processId, sandboxType: "none" } },
  "process/read": {
    params: { processId: "26054-6a53d73a", afterSeq: 2, maxBytes: null, waitMs: 0 },
    result: {
      chunks: [{ seq: 3, stream: "stdout", chunk: "QUxQSEEK" }],
      nextSeq: 4,
      exited: true,
      exitCode: 3,
      closed: true,
      failure: null,
      sandboxDenied: false,
    },
  },
  "process/write": {
    params: { processId: "mcp-stdio-1", chunk: "eyJqc29ucnBjIjoiMi4wIn0K", writeId: "4" },
    result: { status: "accepted" },
  },
  "process/signal": { params: { processId: "65784-d010ff50", signal: "interrupt" }, result: {} },
  "process/terminate": { params: { processId: "33800-e1607a1f" }, result: { running: false } },
  "environment/info": { params: null, result: environmentInfo },
  "environment/status": { params: null, result: { status: "ready" } },
  "environmentConfig/read": {
    params: { cwd: workspace, configPaths: [["mcp_servers"]], requirementsPaths: [["mcp_servers"]] },
    result: {
      userHomeDir: "file:///home/dev",
      codexHomeDir: "file:///home/dev/.codex",
      hostname: "vm",
      config: {
        layers: [{ source: "user", baseDir: "file:///home/dev", toml: "[mcp_servers.a]\n" }],
        cloudInsertionIndex: 0,
      },
      requirements: { layers: [], cloudInsertionIndex: 0 },
    },
  },
  "fs/readFile": {
    params: { path: `${workspace}/pic.png`, sandbox: fileSandbox },
    result: { dataBase64: "YWxwaGEKYsOpdGEK" },
  },
  "fs/open": {
    params: { handleId: "b", path: `${workspace}/g`, mode: "replace", sandbox: null },
    result: { handleId: "b" },
  },
  "fs/readBlock": { params: { handleId: "a", offset: 0, len: 3 }, result: { chunk: "aGVs", eof: false } },
  "fs/writeBlock": { params: { handleId: "b", offset: 0, chunk: "aGk=" }, result: {} },
  "fs/close": { params: { handleId: "a" }, result: {} },
  "fs/writeFile": {
    params: { path: `${workspace}/p.txt`, dataBase64: "cGF0Y2hlZAo=", sandbox: fileSandbox },
    result: {},
  },
  "fs/createDirectory": {
    params: { path: `${workspace}/sub/dir`, recursive: true, sandbox: null },
    result: {},
  },
  "fs/getMetadata": {
    params: { path: `${workspace}/pic.png`, sandbox: fileSandbox },
    result: {
      isDirectory: false,
      isFile: true,
      isSymlink: false,
      size: 12,
      createdAtMs: 0,
      modifiedAtMs: 1_794_705_048_462,
    },
  },
  "fs/canonicalize": {
    params: { path: `${workspace}/SKILL.md`, sandbox: null },
    result: { path: workspace },
  },
  "fs/readDirectory": {
    params: { path: workspace, sandbox: null },
    result: { entries: [{ fileName: "w", isDirectory: false, isFile: true }] },
  },
  "fs/walk": {
    params: {
      path: `${workspace}/.agents/skills`,
      options: {
        maxDepth: 6,
        maxDirectories: 2000,
        maxEntries: 20_000,
        followDirectorySymlinks: true,
        pruneHiddenDirectories: true,
      },
      sandbox: null,
    },
    result: {
      entries: [{ path: `${workspace}/.agents/skills/demo`, kind: "directory" }],
      errors: [],
      truncated: false,
    },
  },
  "fs/remove": {
    params: { path: `${workspace}/gone.txt`, recursive: false, force: false, sandbox: null },
    result: {},
  },
  "fs/copy": {
    params: { sourcePath: `${workspace}/f`, destinationPath: `${workspace}/f2`, recursive: false },
    result: {},
  },
  "fs/watchMissing": {
    params: { watchId: 1, missing: [`${workspace}/.agents/skills`, "file:///.git"], present: null },
    result: { watching: true },
  },
  "capabilityRoots/discoverV1": {
    params: { roots: [{ id: "a", path: workspace, sandbox: null }] },
    result: {
      roots: [
        {
          id: "a",
          path: workspace,
          plugin: files,
          skills: [{ instructions: { path: skill.path, contents: "x" }, metadata: null }],
          namespaceManifests: [manifest],
          warnings: [],
          error: null,
        },
      ],
    },
  },
  "capabilities/discoverV2": {
    params: { cwd: workspace, sandbox: discoverySandbox },
    result: {
      plugins: [
        {
          id: "demo@mk",
          displayName: "demo",
          remotePluginId: null,
          version: "1",
          root: workspace,
          files,
          skills: [skill],
        },
      ],
      skills: [
        {
          ...skill,
          discoveryRoot: { id: "codex-home-skills", path: "file:///home/dev/.codex/skills" },
        },
      ],
      warnings: [],
    },
  },
  "http/request": {
    params: {
      method: "POST",
      url: "http://127.0.0.1:38925/mcp",
      headers: [{ name: "accept", value: "text/event-stream, application/json" }],
      bodyBase64: "eyJqc29ucnBjIjoiMi4wIn0=",
      timeoutMs: 1000,
      redirectPolicy: "stop",
      requestId: "http-4",
      streamResponse: true,
    },
    result: { status: 200, headers: [{ name: "content-type", value: "application/json" }], bodyBase64: "" },
  },
  "command/exec": {
    params: { argv: ["bash", "-lc", "true"], cwd: "/home/dev", env: {}, tty: true, arg0: null },
    result: { sessionId: "session-1" },
  },
  "command/exec/write": {
    params: { sessionId: "session-1", chunk: "aGVsbG8K" },
    result: { accepted: true },
  },
  "command/exec/terminate": { params: { sessionId: "session-1" }, result: { running: true } },
  "network/policyRequest": {
    params: { processId: "n5", request: { protocol: "http", host: "8.8.8.8", port: 81 } },
    result: { decision: { type: "deny", reason: "no" } },
  },
};

const recordedNotifications: Record<string, unknown> = {
  "command/exec/outputDelta": { sessionId: "session-1", stream: "stdout", chunk: "aGVsbG8K" },
  "command/exec/exited": { sessionId: "session-1", exitCode: 0 },
  initialized: {},
  "process/output": { processId: "7336-9847c71a", seq: 1, stream: "stdout", chunk: "QUxQSEEKYsOpdGEK" },
  "process/exited": { processId: "7336-9847c71a", seq: 6, exitCode: 0, sandboxDenied: false },
  "process/closed": { processId: "7336-9847c71a", seq: 7 },
  "fs/missingChanged": { watchId: 1 },
  "http/request/bodyDelta": {
    requestId: "http-1",
    seq: 1,
    deltaBase64: "eyJqc29ucnBjIjoiMi4wIn0=",
    done: false,
    error: null,
  },
  "network/policyDecision": {
    processId: "96854-d9ea4c18",
    timestamp: "2026-11-15T01:15:12.227Z",
    scope: "domain",
    decision: "deny",
    source: "baseline_policy",
    reason: "not_allowed",
    protocol: "http",
    host: "example.invalid",
    port: 80,
    method: "GET",
    client: "127.0.0.1:38304",
    policyOverride: false,
  },
};

function definition(name: string): Method {
  const found = table[name];
  if (found === undefined) throw new Error(`no method ${name}`);
  return found;
}

const isObject = (value: unknown): value is object => typeof value === "object" && value !== null;

describe("recorded messages", () => {
  it("cover every method and notification of Codex's, its first dialect included", () => {
    const ofCodex = (name: string, { extension }: { extension?: true }): boolean =>
      !extension || name.startsWith("command/");
    expect(Object.keys(recorded)).toEqual(
      Object.keys(table).filter((name) => ofCodex(name, definition(name))),
    );
    const theirs = Object.entries(notifications as Record<string, Notification>).filter(([name, told]) =>
      ofCodex(name, told),
    );
    expect(Object.keys(recordedNotifications).sort()).toEqual(theirs.map(([name]) => name).sort());
  });

  // Equality, because a member that the table does not know would be left out silently.
  it.each(Object.entries(recorded))("%s keeps every member of its params and result", (name, message) => {
    expect(definition(name).params.parse(message.params)).toEqual(message.params);
    expect(definition(name).result.parse(message.result)).toEqual(message.result);
  });

  it.each(Object.entries(recordedNotifications))(
    "%s keeps every member of its params",
    (name, recordedParams) => {
      const { params } = notifications[name as NotificationName];
      expect(params.parse(recordedParams)).toEqual(recordedParams);
    },
  );

  it.each(Object.entries(recorded).filter(([, { params }]) => isObject(params)))(
    "%s ignores a member it does not know",
    (name, { params }) => {
      const extended = { ...(params as object), notOfThisWire: { deep: [1] } };
      expect(definition(name).params.parse(extended)).toEqual(params);
    },
  );
});

describe("the table", () => {
  it.each([...Object.entries(table), ...Object.entries(notifications)])(
    "%s has a doc sentence",
    (_, { doc }) => {
      expect(doc).toMatch(/^[A-Z].*\.$/);
    },
  );

  it("marks these methods as control", () => {
    const control = Object.keys(table).filter((name) => definition(name).lane === "control");
    expect(control).toEqual([
      "process/signal",
      "process/terminate",
      "environment/info",
      "environment/status",
      "fs/close",
      "command/exec/terminate",
      "server/status",
    ]);
  });

  it("gives every method but initialize a family for the gate", () => {
    const without = Object.entries(methods).filter(([, { family }]) => family === null);
    expect(without.map(([name]) => name)).toEqual(["initialize"]);
  });

  it("has these methods that Codex 0.166 neither sends nor serves", () => {
    expect(Object.keys(table).filter((name) => definition(name).extension)).toEqual([
      "process/flow",
      "process/resize",
      "process/closeStdin",
      "process/wait",
      "process/attach",
      "process/detach",
      "process/list",
      "process/times",
      "process/snapshot",
      "fs/rename",
      "fs/chmod",
      "fs/symlink",
      "fs/readLink",
      "fs/hash",
      "fs/openPart",
      "fs/watch",
      "fs/unwatch",
      "http/cancel",
      "http/flow",
      "tcp/connect",
      "tcp/read",
      "tcp/write",
      "tcp/close",
      "command/exec",
      "command/exec/write",
      "command/exec/terminate",
      "server/status",
    ]);
  });
});

describe("environmentInfo", () => {
  const { result } = methods["environment/info"];

  it("needs nothing but the shell", () => {
    const smallest = { shell: { name: "sh", path: "/bin/sh" } };
    expect(result.parse(smallest)).toEqual(smallest);
    expect(result.safeParse({ capabilities: {} }).success).toBe(false);
  });

  it("tolerates capabilities of a newer server", () => {
    const newer = { ...environmentInfo, capabilities: { fsWatchMissing: true, teleport: "often" } };
    expect(result.parse(newer).capabilities).toEqual({ fsWatchMissing: true });
  });

  it("lists extensions by name", () => {
    expect(result.parse({ ...environmentInfo, extensions: ["process/resize"] }).extensions).toEqual([
      "process/resize",
    ]);
  });
});

describe("network decisions", () => {
  const { result } = serverMethods["network/policyRequest"];

  it.each(["deny", "ask"])("%s gives a reason", (type) => {
    expect(result.safeParse({ decision: { type, reason: "" } }).success).toBe(true);
    expect(result.safeParse({ decision: { type } }).success).toBe(false);
    expect(result.safeParse({ decision: { type, reason: null } }).success).toBe(false);
  });
});

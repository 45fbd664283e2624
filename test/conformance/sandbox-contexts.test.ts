import { expect } from "vitest";
import type { RawPeer } from "./raw-peer.ts";
import { pathEntry, pattern, READ_ALL, sandboxOf, special } from "./sandbox-probe.ts";
import { expectError, start, type VerifyContext, verifies } from "./verifies.ts";

const INVALID = -32602;
const INVALID_REQUEST = -32600;
const FOREIGN = "file:///C:/x";
const WHY = `'${FOREIGN}' is invalid on 'linux'`;
const FILES_ENTRY = `invalid sandbox permission path URI: ${WHY}`;
const UNPREPARED = "failed to prepare process sandbox";
const TEXTS = {
  entry: `${UNPREPARED}: invalid sandbox permission path: ${WHY}`,
  cwd: `${UNPREPARED}: invalid sandbox policy cwd: ${WHY}`,
  root: `${UNPREPARED}: invalid sandbox workspace root: ${WHY}`,
  /** Of the three at once. */
  all: `${UNPREPARED}: invalid sandbox policy cwd: ${WHY}`,
};
const TEXTS_OF_166 = {
  entry: FILES_ENTRY,
  cwd: `sandbox cwd URI \`${FOREIGN}\` is not valid on this exec-server host: ${WHY}`,
  root: `sandbox workspace root URI \`${FOREIGN}\` is not valid on this exec-server host: ${WHY}`,
  all: FILES_ENTRY,
};

const inContext = (context: Record<string, unknown>) => sandboxOf([READ_ALL], { context });
const withEntry = (uri: string) => sandboxOf([READ_ALL, pathEntry(uri, "write")]);

const NO_PATHS = {
  sub: "invalid URI: relative URL without a base",
  "http://x/y": "unsupported path URI scheme `http`",
  "file:///a?b": "query parameters are not allowed in path URIs",
  "file:///a#b": "fragments are not allowed in path URIs",
  "file:///a%00b": "'file:///a%00b' is invalid on 'linux'",
};

/** A context for every place where a path can be. */
function everywhere(uri: string): Record<string, unknown>[] {
  return [
    withEntry(uri),
    inContext({ cwd: uri }),
    inContext({ workspaceRoots: [uri] }),
    inContext({ userHomeDir: uri }),
    inContext({ temporaryDirectories: [uri] }),
    inContext({ policyContext: { cwd: uri } }),
    inContext({ policyContext: { workspaceRoots: [uri] } }),
    inContext({ permissions: { type: "disabled" }, cwd: uri }),
  ];
}

verifies("sandbox.context:not-a-path", async ({ peer }) => {
  const connection = await peer();
  for (const [uri, message] of Object.entries(NO_PATHS))
    for (const sandbox of everywhere(uri)) {
      const params = start("p", ["true"], { sandbox });
      await expectError(connection.request("process/start", params), INVALID, message);
    }
});

verifies("sandbox.context:files-not-a-path", async ({ peer }) => {
  const connection = await peer();
  for (const [uri, message] of Object.entries(NO_PATHS))
    for (const sandbox of everywhere(uri)) {
      const params = { path: "file:///etc/passwd", sandbox };
      await expectError(connection.request("fs/readFile", params), INVALID, message);
    }
});

/** The refusal of a file call. */
function refusedWrite(connection: RawPeer, sandbox: object, code: number, message: string) {
  const params = { path: "file:///no/such/directory/f", dataBase64: "", sandbox };
  return expectError(connection.request("fs/writeFile", params), code, message);
}

verifies("sandbox.context:files-foreign", async ({ peer }) => {
  const connection = await peer();
  const refuses = (sandbox: object, message: string) =>
    refusedWrite(connection, sandbox, INVALID_REQUEST, message);
  const both = { cwd: FOREIGN, workspaceRoots: [FOREIGN] };
  await refuses(sandboxOf([pathEntry(FOREIGN, "deny")], { context: both }), FILES_ENTRY);
  await refuses(inContext(both), WHY);
  await refuses(inContext({ policyContext: both }), WHY);
  await refuses(
    inContext({ workspaceRoots: [FOREIGN] }),
    `file system sandbox workspace root is not native to this exec-server host: ${WHY}`,
  );
});

verifies("sandbox.context:files-dynamic", async ({ peer }) => {
  const connection = await peer();
  for (const dynamic of [special("project_roots", "write"), pattern("*.env")]) {
    const entries = [READ_ALL, pathEntry(FOREIGN, "deny"), dynamic];
    const sandbox = sandboxOf(entries, { context: { cwd: null, workspaceRoots: [FOREIGN] } });
    const message = "file system sandbox context with dynamic permissions requires cwd";
    await refusedWrite(connection, sandbox, INVALID, message);
  }
});

const refusesForeign =
  (texts: typeof TEXTS) =>
  async ({ peer }: VerifyContext) => {
    const connection = await peer();
    const refuses = (sandbox: object, message: string) =>
      expectError(connection.request("process/start", start("p", ["true"], { sandbox })), INVALID, message);
    const both = { cwd: FOREIGN, workspaceRoots: [FOREIGN] };
    await refuses(sandboxOf([pathEntry(FOREIGN, "deny")], { context: both }), texts.all);
    await refuses(withEntry(FOREIGN), texts.entry);
    await refuses(withEntry("file://host/x"), texts.entry.replace(FOREIGN, "file://host/x"));
    await refuses(inContext(both), texts.cwd);
    await refuses(inContext({ workspaceRoots: [FOREIGN] }), texts.root);
    await refuses(inContext({ policyContext: both }), texts.cwd);
    await refuses(inContext({ policyContext: { workspaceRoots: [FOREIGN] } }), texts.root);
    await refuses(sandboxOf([special("root", "write")], { context: both }), texts.cwd);
  };

verifies("sandbox.context:foreign", refusesForeign(TEXTS));
verifies("sandbox.context:foreign-0.166", refusesForeign(TEXTS_OF_166));

verifies("sandbox.context:foreign-disabled", async ({ peer }) => {
  const connection = await peer();
  for (const permissions of [{ type: "disabled" }, { type: "external", network: "enabled" }]) {
    const refuses = (context: object, message: string) => {
      const sandbox = inContext({ permissions, ...context });
      return expectError(
        connection.request("process/start", start("p", ["true"], { sandbox })),
        INVALID,
        message,
      );
    };
    await refuses({ cwd: FOREIGN }, TEXTS.cwd);
    await refuses({ workspaceRoots: [FOREIGN] }, TEXTS.root);
  }
});

verifies("sandbox.context:foreign-unused", async ({ peer }) => {
  const connection = await peer();
  const unused = [
    { userHomeDir: FOREIGN, temporaryDirectories: [FOREIGN] },
    { cwd: FOREIGN, workspaceRoots: [FOREIGN], policyContext: { cwd: "file:///", workspaceRoots: [] } },
  ];
  for (const [index, context] of unused.entries()) {
    const params = start(`p${index}`, ["true"], { sandbox: inContext(context) });
    expect(await connection.request("process/start", params)).toMatchObject({ processId: `p${index}` });
  }
});

verifies("sandbox.context:before-cwd", async ({ peer }) => {
  const connection = await peer();
  const options = { cwd: FOREIGN, sandbox: inContext({ cwd: FOREIGN }) };
  const request = (argv: string[]) => connection.request("process/start", start("p", argv, options));
  await expectError(request(["true"]), INVALID, TEXTS.cwd);
  await expectError(request([]), INVALID, "argv must not be empty");
});

verifies("sandbox.context:not-utf8", async ({ peer }) => {
  const connection = await peer();
  const params = start("p", ["true"], { sandbox: withEntry("file:///a%FF") });
  await expectError(
    connection.request("process/start", params),
    INVALID,
    `${UNPREPARED}: invalid sandbox permission path: 'file:///a%FF' is not UTF-8, which a sandbox requires`,
  );
});

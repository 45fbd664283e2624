import { constants } from "node:fs";
import { access, mkdtemp, realpath, rm } from "node:fs/promises";
import { expect } from "vitest";
import { openWebSocketPeer } from "./raw-peer.ts";
import type { LaunchOptions } from "./server-process.ts";
import { type VerifyContext, verifies } from "./verifies.ts";

/** The environment info of a server started for the purpose. */
async function infoOf({ launch }: VerifyContext, options: LaunchOptions = {}) {
  const server = await launch(["--listen", "ws://127.0.0.1:0"], options);
  const peer = await openWebSocketPeer(await server.banner());
  const { environmentInfo } = await peer.handshake();
  return { info: environmentInfo, home: server.home };
}

verifies("environment.info:same", async ({ connect }) => {
  const connection = await connect();
  const { environmentInfo } = await connection.handshake();
  expect(await connection.request("environment/info")).toEqual(environmentInfo);
  expect(await connection.request("environment/info", null)).toEqual(environmentInfo);
});

verifies("environment.info:shell", async ({ connect }) => {
  const { environmentInfo } = await (await connect()).handshake();
  const { shell } = environmentInfo;
  expect(Object.keys(shell).toSorted()).toEqual(["name", "path"]);
  expect(["zsh", "bash", "sh"]).toContain(shell.name);
  // A plain path: the only one on the wire that is not a URI.
  expect(shell.path).toMatch(/^\//);
  await access(shell.path, constants.X_OK);
});

verifies("environment.info:version", async ({ connect }) => {
  const { environmentInfo } = await (await connect()).handshake();
  expect(environmentInfo.executorVersion).toMatch(/^\d+\.\d+\.\d+$/);
});

verifies("environment.info:provider", async ({ connect }) => {
  const first = await (await connect()).handshake();
  const second = await (await connect()).handshake();
  expect(first.environmentInfo.providerId).toMatch(/^sha256:[0-9a-f]{64}$/);
  expect(second.environmentInfo.providerId).toBe(first.environmentInfo.providerId);
});

verifies("environment.info:cwd", async (context) => {
  const cwd = await realpath(await mkdtemp("/var/tmp/conformance cwd é-"));
  try {
    const { info } = await infoOf(context, { cwd });
    expect(info.cwd).toBe(`file://${encodeURI(cwd)}`);
  } finally {
    await rm(cwd, { recursive: true, force: true });
  }
});

verifies("environment.info:home", async (context) => {
  const { info, home } = await infoOf(context);
  expect(info.userHomeDir).toBe(`file://${home}`);
});

verifies("environment.info:platform", async ({ connect }) => {
  const { environmentInfo } = await (await connect()).handshake();
  expect(environmentInfo.platformOs).toBe("linux");
});

verifies("environment.info:path-dirs", async ({ connect }) => {
  const { environmentInfo } = await (await connect()).handshake();
  expect(environmentInfo.prependPathDirs).toBeInstanceOf(Array);
  for (const uri of environmentInfo.prependPathDirs) expect(uri).toMatch(/^file:\/\/\//);
});

verifies("environment.info:temporary-directories", async (context) => {
  const { info: without } = await infoOf(context);
  expect(without.temporaryDirectories).toEqual([]);
  const { info } = await infoOf(context, { env: { TMPDIR: "/var/tmp" } });
  expect(info.temporaryDirectories).toEqual(["file:///var/tmp"]);
});

verifies("environment.info:temp-dir", async (context) => {
  const { info } = await infoOf(context);
  expect(info.tempDir).toBe("file:///tmp");
});

verifies("environment.info:capabilities", async ({ connect }) => {
  const { environmentInfo } = await (await connect()).handshake();
  const { capabilities } = environmentInfo;
  // An absent capability is one the server has not: none at all is a valid answer.
  expect(capabilities).toBeTypeOf("object");
  expect(Object.entries(capabilities).filter(([, value]) => typeof value !== "boolean")).toEqual([]);
  expect(capabilities.windowsMxc ?? false).toBe(false);
});

verifies("environment.status:ready", async ({ peer }) => {
  const connection = await peer();
  expect(await connection.request("environment/status")).toEqual({ status: "ready" });
});

import { expect } from "vitest";
import { expectError, verifies } from "./verifies.ts";

const EXTENSION_METHODS = [
  "command/exec",
  "command/exec/terminate",
  "command/exec/write",
  "console/link",
  "fs/chmod",
  "fs/hash",
  "fs/openPart",
  "fs/readLink",
  "fs/rename",
  "fs/symlink",
  "fs/unwatch",
  "fs/watch",
  "http/cancel",
  "http/flow",
  "process/attach",
  "process/closeStdin",
  "process/detach",
  "process/flow",
  "process/list",
  "process/ports",
  "process/rename",
  "process/resize",
  "process/snapshot",
  "process/times",
  "process/wait",
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
];
const EXTENSION_FIELDS = [
  "fs/chmod.noLinks",
  "fs/getMetadata.includeMode",
  "fs/open.noLinks",
  "fs/openPart.noLinks",
  "fs/readDirectory.detailed",
  "fs/readFile.maxBytes",
  "fs/remove.noLinks",
  "fs/rename.noLinks",
  "fs/symlink.noLinks",
  "fs/writeFile.mode",
  "fs/writeFile.noLinks",
  "initialize.reportStarts",
  "initialize.urgentInput",
  "process/detach.forget",
  "process/list.after",
  "process/list.usage",
  "process/signal.signal",
  "process/snapshot.paint",
  "process/start.closeOnExit",
  "process/start.contain",
  "process/start.followScreen",
  "process/start.idempotencyKey",
  "process/start.keep",
  "process/start.label",
  "process/start.limits",
  "process/start.secrets",
  "process/start.specKind",
  "process/start.tellEnforced",
  "process/start.tellPid",
  "process/start.terminalSize",
  "process/start.timeoutMs",
  "process/terminate.mode",
  "process/terminate.timeoutMs",
  "process/times.ageMs",
];

verifies("extensions:announced", async ({ peer, target, transport }) => {
  const connection = await peer();
  const { extensions } = await connection.request("environment/info");
  if (target.kind === "ours")
    expect(extensions).toEqual(
      [...EXTENSION_METHODS, ...EXTENSION_FIELDS]
        // A server on stdio ends with its client, so it keeps nothing.
        .filter((extension) => transport !== "stdio" || extension !== "process/start.keep")
        // Browsers reach only servers that listen.
        .filter((extension) => transport === "ws" || extension !== "console/link")
        .toSorted(),
    );
  for (const method of EXTENSION_METHODS) {
    const announced: boolean = extensions?.includes(method) ?? false;
    // Parameters of the wrong type have no effect, whether or not the server knows the method.
    await expectError(connection.request(method, 1), announced ? -32602 : -32601);
  }
});

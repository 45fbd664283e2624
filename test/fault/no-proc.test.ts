import { randomUUID } from "node:crypto";
import { afterEach, describe, expect, it } from "vitest";
import { awaitMarked, awaitNoneLeft, type Kind, killMarked, startReady } from "./marked-processes.ts";
import { type ServerUnderTest, startServer } from "./server-under-test.ts";
import { openSession, RpcFailure, startParams } from "./session-client.ts";

const marker = `no-proc-${randomUUID()}`;
const KINDS: readonly Kind[] = [
  { name: "on pipes", script: "sleep 1000 & echo ready; wait" },
  { name: "on a terminal", script: "sleep 1000 & echo ready; wait", tty: true },
];

afterEach(() => killMarked(marker));

/** A server that sees no /proc, as in a tight container. */
const withoutProc = (): Promise<ServerUnderTest> =>
  startServer({
    args: ["--allow-local-users"],
    through: ["unshare", "-m", "sh", "-c", 'mount -t tmpfs none /proc && exec "$@"', "sh"],
  });

describe("a server without /proc", () => {
  it.each([
    ["process/terminate", { mode: null }],
    ["process/terminate at once", { mode: "now" }],
    ["a graceful process/terminate", { mode: "graceful", timeoutMs: 100 }],
  ])("starts processes, and ends their groups by %s", async (_, params) => {
    await using server = await withoutProc();
    const { client } = await startReady(server.url, KINDS, marker);
    for (const { name } of KINDS)
      expect(await client.request("process/terminate", { processId: name, ...params })).toEqual({
        running: true,
      });
    await awaitNoneLeft(marker);
  });

  it("ends a process whose time is over", async () => {
    await using server = await withoutProc();
    const client = await openSession(server.url);
    await client.request("process/start", { ...startParams("p", ["sleep", "1000"]), timeoutMs: 50 });
    expect(await client.request("process/wait", { processId: "p" })).toMatchObject({ exitCode: 143 });
  });

  it("says that it can contain nothing", async () => {
    await using server = await withoutProc();
    const client = await openSession(server.url);
    const failure: unknown = await client
      .request("process/start", { ...startParams("p", ["true"]), contain: true })
      .catch((error: unknown) => error);
    if (!(failure instanceof RpcFailure)) throw failure;
    expect(failure.data).toEqual({ code: "UNSUPPORTED" });
  });

  it.each(["SIGTERM", "SIGKILL"] as const)("leaves no process group behind after %s", async (signal) => {
    await using server = await withoutProc();
    await startReady(server.url, KINDS, marker);
    await awaitMarked(marker, KINDS.length);
    await server.kill(signal);
    await awaitNoneLeft(marker);
  });
});

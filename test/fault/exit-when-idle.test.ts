import { existsSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { afterEach, beforeEach, expect, it } from "vitest";
import { socketUrl } from "../../src/base/socket-url.ts";
import { ConnectionError } from "../../src/base/errors.ts";
import { connect } from "../../src/client/host/connect.ts";
import type { Host } from "../../src/client/host/host.ts";
import { launch, type ServerProcess } from "../conformance/server-process.ts";
import { withDeadline } from "./deadline.ts";

let directory: string;
const servers: ServerProcess[] = [];

beforeEach(async () => void (directory = await mkdtemp(join(tmpdir(), "exec-server-idle-"))));

afterEach(async () => {
  for (const server of servers.splice(0)) await server.stop();
  await rm(directory, { recursive: true, force: true });
});

/** By default, a session without a client keeps a server busy for more than a minute. */
async function serveUntilIdle(duration: string, { sessionsMs = 1 } = {}): Promise<ServerProcess> {
  const listen = ["--listen", `unix://${join(directory, "s")}`, "--exit-when-idle", duration];
  const server = await launch("ours", [...listen, "--detached-session-ttl-ms", String(sessionsMs)]);
  servers.push(server);
  return server;
}

const ended = (server: ServerProcess) => withDeadline(server.exited, 60_000, () => "the end of the server");

it("an idle server ends by itself, and leaves nothing", async () => {
  const server = await serveUntilIdle("300ms");
  await server.banner();
  expect(await ended(server)).toEqual({ code: 0, signal: null });
  expect({ stderr: server.stderr, socket: existsSync(join(directory, "s")) }).toEqual({
    stderr: "",
    socket: false,
  });
});

it("a connection, and then a session that waits for its client, keep it from ending", async () => {
  let idleMs = 1_000;
  let server = await serveUntilIdle(`${idleMs}ms`, { sessionsMs: 600_000 });
  const url = await server.banner();
  let first: Host | undefined;
  while (first === undefined) {
    first = await connect(url).catch(() => undefined);
    if (first !== undefined) break;
    // A machine that stood still meanwhile.
    await ended(server);
    idleMs *= 2;
    server = await serveUntilIdle(`${idleMs}ms`, { sessionsMs: 600_000 });
    await server.banner();
  }
  await setTimeout(1.6 * idleMs);
  expect((await first.run(["echo", "served"])).stdout).toBe("served\n");
  const { sessionId } = first;
  await first.detach();
  await setTimeout(1.6 * idleMs);
  const second = await connect(url, { resumeSessionId: sessionId });
  expect(second.sessionId).toBe(sessionId);
  await second.close();
  expect((await ended(server)).code).toBe(0);
});

it("nobody is lost who comes in the moment in which it ends", async () => {
  let idleMs = 15;
  let server = await serveUntilIdle(`${idleMs}ms`);
  let isFound = false;
  let restarts = 0;
  // A client that finds no server starts one, as the command line does, and tries again.
  const open = async (): Promise<Host> => {
    for (;;) {
      try {
        const host = await connect(socketUrl(join(directory, "s")));
        isFound = true;
        return host;
      } catch (error) {
        if (!(error instanceof ConnectionError)) throw error;
        if (server.child.exitCode === null) continue;
        // A busy machine needs longer to get from one program to the other.
        if (isFound) restarts += 1;
        else idleMs *= 2;
        isFound = false;
        server = await serveUntilIdle(`${idleMs}ms`);
      }
    }
  };
  const seen: string[] = [];
  for (let round = 0; round < 20; round += 1) {
    await using host = await open();
    // An admitted client is served, although the server would have ended about now.
    seen.push((await host.run(["echo", "served"])).stdout);
    await host.close();
    await setTimeout(idleMs * (0.8 + (round % 10) / 15));
  }
  expect(seen).toEqual(seen.map(() => "served\n"));
  expect(restarts).toBeGreaterThan(2);
});

it.each([
  [["--exit-when-idle", "soon"], "expected a time such as 90s, 10m or 2h, at most 24d"],
  [["--exit-when-idle", "0s"], "expected a time such as 90s, 10m or 2h, at most 24d"],
  [["--exit-when-idle", "25d"], "expected a time such as 90s, 10m or 2h, at most 24d"],
  [["--stdio", "--exit-when-idle", "10s"], "cannot be used with stdio"],
])("%j is refused", async (args, why) => {
  const server = await launch("ours", args);
  servers.push(server);
  expect((await ended(server)).code).toBe(2);
  expect(server.stderr).toContain(why);
});

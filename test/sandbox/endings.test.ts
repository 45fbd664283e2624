import { randomUUID } from "node:crypto";
import { describe, expect, it } from "vitest";
import { untilOutput } from "../conformance/process-events.ts";
import { openWebSocketPeer } from "../conformance/raw-peer.ts";
import { READ_ONLY } from "../conformance/sandbox-context.ts";
import { launch, SERVER_PATH } from "../conformance/server-process.ts";
import { start } from "../conformance/verifies.ts";
import { awaitNoneLeft, KINDS } from "../fault/marked-processes.ts";
import { processesMarked } from "../fault/proc-fs.ts";

describe("what runs in a sandbox", () => {
  it.each(["SIGKILL", "SIGTERM"] as const)("ends with its server, after %s", async (signal) => {
    const marker = `sandbox-ending-${randomUUID()}`;
    const server = await launch("ours", ["--listen", "ws://127.0.0.1:0"]);
    const peer = await openWebSocketPeer(await server.banner());
    await peer.handshake();
    const kinds = KINDS.filter(({ leaderExits }) => leaderExits !== true);
    await Promise.all(
      kinds.map(async ({ name, script, tty = false }) => {
        const env = { PATH: SERVER_PATH, MARKER: marker };
        const argv = ["/bin/sh", "-c", `setsid sh -c 'trap "" TERM HUP INT; sleep 1000' & ${script}`];
        await peer.request("process/start", start(name, argv, { sandbox: READ_ONLY, tty, env }));
        await untilOutput(peer, name, /ready/);
      }),
    );
    expect(processesMarked(marker).length).toBeGreaterThan(kinds.length);
    await server.stop(signal);
    await awaitNoneLeft(marker);
  });
});

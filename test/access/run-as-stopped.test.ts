import { once } from "node:events";
import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { WebSocket } from "ws";
import { connect } from "../../src/client/host/connect.ts";
import type { Host } from "../../src/client/host/host.ts";
import { serve } from "../../src/server/index.ts";
import { pollUntil } from "../fault/deadline.ts";
import {
  commandLine,
  descendantsOf,
  isStillAlive,
  type ProcessIdentity,
  processesMarked,
  stateOf,
} from "../fault/proc-fs.ts";
import { startServer } from "../fault/server-under-test.ts";

const DEADLINE_MS = 60_000;
const SERVER_FAILED = 1011;
/** Without the directory of control groups, in a separate mount namespace. */
const WITHOUT_CONTROL_GROUPS = ["unshare", "-m", "sh", "-c", 'umount -l /sys/fs/cgroup && exec "$@"', "sh"];

/** The part of a server that is another user. */
function partOf(server: number): ProcessIdentity {
  const part = descendantsOf(server).find(({ pid }) => commandLine(pid).includes("user-server.js"));
  if (part === undefined) throw new Error("nothing runs as another user");
  return part;
}

/** TCP sockets of a process on which it listens. */
function listenersOf(pid: number): string[] {
  const sockets = new Set(readdirSync(`/proc/${pid}/fd`).map((fd) => readlinkSync(`/proc/${pid}/fd/${fd}`)));
  return ["tcp", "tcp6"]
    .flatMap((table) => readFileSync(`/proc/${pid}/net/${table}`, "utf8").split("\n"))
    .filter((line) => {
      const [, , , state, , , , , , inode] = line.trim().split(/\s+/);
      return state === "0A" && sockets.has(`socket:[${inode}]`);
    });
}

/** Starts something that runs on its own, and waits for it. */
async function startMarked(host: Host, script: (mark: string) => string, mark: string): Promise<void> {
  await host.start(["bash", "-c", script(mark)], { keep: "job" });
  await pollUntil(
    () => processesMarked(mark).length > 0,
    DEADLINE_MS,
    () => "the process",
  );
}

/** A process of the user does this; it may not live to tell. */
function attack(host: Host, script: string): void {
  host.start(["bash", "-c", script]).catch(() => {});
}

describe.runIf(process.getuid?.() === 0)("the part of a server that is another user", () => {
  it.each([
    ["it", "kill -STOP $PPID"],
    ["everything of it", "kill -STOP $PPID $(tr ' ' '\\n' < /proc/$PPID/task/$PPID/children | grep -vx $$)"],
  ])("goes on, with what it runs, if the user stops %s", async (_what, script) => {
    await using server = await serve({ runAs: "games", environment: {} });
    await using host = await connect(server.url);
    const mark = `stopped-${process.pid}-${script.length}`;
    await startMarked(host, (name) => `exec -a ${name} sleep 300`, mark);
    const part = partOf(process.pid);
    attack(host, script);
    // The order of the two does not matter: a connection is served in time, whenever it comes.
    await using other = await connect(server.url);
    expect((await other.run(["id", "-un"])).stdout).toBe("games\n");
    expect(isStillAlive(part)).toBe(true);
    expect(processesMarked(mark)).toHaveLength(1);
  });

  it("is replaced if it stays silent, and its clients learn why", async () => {
    await using server = await serve({ runAs: "games", environment: {} });
    const host = await connect(server.url, { recoveryTimeoutMs: 0 });
    const part = partOf(process.pid);
    const waiting = once(new WebSocket(server.url), "close") as Promise<[number, Buffer]>;
    attack(host, "while kill -STOP $PPID; do sleep 0.05; done");
    let end: [number, Buffer] | undefined;
    void waiting.then((seen) => (end = seen));
    // What memory it has may do for minutes, unless there is work that leaves garbage.
    const [code, reason] = await pollUntil(
      async () => {
        await Promise.allSettled(Array.from({ length: 500 }, () => host.files.stat("/")));
        return end ?? false;
      },
      DEADLINE_MS,
      () => "the end of the connection",
    );
    expect([code, reason.toString()]).toEqual([
      SERVER_FAILED,
      "cannot run anything as games: its server does not answer; a program of that user may have stopped it",
    ]);
    await using again = await connect(server.url);
    expect((await again.run(["id", "-un"])).stdout).toBe("games\n");
    await pollUntil(
      () => !isStillAlive(part),
      DEADLINE_MS,
      () => "the end of the part that was stopped",
    );
  });

  it("opens no debugger, and may end with last words that no close frame holds", async () => {
    await using server = await serve({ runAs: "games", environment: {} });
    const host = await connect(server.url, { recoveryTimeoutMs: 0 });
    const waiting = once(new WebSocket(server.url), "close") as Promise<[number, Buffer]>;
    const part = partOf(process.pid);
    await host.run(["bash", "-c", "kill -USR1 $PPID"]);
    // The signal comes before the answer.
    await host.run(["true"]);
    expect(listenersOf(part.pid)).toEqual([]);
    // Without memory, Node says much more than a close frame holds.
    attack(host, "prlimit --pid $PPID --as=1000000");
    let end: [number, Buffer] | undefined;
    void waiting.then((seen) => (end = seen));
    // What memory it has may do for minutes, unless there is work that leaves garbage.
    const [code, reason] = await pollUntil(
      async () => {
        await Promise.allSettled(Array.from({ length: 500 }, () => host.files.stat("/")));
        return end ?? false;
      },
      DEADLINE_MS,
      () => "the end of the connection",
    );
    expect(code).toBe(SERVER_FAILED);
    expect(reason.toString()).toMatch(/^cannot run anything as games: .*…$/s);
    await using again = await connect(server.url);
    expect((await again.run(["id", "-un"])).stdout).toBe("games\n");
  });

  it.each([
    ["with control groups", [], "setsid sleep 300 & exec sleep 300"],
    ["without control groups", WITHOUT_CONTROL_GROUPS, "exec sleep 300"],
  ])("does not outlive a server that is killed while it is stopped, %s", async (_where, through, script) => {
    const mark = `outlived-${process.pid}-${through.length}`;
    await using server = await startServer({ args: ["--run-as", "games"], through });
    const host = await connect(server.url, { recoveryTimeoutMs: 0 });
    await startMarked(host, (name) => `export MARK=${name}; ${script}`, mark);
    const part = partOf(server.pid);
    attack(host, "kill -STOP $PPID");
    await pollUntil(
      () => stateOf(part.pid) === "T",
      DEADLINE_MS,
      () => "the stop",
    );
    await server.kill("SIGKILL");
    await pollUntil(
      () => !isStillAlive(part) && processesMarked(mark).length === 0,
      DEADLINE_MS,
      () => `the end of ${processesMarked(mark).map(commandLine).join()}`,
    );
    await host.close();
  });

  it("ends with its server, although it is stopped", async () => {
    const mark = `ended-${process.pid}`;
    await using server = await startServer({ args: ["--run-as", "games"] });
    const host = await connect(server.url, { recoveryTimeoutMs: 0 });
    await startMarked(host, (name) => `export MARK=${name}; setsid sleep 300 & exec sleep 300`, mark);
    const part = partOf(server.pid);
    attack(host, "kill -STOP $PPID");
    await pollUntil(
      () => stateOf(part.pid) === "T",
      DEADLINE_MS,
      () => "the stop",
    );
    expect(await server.kill("SIGTERM")).toEqual({ code: 0, signal: null });
    expect([isStillAlive(part), processesMarked(mark)]).toEqual([false, []]);
    await host.close();
  });
});

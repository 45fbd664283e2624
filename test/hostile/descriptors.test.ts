import net from "node:net";
import { describe, expect, it } from "vitest";
import { pollUntil } from "../fault/deadline.ts";
import { isAlive, openDescriptors } from "../fault/proc-fs.ts";
import { upgradeRequest } from "../fault/raw-websocket.ts";
import type { SeededRandom } from "../fault/seeded-random.ts";
import { RpcFailure, type SessionClient } from "../fault/session-client.ts";
import { AttackedServer } from "./attacked-server.ts";
import { hostileRounds, randomOf, withSeed } from "./hostile-run.ts";

const ROUNDS = 2;
/** Descriptors that may be left when nothing more can be opened. */
const MAX_LEFT = 4;
const MAX_HANDLES = 128;
const ENDED_DEADLINE_MS = 60_000;
const CONNECT_DEADLINE_MS = 3_000;
const IGNORES_SIGTERM = "trap '' TERM HUP; echo ready; while :; do sleep 1000; done";
const SLEEPS = "echo ready; exec sleep 1000";

interface Running {
  readonly processId: string;
  readonly pid: number;
  readonly hasTimeout: boolean;
}

async function start(session: SessionClient, random: SeededRandom, index: number): Promise<Running> {
  const processId = `p${index}`;
  const hasTimeout = random.next() < 0.5;
  await session.request("process/start", {
    processId,
    argv: ["sh", "-c", random.pick([SLEEPS, IGNORES_SIGTERM])],
    cwd: "file:///",
    env: { PATH: "/usr/bin:/bin" },
    tty: random.next() < 0.3,
    pipeStdin: random.next() < 0.3,
    ...(hasTimeout ? { timeoutMs: random.between(300, 2000) } : {}),
  });
  const { processes } = await session.request<{ processes: { processId: string; pid: number }[] }>(
    "process/list",
    {},
  );
  const pid = processes.find((listed) => listed.processId === processId)?.pid;
  if (pid === undefined) throw new Error(`${processId} is not listed`);
  // The time of the others may be over already.
  if (!hasTimeout) expect(isAlive(pid), processId).toBe(true);
  return { processId, pid, hasTimeout };
}

/** Connections of every kind until the server can have no more. */
async function exhaust(target: AttackedServer, random: SeededRandom, most: number): Promise<net.Socket[]> {
  const sockets = Array.from({ length: most }, () => {
    const socket = net.connect({ host: "127.0.0.1", port: target.server.port });
    socket.on("error", () => {}); // refused, or cut later
    const text = random.pick(["", "GET / HTTP/1.1\r\n", upgradeRequest(), "\0\0"]);
    socket.once("connect", () => socket.write(text));
    return socket;
  });
  // Not each of them will be taken; those that are have been by then.
  let seen = 0;
  await pollUntil(
    () => {
      const before = seen;
      seen = openDescriptors(target.server.pid).length;
      return sockets.every((socket) => !socket.connecting) && seen <= before;
    },
    CONNECT_DEADLINE_MS,
    () => "the connections",
  ).catch(() => {}); // the system's queue is full too
  return sockets;
}

/**
 * A client that knows how to open files takes what the server has kept from strangers. Returns how many files it has.
 */
async function takeTheRest(session: SessionClient, first: number): Promise<number> {
  for (let index = first; index < MAX_HANDLES; index++) {
    const opening = session.request("fs/open", { handleId: `h${index}`, path: "file:///etc/passwd" });
    const error: unknown = await opening.then(
      () => undefined,
      (reason: unknown) => reason,
    );
    if (error === undefined) continue;
    expect(error).toMatchObject({ message: expect.stringMatching(/No file descriptors? available/) });
    return index;
  }
  return MAX_HANDLES;
}

/** Whatever is asked of a server without descriptors is answered with a result or a reason. */
async function answered(request: Promise<unknown>): Promise<void> {
  const error: unknown = await request.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (error === undefined) return;
  if (!(error instanceof RpcFailure)) throw error;
  expect(error.message).not.toMatch(/internal error/);
}

describe("a server that has no descriptor left", () => {
  it("ends processes, reports their ends, and continues when there are some again", () =>
    withSeed(async () => {
      const random = randomOf("descriptors");
      for (let round = 0; round < ROUNDS * hostileRounds; round++) {
        const limit = random.between(70, 140);
        await using target = await AttackedServer.start({
          through: ["prlimit", `--nofile=${limit}:${limit}`],
        });
        const ended = new Set<string>();
        const session = await target.session((notification) => {
          if (notification.method === "process/closed") ended.add(notification.params.processId);
        });
        const running: Running[] = [];
        for (let index = 0; index < random.between(3, 6); index++)
          running.push(await start(session, random, index));
        const sockets = await exhaust(target, random, limit + 20);
        // A process whose time is over may give some back in between.
        let taken = 0;
        await pollUntil(
          async () => {
            taken = await takeTheRest(session, taken);
            return openDescriptors(target.server.pid).length > limit - MAX_LEFT;
          },
          ENDED_DEADLINE_MS,
          () => `${openDescriptors(target.server.pid).length} descriptors to become ${limit}`,
        );
        try {
          await Promise.all([
            answered(session.request("fs/readFile", { path: "file:///etc/hostname" })),
            answered(
              session.request("fs/walk", {
                path: "file:///etc",
                options: { maxDepth: 1, maxDirectories: 5, maxEntries: 50, followDirectorySymlinks: false },
              }),
            ),
            answered(
              session.request("http/request", { method: "GET", url: "http://127.0.0.1:1/", requestId: "r" }),
            ),
            answered(
              session.request("process/start", {
                processId: "more",
                argv: ["true"],
                cwd: "file:///",
                env: {},
                tty: random.pick([true, false]),
              }),
            ),
            ...running
              .filter(({ hasTimeout }) => !hasTimeout)
              .map(({ processId }) =>
                session.request("process/terminate", {
                  processId,
                  ...random.pick<object>([
                    {},
                    { mode: "now" },
                    { mode: "graceful", timeoutMs: random.between(0, 500) },
                  ]),
                }),
              ),
          ]);
          for (const { processId, pid } of running)
            await pollUntil(
              () => !isAlive(pid) && ended.has(processId),
              ENDED_DEADLINE_MS,
              () =>
                `round ${round}: the end of ${processId} with ${limit} descriptors: ${isAlive(pid) ? "alive" : "gone"}`,
            );
          await session.request("environment/status");
        } finally {
          for (const socket of sockets) socket.destroy();
        }
        session.cut();
        await target.expectUnharmed(`round ${round}`);
      }
    }));
});

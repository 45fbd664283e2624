import { randomUUID } from "node:crypto";
import { afterEach, describe, expect, it } from "vitest";
import { pollUntil } from "./deadline.ts";
import {
  awaitMarked,
  awaitNoneLeft,
  KINDS,
  type Kind,
  killMarked,
  markedStart,
  startReady,
} from "./marked-processes.ts";
import { descendantsOf, processesMarked, sessionOf } from "./proc-fs.ts";
import { faultRounds, runSeed, SeededRandom } from "./seeded-random.ts";
import { startServer } from "./server-under-test.ts";
import { openSession } from "./session-client.ts";

const BURSTS = 10;
const STARTS_PER_BURST = 40;
const CLOSED_DEADLINE_MS = 60_000;

const markers: string[] = [];

function newMarker(): string {
  const marker = `fault-marker-${randomUUID()}`;
  markers.push(marker);
  return marker;
}

afterEach(() => {
  for (const marker of markers.splice(0)) killMarked(marker);
});

describe("a server killed with SIGKILL", () => {
  it.each(KINDS)("leaves nothing of $name", async (kind) => {
    const marker = newMarker();
    await using server = await startServer({ marker });
    await startReady(server.url, [kind], marker);
    await awaitMarked(marker, 2);
    const family = descendantsOf(server.pid);
    await server.kill("SIGKILL");
    await awaitNoneLeft(marker, family);
  });

  it("takes everything with it that has not left its session", async () => {
    const marker = newMarker();
    const escaped = newMarker();
    await using server = await startServer({ marker });
    await startReady(server.url, KINDS, marker);
    const runaway: Kind = {
      name: "a child that leaves",
      script: "setsid sleep 1000 & echo ready; exec sleep 1000",
    };
    await startReady(server.url, [runaway], escaped);
    await pollUntil(
      () =>
        processesMarked(escaped).some((pid) => sessionOf(pid) === pid) &&
        processesMarked(escaped).length >= 2,
      CLOSED_DEADLINE_MS,
      () => "the child's own session",
    );
    await server.kill("SIGKILL");
    await awaitNoneLeft(marker);
    // Exactly what the guide says may survive.
    const left = await pollUntil(
      () => processesMarked(escaped).length === 1 && processesMarked(escaped),
      CLOSED_DEADLINE_MS,
      () => "the end of all but the child that left",
    );
    expect(left.map(sessionOf)).toEqual(left);
  });

  it("leaves nothing of a burst of starts that it was killed in", async () => {
    const random = new SeededRandom(runSeed);
    for (let burst = 0; burst < BURSTS * faultRounds; burst++) {
      const marker = newMarker();
      await using server = await startServer({ marker });
      const client = await openSession(server.url);
      const killAfter = random.between(0, STARTS_PER_BURST - 1);
      let answered = 0;
      await new Promise<void>((resolve) => {
        if (killAfter === 0) resolve();
        for (let i = 0; i < STARTS_PER_BURST; i++) {
          const start = client.request("process/start", markedStart(`p${i}`, random.pick(KINDS), marker));
          // Most of these never get an answer: their server is killed.
          start.then(
            () => {
              if (++answered === killAfter) resolve();
            },
            () => {},
          );
        }
      });
      await server.kill("SIGKILL");
      try {
        await awaitNoneLeft(marker);
      } catch (error) {
        throw new Error(`FAULT_SEED ${runSeed}, burst ${burst}, killed after ${killAfter} starts`, {
          cause: error,
        });
      }
    }
  });
});

describe.each(["SIGTERM", "SIGINT"] as const)("a server stopped with %s", (signal) => {
  it("exits with 0 and leaves nothing", async () => {
    const marker = newMarker();
    await using server = await startServer({ marker });
    await startReady(server.url, KINDS, marker);
    const family = descendantsOf(server.pid);
    expect(await server.kill(signal)).toEqual({ code: 0, signal: null });
    await awaitNoneLeft(marker, family);
  });
});

describe("process/terminate", () => {
  it("leaves nothing of the group of a running process", async () => {
    await using server = await startServer();
    for (const kind of KINDS.filter(({ leaderExits }) => !leaderExits)) {
      const marker = newMarker();
      const { client, isClosed } = await startReady(server.url, [kind], marker);
      await awaitMarked(marker, 1);
      await client.request("process/terminate", { processId: kind.name });
      await pollUntil(
        () => isClosed(kind.name),
        CLOSED_DEADLINE_MS,
        () => `closed of ${kind.name}`,
      );
      await awaitNoneLeft(marker);
    }
  });
});

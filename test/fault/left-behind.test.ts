import { randomUUID } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { pollUntil } from "./deadline.ts";
import { RESTLESS, TRACEABLE, UNTRACEABLE } from "./escaping-kinds.ts";
import {
  awaitMarked,
  awaitNoneLeft,
  type Kind,
  killMarked,
  startReady,
  wardenOf,
} from "./marked-processes.ts";
import { commandLine, openDescriptors, processesMarked } from "./proc-fs.ts";
import { type ServerUnderTest, startServer } from "./server-under-test.ts";
import { openSession, RpcFailure, type SessionClient } from "./session-client.ts";

const DEADLINE_MS = 60_000;
const GRACE_MS = 300;
/** Time enough for all of them to be ready, whatever the machine does. */
const TIMEOUT_MS = 20_000;
const SESSION_TTL_MS = 50;
const GONE_DEADLINE_MS = 60_000;

const markers: string[] = [];

function newMarker(): string {
  const marker = `left-behind-${randomUUID()}`;
  markers.push(marker);
  return marker;
}

afterEach(() => {
  for (const marker of markers.splice(0)) killMarked(marker);
});

interface End {
  readonly name: string;
  /** Added to each start. */
  readonly more?: object;
  readonly end: (client: SessionClient, processId: string) => Promise<unknown>;
  /** Ends what is contained, and otherwise the process group alone. */
  readonly groupOnly?: true;
}

const ENDS: readonly End[] = [
  {
    name: "process/terminate at once",
    end: (client, processId) => client.request("process/terminate", { processId, mode: "now" }),
  },
  {
    name: "a graceful process/terminate",
    end: (client, processId) =>
      client.request("process/terminate", { processId, mode: "graceful", timeoutMs: GRACE_MS }),
  },
  {
    name: "a timeout",
    more: { timeoutMs: TIMEOUT_MS },
    end: async () => {},
  },
  {
    name: "the end of the session",
    end: async (client) => client.cut(),
    groupOnly: true,
  },
];

let server: ServerUnderTest;
const bystander = `bystander-${randomUUID()}`;
let bystanders: number[];
let contains: boolean;

beforeAll(async () => {
  server = await startServer({ args: ["--detached-session-ttl-ms", String(SESSION_TTL_MS)] });
  const script = "sleep 1000 & setsid sh -c 'echo ready; exec sleep 1000' & wait";
  await startReady(server.url, [{ name: "bystander", script }], bystander);
  bystanders = await pollUntil(
    () => {
      const pids = processesMarked(bystander);
      return pids.length === 3 && pids;
    },
    DEADLINE_MS,
    () => "three bystanders",
  );
  contains = await canContain(server.url);
});

afterEach(() => {
  expect(processesMarked(bystander)).toEqual(bystanders);
});

afterAll(async () => {
  await server[Symbol.asyncDispose]();
  killMarked(bystander);
});

describe.each(ENDS)("after $name", ({ more, end, groupOnly }) => {
  // All at once where the time until the end is the same for all.
  const sets = groupOnly ? [] : more === undefined ? TRACEABLE.map((kind) => [kind]) : [TRACEABLE];
  it.each(sets.map((kinds) => ({ kinds, names: kinds.map(({ name }) => name).join("; ") })))(
    "nothing is left of $names",
    async ({ kinds }) => {
      const marker = newMarker();
      const { client } = await startReady(server.url, kinds, marker, more);
      await awaitMarked(marker, kinds.length);
      await Promise.all(kinds.map(({ name }) => end(client, name)));
      await awaitNoneLeft(marker, [], GONE_DEADLINE_MS);
    },
  );

  it("nothing is left of what was contained, wherever it went", async () => {
    if (!contains) return;
    const kinds = [...TRACEABLE, UNTRACEABLE, RESTLESS];
    const marker = newMarker();
    const { client } = await startReady(server.url, kinds, marker, { contain: true, ...more });
    expect(controlGroupsOf(server.pid).length).toBeGreaterThanOrEqual(2);
    await Promise.all(kinds.map(({ name }) => end(client, name)));
    await awaitNoneLeft(marker, [], GONE_DEADLINE_MS);
    await awaitNoGroups(server.pid);
  });
});

describe("process/terminate", () => {
  it("leaves alone what cannot be distinguished from an unrelated process's", async () => {
    const stranger = newMarker();
    const { client } = await startReady(server.url, [UNTRACEABLE], stranger);
    const escaped = await pollUntil(
      () => processesMarked(stranger).find((pid) => hasOwnOutput(pid)) ?? false,
      DEADLINE_MS,
      () => "a process with its own output",
    );
    await client.request("process/terminate", { processId: UNTRACEABLE.name, mode: "now" });
    await lookedThrough();
    expect(processesMarked(stranger)).toEqual([escaped]);
  });

  it("leaves alone a process of another session that writes to the same output", async () => {
    const marker = newMarker();
    const kind: Kind = { name: "written to", script: "echo ready; exec sleep 1000" };
    const { client } = await startReady(server.url, [kind], marker);
    const [written] = await awaitMarked(marker, 1);
    const friend = newMarker();
    const friendly: Kind = {
      name: "writer",
      script: `exec 5> /proc/${written}/fd/1; echo ready; (exec sleep 1000) & wait`,
    };
    await startReady(server.url, [friendly], friend);
    const friends = await pollUntil(
      () => {
        const pids = processesMarked(friend);
        return pids.length === 2 && pids;
      },
      DEADLINE_MS,
      () => "two friends",
    );
    await client.request("process/terminate", { processId: kind.name, mode: "now" });
    await awaitNoneLeft(marker);
    await lookedThrough();
    expect(processesMarked(friend)).toEqual(friends);
  });

  it("ends what a contained process left behind when it exited", async () => {
    if (!contains) return;
    const marker = newMarker();
    const kind: Kind = {
      name: "gone",
      script: "setsid sleep 1000 < /dev/null > /dev/null 2>&1 & echo ready",
    };
    const { client, isClosed } = await startReady(server.url, [kind], marker, { contain: true });
    await pollUntil(
      () => isClosed(kind.name),
      DEADLINE_MS,
      () => "closed",
    );
    expect(await awaitMarked(marker, 1)).toHaveLength(1);
    expect(await client.request("process/terminate", { processId: kind.name })).toEqual({ running: false });
    await awaitNoneLeft(marker);
    await awaitNoGroups(server.pid);
  });
});

describe("a server killed with SIGKILL", () => {
  it("leaves nothing of what was contained, nor its control groups", async () => {
    if (!contains) return;
    const marker = newMarker();
    await using killed = await startServer({ marker });
    await startReady(killed.url, [UNTRACEABLE, RESTLESS], marker, { contain: true });
    expect(controlGroupsOf(killed.pid)).toHaveLength(3);
    await killed.kill("SIGKILL");
    await awaitNoneLeft(marker);
    await awaitNoGroups(killed.pid);
  });

  it("is cleaned up after by the next server if its warden cannot", async () => {
    if (!contains) return;
    const marker = newMarker();
    await using killed = await startServer();
    await startReady(killed.url, [UNTRACEABLE], marker, { contain: true });
    const warden = await wardenOf(killed.pid);
    process.kill(warden, "SIGSTOP");
    try {
      await killed.kill("SIGKILL");
      expect(controlGroupsOf(killed.pid)).toHaveLength(2);
      await using next = await startServer();
      expect(await canContain(next.url)).toBe(true);
      await awaitNoGroups(killed.pid);
      expect(processesMarked(marker).filter((pid) => !commandLine(pid).startsWith("sleep"))).toEqual([]);
    } finally {
      process.kill(warden, "SIGKILL");
    }
  });
});

it.runIf(process.getuid?.() === 0)(
  "a server that may not make control groups says so, and starts nothing",
  async () => {
    const readOnly =
      'for mount in $(findmnt -n -t cgroup2 -o TARGET); do mount -o remount,bind,ro "$mount"; done; exec "$@"';
    await using restricted = await startServer({
      through: ["unshare", "--mount", "sh", "-c", readOnly, "sh"],
    });
    expect(await canContain(restricted.url)).toBe(false);
  },
);

/** True when the server can contain; otherwise it must have said so clearly. */
async function canContain(url: string): Promise<boolean> {
  const client = await openSession(url);
  const params = { processId: "p", argv: ["/bin/true"], cwd: "file:///", env: {}, tty: false, contain: true };
  try {
    await client.request("process/start", params);
    return true;
  } catch (error) {
    if (!(error instanceof RpcFailure)) throw error;
    expect({ code: error.code, data: error.data }).toEqual({ code: -32603, data: { code: "UNSUPPORTED" } });
    expect(error.message).toMatch(/the process cannot be contained: .+/);
    expect(await client.request("process/list", {})).toEqual({ processes: [] });
    return false;
  } finally {
    client.cut();
  }
}

/**
 * The server has searched for remains: it searches for those of all processes at once, and one that had some is gone.
 */
async function lookedThrough(): Promise<void> {
  const marker = newMarker();
  const kind = TRACEABLE.find(({ name }) => name === "a double fork with its own session");
  if (kind === undefined) throw new Error("no such kind");
  const { client } = await startReady(server.url, [kind], marker);
  await client.request("process/terminate", { processId: kind.name, mode: "now" });
  await awaitNoneLeft(marker);
}

const hasOwnOutput = (pid: number): boolean =>
  commandLine(pid) === "sleep 1000" && openDescriptors(pid).every((link) => link === "/dev/null");

/** Directories of control groups that the server has made. */
function controlGroupsOf(serverPid: number): string[] {
  const mounts = readFileSync("/proc/self/mountinfo", "latin1")
    .split("\n")
    .filter((line) => line.includes(" - cgroup2 "))
    .map((line) => line.split(" ")[4] ?? "");
  return mounts.flatMap((mount) =>
    listTree(mount).filter((path) =>
      new RegExp(`(^|/)exec-server-\\d+-${serverPid}-\\d+(/\\d+)?$`).test(path),
    ),
  );
}

/** Groups of others come and go while they are listed. */
function listTree(directory: string): string[] {
  for (;;)
    try {
      return readdirSync(directory, { recursive: true, encoding: "utf8" });
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
    }
}

async function awaitNoGroups(serverPid: number): Promise<void> {
  await pollUntil(
    () => controlGroupsOf(serverPid).length === 0,
    DEADLINE_MS,
    () => `the removal of ${controlGroupsOf(serverPid).join(", ")}`,
  );
}

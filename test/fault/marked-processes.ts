import { pollUntil } from "./deadline.ts";
import {
  commandLine,
  descendantsOf,
  isAlive,
  isStillAlive,
  type ProcessIdentity,
  processesMarked,
} from "./proc-fs.ts";
import { type Notification, openSession, type SessionClient, startParams } from "./session-client.ts";
import { killIfThere } from "../fixtures/kill-if-there.ts";

const READY_DEADLINE_MS = 60_000;
const GONE_DEADLINE_MS = 60_000;
// A process forked at the last moment takes on its own arguments only a little later: once empty is not enough.
const EMPTY_LOOKS = 10;

export interface Kind {
  readonly name: string;
  readonly script: string;
  readonly tty?: boolean;
  /** The requested process is over; only what it left behind in its group survives. */
  readonly leaderExits?: boolean;
}

const IGNORE = 'trap "" TERM HUP INT; ';

/** Ways of living on. Each script says `ready` when it has become what it is. */
export const KINDS: readonly Kind[] = [
  { name: "a child on pipes", script: "echo ready; exec sleep 1000" },
  { name: "a child on a terminal", script: "echo ready; exec sleep 1000", tty: true },
  { name: "children of children", script: "sleep 1000 & (sleep 1000 & sleep 1000) & echo ready; wait" },
  {
    name: "children of children on a terminal",
    script: "sleep 1000 & (sleep 1000) & echo ready; wait",
    tty: true,
  },
  { name: "a child that ignores signals", script: `${IGNORE}echo ready; while :; do sleep 1000; done` },
  {
    name: "a child on a terminal that ignores signals",
    script: `${IGNORE}echo ready; while :; do sleep 1000; done`,
    tty: true,
  },
  {
    name: "grandchildren that ignore signals",
    script: `(${IGNORE}sleep 1000; sleep 1000) & echo ready; wait`,
  },
  { name: "a grandchild whose parent has exited", script: "(sleep 1000 &) ; echo ready", leaderExits: true },
];

/** Every process that carries the marker or is in `family` is gone, and none comes any more. */
export async function awaitNoneLeft(
  marker: string,
  family: readonly ProcessIdentity[] = [],
  deadlineMs = GONE_DEADLINE_MS,
): Promise<void> {
  const left = () => [...processesMarked(marker), ...family.filter(isStillAlive).map(({ pid }) => pid)];
  let emptyLooks = 0;
  await pollUntil(
    () => {
      emptyLooks = left().length === 0 ? emptyLooks + 1 : 0;
      return emptyLooks >= EMPTY_LOOKS;
    },
    deadlineMs,
    () => `the end of ${left().map(commandLine).join(" | ")}`,
  );
}

/**
 * Resolves with the processes that carry the marker when there are at least so many. One that has just begun to execute
 * a program shows neither arguments nor an environment for a moment, also if its start has been answered.
 */
export function awaitMarked(marker: string, least: number): Promise<number[]> {
  return pollUntil(
    () => {
      const pids = processesMarked(marker);
      return pids.length >= least && pids;
    },
    READY_DEADLINE_MS,
    () => `${least} processes, now ${processesMarked(marker).map(commandLine).join(" | ")}`,
  );
}

/** The process that cleans up after a server that is killed. */
export async function wardenOf(serverPid: number): Promise<number> {
  const { pid } = await pollUntil(
    () =>
      descendantsOf(serverPid).find((one) => commandLine(one.pid).includes("exec-server-warden")) ?? false,
    READY_DEADLINE_MS,
    () => "the warden",
  );
  return pid;
}

/** Whatever a failed test leaves behind. */
export function killMarked(marker: string): void {
  for (const pid of processesMarked(marker)) if (isAlive(pid)) killIfThere(pid);
}

export const markedStart = (processId: string, kind: Kind, marker: string, more: object = {}): object => ({
  ...startParams(processId, ["sh", "-c", kind.script, marker], {
    tty: kind.tty ?? false,
    env: { FAULT_MARKER: marker },
  }),
  ...more,
});

export interface ReadyProcesses {
  readonly client: SessionClient;
  readonly isClosed: (processId: string) => boolean;
}

/**
 * Starts one process of each kind, named after it, and waits until all have said that they are ready. `more` is added
 * to each start.
 */
export async function startReady(
  url: string,
  kinds: readonly Kind[],
  marker: string,
  more: object = {},
): Promise<ReadyProcesses> {
  const output = new Map<string, string>();
  const closed = new Set<string>();
  const onNotification = ({ method, params }: Notification) => {
    const { processId, chunk } = params;
    if (method === "process/closed") closed.add(processId);
    if (method !== "process/output") return;
    output.set(processId, (output.get(processId) ?? "") + Buffer.from(chunk, "base64").toString());
  };
  const client = await openSession(url, { onNotification });
  await Promise.all(
    kinds.map((kind) => client.request("process/start", markedStart(kind.name, kind, marker, more))),
  );
  const waiting = () => kinds.filter(({ name }) => !output.get(name)?.includes("ready"));
  await pollUntil(
    () => waiting().length === 0,
    READY_DEADLINE_MS,
    () =>
      `ready from ${waiting()
        .map(({ name }) => name)
        .join(", ")}`,
  );
  return { client, isClosed: (processId) => closed.has(processId) };
}

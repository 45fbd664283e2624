import { expect, it } from "vitest";
import type { ListeningSocket } from "../../capabilities/host/listening-sockets.ts";
import { MachineUsage } from "../../capabilities/process/usage/machine-usage.ts";
import { FULL_RIGHTS, type Rights } from "../access/rights.ts";
import type { ProcessEntry } from "../sessions/process-table.ts";
import type { Session } from "../sessions/session.ts";
import { processExtensionHandlers } from "./process-extension-handlers.ts";
import { listPorts } from "./list-ports.ts";

const machine = new MachineUsage(new Map());

function entryOf(...pids: number[]): ProcessEntry {
  return { process: { members: () => pids } } as unknown as ProcessEntry;
}

function sessionOf(entries: Record<string, ProcessEntry>): Session {
  return { processes: Object.entries(entries) } as unknown as Session;
}

function socketsOf(byPid: Record<number, readonly ListeningSocket[]>) {
  return { of: (pid: number) => byPid[pid] ?? [] };
}

const mine = sessionOf({ web: entryOf(10, 11) });
const other = sessionOf({ api: entryOf(20) });
const sessions = { withinReachOf: () => [mine, other][Symbol.iterator]() };
const kept = {
  visibleTo: () =>
    [
      { name: "dev", owner: "name:ann", entry: entryOf(30) },
      { name: "theirs", owner: "name:bob", entry: entryOf(40) },
    ][Symbol.iterator](),
};
const client = { principal: "name:ann", rights: FULL_RIGHTS, session: mine };
const local = (port: number, host = "127.0.0.1"): ListeningSocket => ({ port, host });

it("ports of the client's own processes are listed by number, with what started them", async () => {
  const sockets = socketsOf({ 11: [local(8080)], 20: [local(3000)], 30: [local(5173)], 40: [local(6000)] });
  const ports = await listPorts(client, { sessions, kept, machine, sockets });
  expect(ports.map(({ port, pid, processId, own, name }) => [port, pid, processId, own, name])).toEqual([
    [3000, 20, "api", false, undefined],
    [5173, 30, "dev", false, "dev"],
    [8080, 11, "web", true, undefined],
  ]);
});

it("a process of another principal counts only for clients that may control it", async () => {
  const sockets = socketsOf({ 40: [local(6000)] });
  const listed = async (grant: "control" | "follow" | undefined) => {
    const rights: Rights = { ...FULL_RIGHTS, grant: () => grant };
    const ports = await listPorts({ ...client, rights }, { sessions, kept, machine, sockets });
    return ports.map(({ port }) => port);
  };
  expect(await listed(undefined)).toEqual([]);
  expect(await listed("follow")).toEqual([]);
  expect(await listed("control")).toEqual([6000]);
});

it("what was opened for both families, or by several workers, is listed once", async () => {
  const both = [local(8080, "::1"), local(8080)];
  const sockets = socketsOf({ 10: both, 11: both });
  expect(await listPorts(client, { sessions, kept, machine, sockets })).toMatchObject([
    { port: 8080, host: "127.0.0.1", pid: 10 },
  ]);
});

it("a program that listens on very many ports does not make the list endless", async () => {
  const many = Array.from({ length: 5_000 }, (_, index) => local(index + 1));
  const sockets = socketsOf({ 10: many });
  expect(await listPorts(client, { sessions, kept, machine, sockets })).toHaveLength(1_024);
});

it("requests that come at once share a list, so that a client with long ones does not hold up others", async () => {
  let lists = 0;
  const counted = {
    withinReachOf: () => {
      lists += 1;
      return [][Symbol.iterator]();
    },
  };
  const handlers = processExtensionHandlers({ sessions: counted, kept, allowServerScope: false } as never);
  const asking = { ...client, signal: new AbortController().signal } as never;
  const answers = Array.from({ length: 100 }, () => handlers["process/ports"](asking));
  await Promise.all(answers.map(({ promise }) => promise));
  expect(lists).toBeGreaterThan(0);
  expect(lists).toBeLessThanOrEqual(2);
});

import { encodeBase64 } from "../../base/base64.ts";
import { readListeningSockets } from "../../capabilities/host/listening-sockets.ts";
import type { ManagedProcess } from "../../capabilities/process/managed-process.ts";
import { EDGE_BYTES, type StreamName } from "../../capabilities/process/output/output-log.ts";
import type { ProcessSpool } from "../../capabilities/process/output/spool/spool.ts";
import type { Screen } from "../../capabilities/process/output/screen/terminal-screen.ts";
import { type MachineUsage, Meter, usageMeter } from "../../capabilities/process/usage/machine-usage.ts";
import { ERRNO, osError } from "../../native/os-error.ts";
import type { Params, Result } from "../../protocol/index.ts";
import type { Handlers } from "../../rpc/router.ts";
import { LazyAnswer, DeferredAnswer } from "../../rpc/deferred-answer.ts";
import { permissionDenied } from "../access/check-rights.ts";
import type { ClientConnection } from "./client-connection.ts";
import { known, visible, whenStarted } from "./known-process.ts";
import { refusal } from "../wire/refusals.ts";
import { waitForProcess } from "../sessions/wait-for-process.ts";
import { perClient } from "../wire/per-client.ts";
import { sharedCalls } from "../wire/shared-calls.ts";
import { listPorts, type PortSources } from "./list-ports.ts";
import { listProcesses, type ListSources, partAfter, wireSize } from "./list-processes.ts";

/** Default size of a snapshot, per stream. */
const SNAPSHOT_BYTES = 2 * EDGE_BYTES;
/** Times in one answer. */
const MAX_TIMES = 16_384;

export interface ProcessExtensionOptions extends Omit<ListSources, "machine" | "sessions"> {
  readonly sessions: ListSources["sessions"] & PortSources["sessions"];
  /** Lets every client list the processes of all sessions. */
  readonly allowServerScope: boolean;
}

export function processExtensionHandlers({ sessions, kept, allowServerScope }: ProcessExtensionOptions) {
  const meter = usageMeter();
  const listening = new Meter(readListeningSockets);
  // A list may be long, and a client may ask many times at once.
  const portsOf = perClient((client: ClientConnection) =>
    sharedCalls(async () => {
      const [machine, sockets] = await Promise.all([meter.measure(), listening.measure()]);
      if (machine === undefined || sockets === undefined) throw osError(ERRNO.EMFILE);
      return listPorts(client, { sessions, kept, machine, sockets });
    }),
  );
  return {
    "process/flow": (client, { processId, paused }) =>
      whenStarted(client.session, processId, () => {
        // Events of a forgotten process may still be held.
        if (!client.session.setFlow(processId, { paused })) visible(client, processId);
        return {};
      }),

    "process/resize": (client, { processId, rows, cols }) =>
      whenStarted(client.session, processId, () => {
        const controlled = known(client, processId);
        const { terminal } = controlled.process;
        if (terminal === undefined) throw refusal("INVALID_INPUT", `process ${processId} has no terminal`);
        const size = { rows, columns: cols };
        if (controlled.resize === undefined) terminal.resize(size);
        else controlled.resize(size);
        return {};
      }),

    "process/closeStdin": (client, { processId }) =>
      whenStarted(client.session, processId, () => {
        const controlled = known(client, processId);
        controlled.typed?.();
        controlled.process.input?.end();
        return {};
      }),

    "process/wait": (client, params) =>
      whenStarted(client.session, params.processId, () => {
        const { process } = visible(client, params.processId);
        if (hasEnded(process, params) || params.timeoutMs === 0) return waitResult(process);
        const { timeoutMs } = params;
        const ended = waitForProcess(process, () => hasEnded(process, params), {
          timeoutMs,
          signal: client.signal,
        });
        return new DeferredAnswer(ended.then(() => waitResult(process)));
      }),

    "process/list": (client, { scope, usage, after }) => {
      if (scope === "server" && !allowServerScope)
        throw permissionDenied("process/list: this server does not show the processes of other sessions");
      if (scope === "server" && client.rights.preset === "sandboxed")
        throw permissionDenied("process/list: the preset sandboxed does not show the processes of others");
      const list = (machine?: MachineUsage) => {
        const processes = listProcesses(client, scope ?? "session", { sessions, kept, machine });
        return after ? partAfter(after, processes) : { processes };
      };
      if (usage !== true) return list();
      return new DeferredAnswer(meter.measure().then((machine) => new LazyAnswer(() => list(machine))));
    },

    "process/ports": (client) =>
      new DeferredAnswer(portsOf(client)().then((ports) => new LazyAnswer(() => ({ ports })))),

    "process/times": (client, params) =>
      whenStarted(client.session, params.processId, () => {
        const { process } = visible(client, params.processId);
        return process.spool === undefined
          ? process.timesFrom(firstRequested(process, params) ?? 1, MAX_TIMES)
          : new DeferredAnswer(spooledTimes(process, process.spool, params));
      }),

    "process/snapshot": (client, params) =>
      whenStarted(client.session, params.processId, () => {
        const { process } = visible(client, params.processId);
        if (params.screen !== true && params.paint !== true) return snapshot(process, params);
        const withScreen = (screen: Screen | undefined) => ({
          ...snapshot(process, params),
          ...(screen === undefined ? {} : { screen: screenResult(screen) }),
        });
        return new DeferredAnswer(
          process
            .screen({ paint: params.paint === true })
            .then((screen) => new LazyAnswer(() => withScreen(screen))),
        );
      }),
  } satisfies Handlers<ClientConnection>;
}

/** Undefined for an event that is no longer in memory. */
function firstRequested(
  process: ManagedProcess,
  { fromSeq, ageMs }: Params<"process/times">,
): number | undefined {
  return typeof ageMs === "number" ? process.since(Date.now() - ageMs) : (fromSeq ?? 1);
}

async function spooledTimes(
  process: ManagedProcess,
  spool: ProcessSpool,
  params: Params<"process/times">,
): Promise<Result<"process/times">> {
  const fromSeq =
    firstRequested(process, params) ?? (await spool.since(Date.now() - (params.ageMs ?? 0))) ?? 1;
  if (fromSeq < process.firstSeq) {
    const { firstSeq, timesMs } = await spool.times(fromSeq, process.firstSeq, MAX_TIMES);
    if (timesMs.length > 0) return { firstSeq, timesMs: [...timesMs] };
  }
  return process.timesFrom(fromSeq, MAX_TIMES);
}

function snapshot(process: ManagedProcess, { stream, maxBytes }: Params<"process/snapshot">) {
  const { exitCode } = process.state;
  const streams = process.streams.filter((name) => name === (stream ?? name));
  return {
    streams: streams.map((name) => streamSnapshot(process, name, maxBytes ?? SNAPSHOT_BYTES)),
    running: exitCode === undefined,
    exitCode: exitCode ?? null,
  };
}

function screenResult({ lines, cursor: { row, column }, complete, nextSeq, size, paint }: Screen) {
  const painted = paint === undefined ? {} : { paint: encodeBase64(paint) };
  return {
    lines: [...lines],
    cursor: { row, col: column },
    complete,
    nextSeq,
    size: wireSize(size),
    ...painted,
  };
}

function streamSnapshot(process: ManagedProcess, stream: StreamName, maxBytes: number) {
  const { head, tail, omittedBytes, totalBytes } = process.snapshot(stream, maxBytes);
  return { stream, head: encodeBase64(head), omittedBytes, tail: encodeBase64(tail), totalBytes };
}

function hasEnded(process: ManagedProcess, { until }: Params<"process/wait">): boolean {
  const { exitCode, closed } = process.state;
  return closed || (until !== "closed" && exitCode !== undefined);
}

function waitResult(process: ManagedProcess): Result<"process/wait"> {
  const { exitCode, report, closed } = process.state;
  return {
    exited: exitCode !== undefined,
    closed,
    exitCode: exitCode ?? null,
    ...(report === undefined ? {} : { exit: report }),
  };
}

import { RpcError } from "../../base/errors.ts";
import type { ManagedProcess } from "../../capabilities/process/managed-process.ts";
import { type Params, type Result, RpcCode } from "../../protocol/index.ts";
import type { Handlers } from "../../rpc/router.ts";
import { Waiting } from "../../rpc/waiting.ts";
import type { ClientConnection } from "../client-connection.ts";
import { known, unknownProcess, whenStarted } from "../known-process.ts";

const MAX_TIMER_MS = 2 ** 31 - 1;

export function processExtensionHandlers() {
  return {
    "process/flow": ({ session }, { processId, paused }) =>
      whenStarted(session, processId, () => {
        // Events of a process that is known no longer may still be held.
        if (!session.setFlow(processId, { paused }) && session.process(processId) === undefined)
          throw unknownProcess(processId);
        return {};
      }),

    "process/resize": (client, { processId, rows, cols }) =>
      whenStarted(client.session, processId, () => {
        const { terminal } = known(client, processId).process;
        if (terminal === undefined)
          throw new RpcError(RpcCode.invalidRequest, `process ${processId} has no terminal`);
        terminal.resize({ rows, columns: cols });
        return {};
      }),

    "process/closeStdin": (client, { processId }) =>
      whenStarted(client.session, processId, () => {
        known(client, processId).process.input?.end();
        return {};
      }),

    "process/wait": (client, params) =>
      whenStarted(client.session, params.processId, () => {
        const { process } = known(client, params.processId);
        if (hasEnded(process, params) || params.timeoutMs === 0) return waitResult(process);
        const ended = waitForEnd(process, params, client.signal);
        return new Waiting(ended.then(() => waitResult(process)));
      }),
  } satisfies Handlers<ClientConnection>;
}

function hasEnded(process: ManagedProcess, { until }: Params<"process/wait">): boolean {
  const { exitCode, closed } = process.state;
  return closed || (until !== "closed" && exitCode !== undefined);
}

function waitForEnd(
  process: ManagedProcess,
  params: Params<"process/wait">,
  signal: AbortSignal,
): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      clearTimeout(timer);
      unlisten();
      signal.removeEventListener("abort", done);
      resolve();
    };
    const { timeoutMs } = params;
    const timer =
      typeof timeoutMs === "number" ? setTimeout(done, Math.min(timeoutMs, MAX_TIMER_MS)) : undefined;
    const unlisten = process.listen(() => {
      if (hasEnded(process, params)) done();
    });
    signal.addEventListener("abort", done, { once: true });
  });
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

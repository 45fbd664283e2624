import { ConnectionError, ExecError, messageOf, ProtocolError, RpcError } from "../../base/errors.ts";
import type { Result } from "../../protocol/index.ts";
import { RemoteProcess } from "./remote-process.ts";
import { SpawnError } from "./spawn-error.ts";
import type { ProcessRoute } from "../routes/process-route.ts";
import type { ClientSession } from "../session/session.ts";
import { checkConfined } from "../calls/sandbox.ts";
import type { StartParams } from "./start-request.ts";

/** Options of a start. */
export interface StartedOn {
  /** Receives its events. */
  readonly route?: ProcessRoute;
  /** The caller's own parameters, if `params` wrap them in something else. */
  readonly asked?: StartParams;
}

/** Starts a process whose events go to an existing route. Aborting ends it, or cancels the start. */
export async function startProcess(
  session: ClientSession,
  params: StartParams,
  signal: AbortSignal | undefined,
  { route = session.register(params.processId), asked = params }: StartedOn = {},
): Promise<RemoteProcess> {
  const { keep } = params;
  if (keep) route.kept = { name: keep.name, mode: "control" };
  let started: Result<"process/start">;
  try {
    started = await requestStart(session, params, signal, route);
    checkConfined(params, started);
    route.started = true;
  } catch (refusal) {
    // Created here, so that its stack names the caller.
    const error = refusal instanceof RpcError ? new SpawnError(asked, refusal) : refusal;
    const isUnknown = error instanceof ConnectionError || error instanceof ProtocolError;
    // A kept process that may have started stays, unless the caller has aborted.
    const lost = (isUnknown && !keep) || signal?.aborted === true;
    route.fail(error instanceof ExecError ? error : new ConnectionError(messageOf(error)));
    session.unregister(route, { orphan: lost });
    throw error;
  }
  const process = new RemoteProcess(session, route, {
    tty: params.tty,
    pid: started.pid,
    sandboxType: started.sandboxType,
    enforced: started.enforced,
  });
  if (signal !== undefined) endOnAbort(session, process, signal);
  return process;
}

/**
 * Repeats a start whose answer was lost if the server recognizes it by its key. Otherwise a repeat might start a second
 * process.
 */
async function requestStart(
  session: ClientSession,
  params: StartParams,
  signal: AbortSignal | undefined,
  route: ProcessRoute,
): Promise<Result<"process/start">> {
  // Includes the signal, so that a start that still waits for a connection is not sent after an abort.
  const options = { signal };
  if (!session.supports("process/start.idempotencyKey"))
    return checkStarted(params, await session.request("process/start", params, options));
  const keyed = {
    ...params,
    idempotencyKey: params.idempotencyKey ?? params.processId,
    ...(session.supports("process/start.tellPid") ? { tellPid: true } : {}),
    ...(session.supports("process/start.tellEnforced") ? { tellEnforced: true } : {}),
  };
  const { connections } = session;
  const started = checkStarted(params, await session.request("process/start", keyed, options));
  // Events from before the reconnection were not received.
  if (session.connections !== connections) await route.catchUp();
  return started;
}

function checkStarted(asked: StartParams, started: Result<"process/start">): Result<"process/start"> {
  if (started.processId !== asked.processId)
    throw new ProtocolError(`process/start: the server started a different process than ${asked.processId}`);
  return started;
}

/** Ends a process gracefully where the server can: with SIGTERM, and SIGKILL for what is left after a while. */
export function endProcess(session: ClientSession, process: RemoteProcess): void {
  const ended = session.supports("process/terminate.mode") ? process.terminate() : process.kill();
  ended.catch(() => {
    // The connection and the session are lost: the server ends the process.
  });
}

function endOnAbort(session: ClientSession, process: RemoteProcess, signal: AbortSignal): void {
  const end = (): void => endProcess(session, process);
  if (signal.aborted) end();
  signal.addEventListener("abort", end, { once: true });
  const done = (): void => signal.removeEventListener("abort", end);
  process.closed.then(done, done);
}

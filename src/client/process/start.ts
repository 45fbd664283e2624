import { ConnectionError, ExecError, messageOf, ProtocolError, RpcError } from "../../base/errors.ts";
import type { Result } from "../../protocol/index.ts";
import { RemoteProcess } from "./process.ts";
import { SpawnError } from "./spawn-error.ts";
import type { ProcessRoute } from "./process-route.ts";
import type { ClientSession } from "../session/session.ts";
import type { StartParams } from "./start-request.ts";

/** What a start may be given besides. */
export interface StartedOn {
  /** Where its events go. */
  readonly route?: ProcessRoute;
  /** What the caller asked for, where `params` wrap it in something else. */
  readonly asked?: StartParams;
}

/** Starts a process whose events go to a route that was there before it. Aborting kills it, or takes the start back. */
export async function startProcess(
  session: ClientSession,
  params: StartParams,
  signal: AbortSignal | undefined,
  { route = session.register(params.processId), asked = params }: StartedOn = {},
): Promise<RemoteProcess> {
  let pid: number | undefined;
  try {
    pid = await requestStart(session, params, signal, route);
    route.started = true;
  } catch (refusal) {
    // Made here, so that its stack names the caller.
    const error = refusal instanceof RpcError ? new SpawnError(asked, refusal) : refusal;
    const isUnknown = error instanceof ConnectionError || error instanceof ProtocolError;
    const lost = isUnknown || signal?.aborted === true;
    route.fail(error instanceof ExecError ? error : new ConnectionError(messageOf(error)));
    session.unregister(route, { orphan: lost });
    throw error;
  }
  const process = new RemoteProcess(session, route, { tty: params.tty, pid });
  if (signal !== undefined) killOnAbort(process, signal);
  return process;
}

/** A start whose answer was lost is repeated where the server knows it again by its key. Elsewhere it might start a second process. */
async function requestStart(
  session: ClientSession,
  params: StartParams,
  signal: AbortSignal | undefined,
  route: ProcessRoute,
): Promise<number | undefined> {
  // With the signal, so that a start that still waits for a connection is not made any more.
  const options = signal === undefined ? {} : { signal };
  if (!session.supports("process/start.idempotencyKey")) {
    return checkStarted(params, await session.request("process/start", params, options));
  }
  const keyed = {
    ...params,
    idempotencyKey: params.idempotencyKey ?? params.processId,
    ...(session.supports("process/start.tellPid") ? { tellPid: true } : {}),
  };
  const { connections } = session;
  const pid = checkStarted(params, await session.request("process/start", keyed, options));
  // What it did before the connection was back went to nobody.
  if (session.connections !== connections) await route.catchUp();
  return pid;
}

function checkStarted(asked: StartParams, started: Result<"process/start">): number | undefined {
  if (started.processId !== asked.processId)
    throw new ProtocolError(`process/start: another process was started than ${asked.processId}`);
  return started.pid;
}

function killOnAbort(process: RemoteProcess, signal: AbortSignal): void {
  const kill = (): void => {
    process.kill().catch(() => {
      // The connection is lost, and the session with it: the server ends the process.
    });
  };
  if (signal.aborted) kill();
  signal.addEventListener("abort", kill, { once: true });
  const done = (): void => signal.removeEventListener("abort", kill);
  process.closed.then(done, done);
}

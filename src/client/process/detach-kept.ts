import { ConnectionError, ExecError, UsageError } from "../../base/errors.ts";
import type { ClientSession } from "../session/session.ts";
import { needs } from "../calls/unsupported.ts";
import type { ProcessRoute } from "../routes/process-route.ts";

/** How to leave a kept process. */
export interface DetachOptions {
  /**
   * Also forgets the process if it has ended: its output is gone and its name is free. Needs control of it, and a server
   * that announces `process/detach.forget`.
   */
  readonly forget?: boolean;
}

/** Ends the attachment to a kept process. Its readers end with an error. */
export async function detachKept(
  session: ClientSession,
  route: ProcessRoute,
  { forget = false }: DetachOptions = {},
): Promise<void> {
  const { processId, kept, failure } = route;
  if (kept === undefined)
    throw new UsageError(`process ${processId} ends with its session: only a kept process can be detached`);
  if (forget) {
    route.needsControl();
    needs(session, "process/detach.forget");
  }
  // Without a session there is no attachment.
  if (failure !== undefined) return;
  route.fail(new ConnectionError(`the kept process ${kept.name} was detached; it continues`));
  try {
    await session.request("process/detach", forget ? { processId, forget } : { processId });
  } catch (error) {
    // The server has forgotten a process that ended long ago, or the answer to a first attempt was lost; without a
    // session there is no attachment.
    const isGone = error instanceof ExecError && error.code === "NOT_FOUND";
    if (!isGone && !(error instanceof ConnectionError)) throw error;
  }
}

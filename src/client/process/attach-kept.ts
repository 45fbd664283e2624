import { randomId } from "../../base/random-id.ts";
import { UsageError } from "../../base/errors.ts";
import { unsupported } from "../calls/unsupported.ts";
import type { ProcessRoute } from "../routes/process-route.ts";
import type { ClientSession } from "../session/session.ts";
import { RemoteProcess } from "./remote-process.ts";

/** How to attach to a kept process. */
export interface AttachKeptOptions {
  /** `control` also allows to write to it, resize it, signal it and end it. Default: `follow`. */
  readonly mode?: "follow" | "control";
  /**
   * Owner of the process: the name of a token, or the `owner` that `Host.processes` lists. Default: this principal; or,
   * if it has no process of that name, the only other one that has one which this client may follow.
   */
  readonly owner?: string;
  /** Number of the first event. Earlier output than the server still has is a gap. Default: the oldest it has. */
  readonly fromSeq?: number;
}

/** Attaches to a kept process. Its events start with those that the server still has. */
export async function attachKept(
  session: ClientSession,
  name: string,
  { mode = "follow", owner, fromSeq }: AttachKeptOptions,
): Promise<RemoteProcess> {
  if (!session.supports("process/start.keep")) throw unsupported("kept processes");
  if (fromSeq !== undefined && !(Number.isSafeInteger(fromSeq) && fromSeq >= 1))
    throw new UsageError(`fromSeq must be a whole number of at least 1, not ${fromSeq}`);
  return await attachProcess(session, randomId(), async (route) => {
    route.kept = { name, mode };
    const requested = { name, mode, ...(owner === undefined ? {} : { owner }) };
    const answer = await session.request("process/attach", { ...requested, as: route.processId });
    if (answer.owner !== undefined) route.kept = { name, mode, owner: answer.owner };
    route.startAt(Math.min(fromSeq ?? answer.firstSeq ?? 1, answer.nextSeq));
    await route.catchUp();
    return answer;
  });
}

/** A process that was started elsewhere. `attach` resolves when its events arrive on the route. */
export async function attachProcess(
  session: ClientSession,
  processId: string,
  attach: (route: ProcessRoute) => Promise<{ readonly tty: boolean }>,
): Promise<RemoteProcess> {
  const route = session.register(processId);
  try {
    const { tty } = await attach(route);
    route.started = true;
    return new RemoteProcess(session, route, { tty });
  } catch (error) {
    session.unregister(route, { orphan: false });
    throw error;
  }
}

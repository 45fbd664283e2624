import { randomId } from "../../base/random-id.ts";
import { UsageError } from "../../base/errors.ts";
import { unsupported } from "../calls/unsupported.ts";
import type { ClientSession } from "../session/session.ts";
import { RemoteProcess } from "./remote-process.ts";

/** How to attach to a kept process. */
export interface AttachKeptOptions {
  /** `control` also allows to write to it, resize it, signal it and end it. Default: `follow`. */
  readonly mode?: "follow" | "control";
  /**
   * Whom the process belongs to: the name of a token, or the `owner` that `Host.processes` lists. Default: this
   * principal; or, if it has none of that name, the only other one that has one which this client may follow.
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
    throw new UsageError(`fromSeq must be a whole number from 1 on, not ${fromSeq}`);
  const route = session.register(randomId());
  route.kept = { name, mode };
  try {
    const {
      tty,
      firstSeq = 1,
      nextSeq,
      owner: other,
    } = await session.request("process/attach", {
      name,
      ...(owner === undefined ? {} : { owner }),
      mode,
      as: route.processId,
    });
    if (other !== undefined) route.kept = { name, mode, owner: other };
    route.startAt(Math.min(fromSeq ?? firstSeq, nextSeq));
    await route.catchUp();
    route.started = true;
    return new RemoteProcess(session, route, { tty });
  } catch (error) {
    session.unregister(route, { orphan: false });
    throw error;
  }
}

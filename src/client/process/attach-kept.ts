import { randomId } from "../../base/random-id.ts";
import { UsageError } from "../../base/errors.ts";
import { unsupported } from "../session/unsupported.ts";
import type { ClientSession } from "../session/session.ts";
import { RemoteProcess } from "./remote-process.ts";

/** How to attach to a kept process. */
export interface AttachKeptOptions {
  /** `control` also allows to write to it, resize it, signal it and end it. Default: `follow`. */
  readonly mode?: "follow" | "control";
  /** Number of the first event. Earlier output than the server still has is a gap. Default: the oldest it has. */
  readonly fromSeq?: number;
}

/** Attaches to a kept process. Its events start with those that the server still has. */
export async function attachKept(
  session: ClientSession,
  name: string,
  { mode = "follow", fromSeq }: AttachKeptOptions,
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
    } = await session.request("process/attach", {
      name,
      mode,
      as: route.processId,
    });
    route.startAt(Math.min(fromSeq ?? firstSeq, nextSeq));
    await route.catchUp();
    route.started = true;
    return new RemoteProcess(session, route, { tty });
  } catch (error) {
    session.unregister(route, { orphan: false });
    throw error;
  }
}

import { ConnectionError } from "../../base/errors.ts";
import { checkFinite } from "../../base/duration.ts";
import type { Result } from "../../protocol/index.ts";
import type { ClientSession } from "../session/session.ts";
import type { ProcessRoute } from "../routes/process-route.ts";

/** What one `process/read` asks for. */
interface PollOptions {
  readonly afterSeq?: number;
  readonly maxBytes?: number;
  readonly waitMs?: number;
  readonly signal?: AbortSignal;
}

/** One `process/read`. After the session was lost, it answers here, with `failure` set. */
export async function pollEvents(
  session: ClientSession,
  route: ProcessRoute,
  { afterSeq = 0, maxBytes, waitMs = 0, signal }: PollOptions,
): Promise<Result<"process/read">> {
  checkFinite("waitMs", waitMs);
  if (route.failure !== undefined) return failedRead(route.wake, route.failure.message);
  try {
    const params = { processId: route.processId, afterSeq, maxBytes: maxBytes ?? null, waitMs };
    return await session.request("process/read", params, signal === undefined ? {} : { signal });
  } catch (error) {
    if (!(error instanceof ConnectionError)) throw error;
    return failedRead(route.wake, error.message);
  }
}

function failedRead(wake: number, failure: string): Result<"process/read"> {
  return {
    chunks: [],
    nextSeq: wake + 1,
    exited: true,
    exitCode: null,
    closed: true,
    failure,
    sandboxDenied: false,
  };
}

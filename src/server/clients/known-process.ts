import type { RpcError } from "../../base/errors.ts";
import type { ClientConnection } from "./client-connection.ts";
import { refusal } from "../wire/refusals.ts";
import type { ProcessEntry } from "../sessions/process-table.ts";
import type { Controlled, Session } from "../sessions/session.ts";

export function known({ session }: ClientConnection, processId: string): Controlled {
  const controlled = session.controlled(processId);
  if (controlled === undefined) throw unknownProcess(processId);
  return controlled;
}

export function unknownProcess(processId: string): RpcError {
  return refusal("NOT_FOUND", `unknown process id ${processId}`);
}

/** Like `known`, but includes attached processes that may only be observed. */
export function visible({ session }: ClientConnection, processId: string): ProcessEntry {
  const entry = session.visible(processId);
  if (entry === undefined) throw unknownProcess(processId);
  return entry;
}

/**
 * Runs now, or once the start of that process has succeeded or failed. Later requests wait too, so that a client that
 * does not wait for the answer to its start sees the same results as one that does.
 */
export function whenStarted<T>(
  starts: Pick<Session, "starting">,
  processId: string,
  run: () => T,
): T | Promise<T> {
  // Another start may begin before this one's turn.
  return starts.starting(processId)?.then(() => whenStarted(starts, processId, run)) ?? run();
}

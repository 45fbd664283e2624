import { RpcError } from "../base/errors.ts";
import { RpcCode } from "../protocol/errors.ts";
import type { ClientConnection } from "./client-connection.ts";
import type { ProcessEntry } from "./process-table.ts";
import type { Session } from "./session.ts";

/**
 * Runs now, or once the start of that process has succeeded or failed. Later requests wait too, so that a client that
 * does not wait for the answer to its start sees the same results as one that does.
 */
export function whenStarted<T>(session: Session, processId: string, run: () => T): T | Promise<T> {
  return session.processes.starting(processId)?.then(run) ?? run();
}

export function known(client: ClientConnection, processId: string): ProcessEntry {
  const entry = client.session.processes.get(processId);
  if (entry === undefined) throw unknownProcess(processId);
  return entry;
}

export function unknownProcess(processId: string): RpcError {
  return new RpcError(RpcCode.invalidRequest, `unknown process id ${processId}`);
}

/** Like `known`, but includes attached processes of other sessions, which may only be observed. */
export function visible({ session }: ClientConnection, processId: string): ProcessEntry {
  const entry = session.processes.get(processId) ?? session.guest(processId);
  if (entry === undefined) throw unknownProcess(processId);
  return entry;
}

import type { RpcError } from "../../base/errors.ts";
import type { ClientConnection } from "../connection/client-connection.ts";
import { refusal } from "../refusal.ts";
import type { ProcessEntry } from "./process-table.ts";

export function known(client: ClientConnection, processId: string): ProcessEntry {
  const entry = client.session.processes.get(processId);
  if (entry === undefined) throw unknownProcess(processId);
  return entry;
}

export function unknownProcess(processId: string): RpcError {
  return refusal("NOT_FOUND", `unknown process id ${processId}`);
}

/** Like `known`, but includes attached processes of other sessions, which may only be observed. */
export function visible({ session }: ClientConnection, processId: string): ProcessEntry {
  const entry = session.processes.get(processId) ?? session.guest(processId);
  if (entry === undefined) throw unknownProcess(processId);
  return entry;
}

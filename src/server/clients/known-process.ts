import type { RpcError } from "../../base/errors.ts";
import type { ClientConnection } from "./client-connection.ts";
import { refusal } from "../wire/refusals.ts";
import type { Controlled } from "../sessions/controlled.ts";
import type { ProcessEntry } from "../sessions/process-table.ts";

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

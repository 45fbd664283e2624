import type { StartRequest } from "../../capabilities/process/start-request.ts";
import type { Keep, ProcessStart } from "../../protocol/process.ts";
import type { ClientConnection } from "./client-connection.ts";
import type { StartDetails } from "../sessions/process-table.ts";
import { refusal } from "../wire/refusals.ts";
import type { Session } from "../sessions/session.ts";
import type { KeptProcesses } from "../sessions/kept-processes.ts";

/** How and where a process is kept. */
export interface KeptStart {
  readonly keep: Keep;
  readonly kept: KeptProcesses;
}

/** Undefined for a process that belongs to its session. Throws if the server keeps none. */
export function keepOf({ keep }: ProcessStart, kept: KeptProcesses | undefined): KeptStart | undefined {
  if (keep === undefined || keep === null) return undefined;
  if (kept === undefined) throw refusal("UNSUPPORTED", "process/start: this server keeps no processes");
  return { keep, kept };
}

/** Starts a process that belongs to the server. The session controls it under the id that its client chose. */
export function startKept(
  { session, principal, rights }: ClientConnection,
  { keep, kept, params }: KeptStart & { readonly params: ProcessStart },
  request: StartRequest,
  { idempotency, ...details }: StartDetails,
): Promise<void> {
  const { processId } = params;
  session.checkAttachments();
  const started = kept.start(principal, keep, request, {
    ...details,
    rights,
    ...(idempotency === undefined
      ? {}
      : { idempotency: { ...idempotency, key: keptKey(session, idempotency.key) } }),
    started: () => {
      const attached = kept.attachment(principal, keep.name, { mode: "control", connection: session });
      if (attached === undefined) return;
      const { terminalSize: size } = params;
      if (size !== undefined && size !== null) attached.resize({ rows: size.rows, columns: size.cols });
      session.followAttached(processId, attached);
    },
  });
  session.startsKept(processId, started);
  return started;
}

/** Keys belong to a session, also those of kept processes. */
export function keptKey({ id }: Session, key: string): string {
  return `${id} ${key}`;
}

import { ProtocolError } from "../../base/errors.ts";
import type { FileWatches } from "../files/file-watches.ts";
import type { HttpBodies } from "../http/http-bodies.ts";
import { processEventOf } from "../routes/notified-events.ts";
import type { ProcessRoute } from "../routes/process-route.ts";
import { checkedParams } from "../calls/wire-check.ts";

/** Recipients of notifications. */
export interface Recipients {
  readonly routes: ReadonlyMap<string, ProcessRoute>;
  readonly bodies: HttpBodies;
  readonly watches: FileWatches;
  /** The server reports, for the first time, that a process has started. */
  started(route: ProcessRoute, pid: number): void;
  /** Events of an attached process were dropped: read what the server still has of them. */
  overdue(route: ProcessRoute): void;
  /** The server violated the protocol in a message about a process. */
  failed(route: ProcessRoute, error: ProtocolError): void;
}

/**
 * Dispatches a notification. Throws a ProtocolError if it belongs to no recipient: then nothing that the server says
 * can be relied on.
 */
export function receiveNotification(to: Recipients, method: string, params: unknown): void {
  if (method.startsWith("process/")) receiveOfProcess(to, method, params);
  else if (method === "http/request/bodyDelta") to.bodies.receive(params);
  else if (method === "fs/watch/changed") to.watches.receive(params);
}

function receiveOfProcess(to: Recipients, method: string, params: unknown): void {
  const { routes } = to;
  try {
    const event = processEventOf(method, params);
    if (event !== undefined) {
      routes.get(event.processId)?.receive(event.event);
    } else if (method === "process/started") {
      const { processId, pid } = checkedParams(method, params);
      const route = routes.get(processId);
      // The report comes again with the answer to a repeated start.
      if (route === undefined || route.pid !== undefined) return;
      route.pid = pid;
      to.started(route, pid);
    } else if (method === "process/gap") {
      const route = routes.get(checkedParams(method, params).processId);
      if (route !== undefined) to.overdue(route);
    }
  } catch (error) {
    const processId = (params as { processId?: unknown } | null)?.processId;
    const route = typeof processId === "string" ? routes.get(processId) : undefined;
    if (route === undefined || !(error instanceof ProtocolError)) throw error;
    to.failed(route, error);
  }
}

import type { ChildCommand } from "./child-command.ts";
import { startPreparedChild } from "./prepared-child.ts";
import type { Transport } from "./transport.ts";

/**
 * Starts a command and exchanges JSON lines with it. It leads its own process group: when the transport ends for any
 * reason, the whole group gets SIGTERM and, after a grace period, SIGKILL. On Windows, the command and its descendants
 * are ended at once.
 */
export function startChild(command: ChildCommand): Promise<Transport> {
  return startPreparedChild(command, async () => {});
}

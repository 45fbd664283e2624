import type { Handlers } from "../../rpc/router.ts";
import type { ClientConnection } from "../connection/client-connection.ts";

export function serverHandlers({
  sessions,
  starter,
  connections,
}: {
  sessions: { readonly size: number };
  starter: { readonly running: number };
  connections: () => number;
}) {
  const startedAtMs = Date.now();
  return {
    "server/status": () => ({
      pid: process.pid,
      startedAtMs,
      connections: connections(),
      sessions: sessions.size,
      runningProcesses: starter.running,
    }),
  } satisfies Handlers<ClientConnection>;
}

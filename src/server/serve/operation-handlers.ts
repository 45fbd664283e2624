import type { Handlers } from "../../rpc/router.ts";
import type { Audit } from "../audit/audit.ts";
import { formatHead } from "../audit/chain.ts";
import { readLastLines } from "../audit/last-lines.ts";
import type { ClientConnection } from "../clients/client-connection.ts";
import type { Cordon } from "../settings/cordon.ts";
import { LIMIT_NAMES, limitKey, LIMITS, type LimitName, type ServerLimits } from "../settings/limits.ts";
import { refusal } from "../wire/refusals.ts";
import type { ServerState } from "../settings/server-state.ts";
import type { Session } from "../sessions/session.ts";
import { sessionLabel } from "../wire/session-label.ts";
import type { SessionRegistry } from "../sessions/session-registry.ts";

const DEFAULT_LINES = 200;
const MAX_LINES = 2000;

/** Limits of the whole server, and the figure that they limit. */
const USED: Partial<Record<LimitName, (state: ServerState) => number>> = {
  maxConnections: ({ connections }) => connections,
  maxSessions: ({ sessions }) => sessions,
  maxProcesses: ({ runningProcesses }) => runningProcesses,
  maxBufferedBytes: ({ bufferedBytes }) => bufferedBytes,
};

function running({ processes }: Session): number {
  let count = 0;
  for (const [, { process }] of processes) if (!process.state.closed) count += 1;
  return count;
}

/** What an operator asks. */
export function serverOperationHandlers({
  sessions,
  limits,
  state,
  audit,
  cordon,
}: {
  sessions: SessionRegistry;
  limits: ServerLimits;
  state: () => ServerState;
  audit: Audit | undefined;
  cordon: Cordon;
}) {
  return {
    "server/sessions": (client) => ({
      sessions: Array.from(sessions.described(), ({ session, owner, isConnected }) => ({
        label: sessionLabel(session.id),
        owner,
        clientName: session.clientName,
        own: session === client.session,
        connected: isConnected,
        openedAtMs: session.openedAtMs,
        runningProcesses: running(session),
      })),
    }),
    "server/limits": () => {
      const now = state();
      return {
        limits: LIMIT_NAMES.flatMap((name) => {
          const limit = LIMITS[name];
          const value = limits[name];
          if (limit.kind !== "number" || typeof value !== "number") return [];
          const used = USED[name]?.(now);
          return [
            {
              key: limitKey(name),
              unit: limit.unit,
              value,
              ...(used === undefined ? {} : { used }),
              doc: limit.doc,
            },
          ];
        }),
      };
    },
    "server/audit": async (_client, { maxLines }) => {
      const file = audit?.file;
      if (audit === undefined || file === undefined)
        throw refusal("UNSUPPORTED", "this server has no audit log: start it with --audit FILE");
      const count = Math.min(maxLines ?? DEFAULT_LINES, MAX_LINES);
      const lines = await readLastLines(file, count);
      const { head, lost, isFailing } = audit;
      return { file, lines, written: head.line, head: formatHead(head), lost, failing: isFailing };
    },
    "server/cordon": (_client, { cordoned }) => {
      cordon.set(cordoned);
      return {};
    },
  } satisfies Handlers<ClientConnection>;
}

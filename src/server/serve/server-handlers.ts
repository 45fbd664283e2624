import { uriFromPath } from "../../base/file-uri.ts";
import type { ProcessStarter } from "../../capabilities/process/process-starter.ts";
import type { Result } from "../../protocol/index.ts";
import type { Handlers } from "../../rpc/router.ts";
import type { Audit } from "../audit/audit.ts";
import { formatHead } from "../audit/chain.ts";
import { readLastLines } from "../audit/last-lines.ts";
import type { ClientConnection } from "../clients/client-connection.ts";
import { listableScopes } from "../sessions/listable-scopes.ts";
import type { Session } from "../sessions/session.ts";
import type { SessionRegistry } from "../sessions/session-registry.ts";
import type { Cordon } from "../settings/cordon.ts";
import { LIMIT_NAMES, limitKey, LIMITS, type LimitName, type ServerLimits } from "../settings/limits.ts";
import { PRESET_RIGHTS } from "../settings/presets.ts";
import type { ServerState } from "../settings/server-state.ts";
import { refusal } from "../wire/refusals.ts";
import { sessionLabel } from "../wire/session-label.ts";

const DEFAULT_LINES = 200;
const MAX_LINES = 2000;

/** Limits of the whole server, and the figure that they limit. */
const USED: Partial<Record<LimitName, (state: ServerState) => number>> = {
  maxConnections: ({ connections }) => connections,
  maxSessions: ({ sessions }) => sessions,
  maxProcesses: ({ runningProcesses }) => runningProcesses,
  maxBufferedBytes: ({ bufferedBytes }) => bufferedBytes,
};

/** The widest preset has all rights. */
const ALL_RIGHTS = [...PRESET_RIGHTS.full];

function running({ processes }: Session): number {
  let count = 0;
  for (const [, { process }] of processes) if (!process.state.closed) count += 1;
  return count;
}

/** Facts for answers about a server. */
export interface ServerFacts {
  readonly sessions: SessionRegistry;
  readonly starter: ProcessStarter;
  readonly limits: ServerLimits;
  /** Current number of connections. */
  readonly connections: () => number;
  readonly state: () => ServerState;
  readonly metrics: () => Result<"server/metrics">;
  readonly audit: Audit | undefined;
  readonly cordon: Cordon;
  /** See `ServerOptions`. */
  readonly program: readonly string[] | undefined;
}

/** Methods with which clients and operators ask about the server itself. */
export function serverHandlers({
  sessions,
  starter,
  limits,
  connections,
  state,
  metrics,
  audit,
  cordon,
  program,
}: ServerFacts) {
  const startedAtMs = Date.now();
  return {
    "server/status": ({ principal, rights }) => ({
      pid: process.pid,
      startedAtMs,
      connections: connections(),
      sessions: sessions.size,
      runningProcesses: starter.running,
      cordoned: cordon.isCordoned,
      rights: {
        principal,
        preset: rights.preset,
        allowed: ALL_RIGHTS.filter((right) => rights.allows(right)),
        scopes: listableScopes(rights, limits.allowServerScope),
        ...(rights.files === undefined ? {} : { roots: rights.files.roots.map((root) => uriFromPath(root)) }),
      },
      ...(program === undefined ? {} : { program: [...program] }),
    }),
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
    "server/metrics": () => metrics(),
    "server/audit": (_client, { maxLines }) => auditTail(audit, maxLines),
    "server/cordon": (_client, { cordoned }) => {
      cordon.set(cordoned);
      return {};
    },
  } satisfies Handlers<ClientConnection>;
}

export async function auditTail(
  audit: Audit | undefined,
  maxLines: number | null | undefined,
): Promise<Result<"server/audit">> {
  const file = audit?.file;
  if (audit === undefined || file === undefined)
    throw refusal("UNSUPPORTED", "this server has no audit log: start it with --audit FILE");
  const count = Math.min(maxLines ?? DEFAULT_LINES, MAX_LINES);
  const lines = await readLastLines(file, count);
  const { head, lost, isFailing } = audit;
  return { file, lines, written: head.line, head: formatHead(head), lost, failing: isFailing };
}

import { uriFromPath } from "../../base/file-uri.ts";
import type { Right } from "../../protocol/index.ts";
import type { Handlers } from "../../rpc/router.ts";
import { PRESET_RIGHTS } from "../settings/presets.ts";
import type { ClientConnection } from "../clients/client-connection.ts";
import type { Cordon } from "../settings/cordon.ts";
import { listableScopes } from "../sessions/listable-scopes.ts";

/** The widest preset has them all. */
const ALL_RIGHTS: ReadonlySet<Right> = PRESET_RIGHTS.full;

export function serverHandlers({
  sessions,
  starter,
  connections,
  cordon,
  allowServerScope,
}: {
  sessions: { readonly size: number };
  starter: { readonly running: number };
  connections: () => number;
  cordon: Cordon;
  allowServerScope: boolean;
}) {
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
        allowed: [...ALL_RIGHTS].filter((right) => rights.allows(right)),
        scopes: listableScopes(rights, allowServerScope),
        ...(rights.files === undefined ? {} : { roots: rights.files.roots.map((root) => uriFromPath(root)) }),
      },
    }),
  } satisfies Handlers<ClientConnection>;
}

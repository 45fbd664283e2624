import { type Logger, silentLogger } from "../base/logger.ts";
import { findCodexHome } from "../capabilities/host/codex-home.ts";
import { readHostInfo } from "../capabilities/host/host-info.ts";
import type { Environment } from "../capabilities/process/env-policy.ts";
import { Launcher } from "../capabilities/process/launcher.ts";
import {
  DETACHED_SESSION_TTL_MS,
  EXITED_PROCESS_RETENTION_MS,
  MAX_RETAINED_BYTES,
  MAX_RETAINED_CHUNKS,
} from "../protocol/limits.ts";
import type { Link, LinkEvents } from "../rpc/link.ts";
import { Router } from "../rpc/router.ts";
import type { Transport } from "../transport/transport.ts";
import { ClientConnection } from "./client-connection.ts";
import { describeEnvironment } from "./environment-info.ts";
import { listExtensions } from "./extensions.ts";
import { discoveryHandlers } from "./handlers/discovery.ts";
import { environmentHandlers } from "./handlers/environment.ts";
import { fileHandlers } from "./handlers/files.ts";
import { fileExtensionHandlers } from "./handlers/files-extensions.ts";
import { httpHandlers } from "./handlers/http.ts";
import { processHandlers } from "./handlers/process.ts";
import { processAttachHandlers } from "./handlers/process-attach.ts";
import { processExtensionHandlers } from "./handlers/process-extensions.ts";
import { sessionHandlers } from "./handlers/session.ts";
import { LocalLink } from "./local-link.ts";
import type { Peer, PeerHooks } from "./peer.ts";
import { Session } from "./session.ts";
import { SessionRegistry } from "./session-registry.ts";
import { TransportPeer } from "./transport-peer.ts";

/** What is left running is killed at once; this is how long the ends may take to be told. */
const SHUTDOWN_DEADLINE_MS = 2_000;

export interface ServerOptions {
  /** What processes may inherit. Nothing by default. */
  readonly environment?: Environment;
  readonly logger?: Logger;
  /** Requests of one connection that run at once. With 1, the default, they run in order. */
  readonly concurrentRequests?: number;
  /** How long a session waits for its client to come back. */
  readonly detachedSessionTtlMs?: number;
  /** How long an ended process can be read. */
  readonly exitedProcessRetentionMs?: number;
  /** Lets every client list the processes of all sessions. */
  readonly allowServerScope?: boolean;
}

/** Serves any number of clients, over transports that it is given or in its own program. */
export interface Server {
  /** `resumable: false` ends the session together with its connection. */
  accept(transport: Transport, options?: { resumable?: boolean; ended?: () => void }): void;
  /** Serves a client in the same program, without a transport and without JSON text. Its session ends with the link. */
  link(events: LinkEvents): Link;
  /** Kills all processes, tells their ends, and closes every connection. */
  close(): Promise<void>;
}

export function createServer(options: ServerOptions = {}): Server {
  const logger = options.logger ?? silentLogger;
  const environment = options.environment ?? {};
  const launcher = new Launcher(
    { maxRetainedBytes: MAX_RETAINED_BYTES, maxRetainedChunks: MAX_RETAINED_CHUNKS },
    logger,
  );
  const retentionMs = options.exitedProcessRetentionMs ?? EXITED_PROCESS_RETENTION_MS;
  const sessions = new SessionRegistry({
    create: (id) => new Session(id, { launcher, retentionMs }),
    detachedTtlMs: options.detachedSessionTtlMs ?? DETACHED_SESSION_TTL_MS,
  });
  const host = readHostInfo(environment);
  const codexHome = findCodexHome(environment, host.homeDirectory);
  const handlers = {
    ...processHandlers(environment),
    ...processAttachHandlers(sessions),
    ...processExtensionHandlers({ sessions, allowServerScope: options.allowServerScope ?? false }),
    ...fileHandlers(),
    ...fileExtensionHandlers(),
    ...httpHandlers(environment),
    ...discoveryHandlers(codexHome),
  };
  const environmentInfo = describeEnvironment(host, listExtensions(handlers));
  const router = new Router<ClientConnection>(
    {
      ...sessionHandlers(environmentInfo),
      ...environmentHandlers(environmentInfo, codexHome),
      ...handlers,
    },
    (client, family) => client.gate(family),
  );
  const clients = new Set<ClientConnection>();
  let closing: Promise<void> | undefined;

  async function close(): Promise<void> {
    await withDeadline(sessions.endAll(), SHUTDOWN_DEADLINE_MS);
    launcher.killAll();
    for (const client of clients) client.close();
  }

  function serve(
    connect: (hooks: PeerHooks) => Peer,
    { resumable, ended }: { resumable: boolean; ended?: (() => void) | undefined },
  ): void {
    const client = new ClientConnection(connect, {
      router,
      sessions,
      logger,
      resumable,
      concurrency: options.concurrentRequests ?? 1,
      ended: () => {
        clients.delete(client);
        ended?.();
      },
    });
    clients.add(client);
    client.open();
  }

  return {
    accept(transport, { resumable = true, ended } = {}) {
      if (closing === undefined) serve((hooks) => new TransportPeer(transport, hooks), { resumable, ended });
      else transport.destroy("the server is closing");
    },
    link(events) {
      const link = new LocalLink(events);
      if (closing === undefined) serve((hooks) => link.serve(hooks), { resumable: false });
      else link.destroy("the server is closing");
      return link;
    },
    close: () => {
      closing ??= close();
      return closing;
    },
  };
}

function withDeadline(work: Promise<void>, deadlineMs: number): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, deadlineMs);
    void work.finally(() => {
      clearTimeout(timer);
      resolve();
    });
  });
}

import { type Logger, silentLogger } from "../base/logger.ts";
import { hasFreeDescriptors } from "../native/descriptor-reserve.ts";
import { assertCanServe } from "../native/platform.ts";
import { findCodexHome } from "../capabilities/host/codex-home.ts";
import { readHostInfo } from "../capabilities/host/host-info.ts";
import type { Environment } from "../capabilities/process/env-policy.ts";
import { ProcessStarter } from "../capabilities/process/process-starter.ts";
import { MAX_RETAINED_CHUNKS } from "../protocol/limits.ts";
import type { Link, LinkEvents } from "../rpc/link.ts";
import { Router } from "../rpc/router.ts";
import type { Transport } from "../transport/transport.ts";
import { ByteBudget } from "./byte-budget.ts";
import { ClientConnection } from "./client-connection.ts";
import { describeEnvironment } from "./environment-info.ts";
import { listExtensions } from "./extensions.ts";
import { commandHandlers } from "./handlers/command.ts";
import { discoveryHandlers } from "./handlers/discovery.ts";
import { environmentHandlers } from "./handlers/environment.ts";
import { fileHandlers } from "./handlers/files.ts";
import { httpHandlers } from "./handlers/http.ts";
import { processHandlers } from "./handlers/process.ts";
import { processAttachHandlers } from "./handlers/process-attach.ts";
import { processExtensionHandlers } from "./handlers/process-extensions.ts";
import { sessionHandlers } from "./handlers/session.ts";
import { limitError } from "./limit-error.ts";
import { resolveLimits, type ServerLimits } from "./limits.ts";
import { LocalLink } from "./local-link.ts";
import type { Peer, PeerHooks } from "./peer.ts";
import { Places } from "./places.ts";
import { ProcessQuota } from "./process-quota.ts";
import { Session } from "./session.ts";
import { SessionRegistry } from "./session-registry.ts";
import { TransportPeer } from "./transport-peer.ts";

/** Deadline for reporting exits after the kill. */
const SHUTDOWN_DEADLINE_MS = 2_000;

export interface ServerOptions {
  /** Environment that processes may inherit. Default: nothing. */
  readonly environment?: Environment;
  readonly logger?: Logger;
  /** Maximum number of concurrent requests per connection. With 1, the default, they run in order. */
  readonly concurrentRequests?: number;
  /** Limits that differ from their defaults; see `LIMITS`. */
  readonly limits?: Partial<ServerLimits>;
}

export interface AcceptOptions {
  readonly resumable?: boolean;
  /**
   * Authenticated identity of the client. A session with a silent client is handed over only between connections with
   * the same identity.
   */
  readonly identity?: string;
  readonly ended?: () => void;
}

/** Serves any number of clients, over transports or in its own program. */
export interface Server {
  /** Why no further connection is accepted; undefined if one is. */
  refusal(): string | undefined;
  /** `resumable: false` ends the session with its connection. A connection that is not accepted is closed. */
  accept(transport: Transport, options?: AcceptOptions): void;
  /** Serves a client in the same program, without a transport or JSON text. Its session ends with the link. */
  link(events: LinkEvents): Link;
  /** Kills all processes, reports their exits, and closes every connection. */
  close(): Promise<void>;
}

/** Throws a UsageError for an invalid limit, and a CapabilityError on a machine that cannot serve. */
export function createServer(options: ServerOptions = {}): Server {
  assertCanServe();
  const limits = resolveLimits(options.limits);
  const logger = options.logger ?? silentLogger;
  // Clients name variables, which must not resolve to inherited members such as `constructor`. Besides, each access to
  // `process.env` itself is a C library call.
  const environment: Environment = Object.assign(Object.create(null), options.environment);
  const starter = new ProcessStarter(
    { maxRetainedBytes: limits.maxRetainedBytesPerProcess, maxRetainedChunks: MAX_RETAINED_CHUNKS },
    logger,
  );
  const quota = new ProcessQuota(limits);
  const budget = new ByteBudget(limits);
  const retentionMs = limits.exitedProcessRetentionMs;
  const sessions = new SessionRegistry({
    create: (id) => {
      const maxUnheard = limits.maxProcessesPerSession;
      return new Session(id, { starter, retentionMs, maxUnheard, takePlace: quota.share() });
    },
    detachedTtlMs: limits.detachedSessionTtlMs,
    maxSessions: limits.maxSessions,
  });
  const host = readHostInfo(environment);
  const codexHome = findCodexHome(environment, host.homeDirectory);
  const places = new Places(limits.fsRoots);
  const handlers = {
    ...processHandlers(environment, limits),
    ...processAttachHandlers(sessions),
    ...processExtensionHandlers({ sessions, allowServerScope: limits.allowServerScope }),
    ...fileHandlers(places),
    ...httpHandlers(environment),
    ...discoveryHandlers(codexHome, places),
    ...commandHandlers(starter, limits),
  };
  const environmentInfo = describeEnvironment(
    host,
    listExtensions({ ...handlers, initialize: sessionHandlers }),
  );
  const router = new Router<ClientConnection>(
    {
      ...sessionHandlers(environmentInfo),
      ...environmentHandlers(environmentInfo, codexHome, places),
      ...handlers,
    },
    (client, family) => client.gate(family),
  );
  const clients = new Set<ClientConnection>();
  let closing: Promise<void> | undefined;

  function refusal(): string | undefined {
    if (closing !== undefined) return "the server is closing";
    if (clients.size >= limits.maxConnections)
      return limitError("maxConnections", limits.maxConnections, "the server has too many connections")
        .message;
    return hasFreeDescriptors() ? undefined : "the server has no file descriptors left";
  }

  async function close(): Promise<void> {
    if (limits.shutdownGraceMs > 0) await starter.terminateAll(limits.shutdownGraceMs);
    await withDeadline(sessions.endAll(), SHUTDOWN_DEADLINE_MS);
    starter.killAll();
    await withDeadline(starter.swept(), SHUTDOWN_DEADLINE_MS);
    for (const client of clients) client.close();
  }

  function serve(
    connect: (hooks: PeerHooks) => Peer,
    {
      resumable,
      identity,
      ended,
    }: { resumable: boolean } & { [K in "identity" | "ended"]?: AcceptOptions[K] | undefined },
  ): void {
    const client = new ClientConnection(connect, {
      router,
      sessions,
      logger,
      resumable,
      identity,
      limits,
      budget,
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
    refusal,
    accept(transport, { resumable = true, identity, ended } = {}) {
      const refused = refusal();
      if (refused === undefined) {
        serve((hooks) => new TransportPeer(transport, hooks), { resumable, identity, ended });
        return;
      }
      logger.warn("a connection was refused", { reason: refused });
      transport.destroy(refused);
      ended?.();
    },
    link(events) {
      const link = new LocalLink(events);
      const refused = refusal();
      if (refused === undefined) serve((hooks) => link.serve(hooks), { resumable: false });
      else link.destroy(refused);
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
    const done = (): void => {
      clearTimeout(timer);
      resolve();
    };
    // Failed work is done too; the next step kills whatever is left.
    work.then(done, done);
  });
}

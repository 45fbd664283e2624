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

/** What is left running is killed at once; this is how long the ends may take to be told. */
const SHUTDOWN_DEADLINE_MS = 2_000;

/** What a server may use and allow. */
export interface ServerOptions {
  /** What processes may inherit. Nothing by default. */
  readonly environment?: Environment;
  readonly logger?: Logger;
  /** Requests of one connection that run at once. With 1, the default, they run in order. */
  readonly concurrentRequests?: number;
  /** Limits that differ from their defaults; see `LIMITS`. */
  readonly limits?: Partial<ServerLimits>;
}

/** What is known about a connection. */
export interface AcceptOptions {
  readonly resumable?: boolean;
  /** Whose it is, as far as that was proved. A session whose client is silent is handed over between connections of the same one only. */
  readonly identity?: string;
  readonly ended?: () => void;
}

/** Serves any number of clients, over transports that it is given or in its own program. */
export interface Server {
  /** Says why no further connection is taken, if so. */
  refusal(): string | undefined;
  /** `resumable: false` ends the session together with its connection. A connection that is not taken is cut. */
  accept(transport: Transport, options?: AcceptOptions): void;
  /** Serves a client in the same program, without a transport and without JSON text. Its session ends with the link. */
  link(events: LinkEvents): Link;
  /** Kills all processes, tells their ends, and closes every connection. */
  close(): Promise<void>;
}

/** Throws a UsageError when a limit is impossible, and a CapabilityError on a machine that cannot serve. */
export function createServer(options: ServerOptions = {}): Server {
  assertCanServe();
  const limits = resolveLimits(options.limits);
  const logger = options.logger ?? silentLogger;
  // Clients name variables, and must not find what every object has of its own, such as `constructor`. Besides, each look into `process.env`
  // itself is a call of the system's library.
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
    // What has failed is over too. Whatever it has left, the next step kills.
    work.then(done, done);
  });
}

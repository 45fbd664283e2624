import { type Logger, silentLogger } from "../../base/logger.ts";
import type { OwnListeners } from "../../capabilities/network-proxy/own-listeners.ts";
import type { Environment } from "../../capabilities/process/env-policy.ts";
import { ProcessStarter } from "../../capabilities/process/process-starter.ts";
import { Sandbox } from "../../capabilities/sandbox/sandbox.ts";
import type { ServerFiles } from "../../capabilities/sandbox/view/server-files.ts";
import { MAX_RETAINED_CHUNKS } from "../../protocol/wire-limits.ts";
import { type Credential, localCredential } from "../access/credential.ts";
import { createRights, FULL_RIGHTS } from "../access/rights.ts";
import { rightsContext, serverFiles } from "../access/rights-context.ts";
import { Audit } from "../audit/audit.ts";
import { ByteBudget } from "../wire/byte-budget.ts";
import type { ClientConnectionOptions } from "../clients/client-connection.ts";
import { Cordon } from "../settings/cordon.ts";
import { createRouter } from "./create-router.ts";
import type { ConsoleLinks } from "../console/console-handlers.ts";
import { KeptProcesses } from "../sessions/kept-processes.ts";
import { resolveLimits, type ServerLimits } from "../settings/limits.ts";
import { ProcessNetworks } from "../sandbox/process-network.ts";
import type { ServerObserver } from "../settings/observer.ts";
import { Occupancy } from "./occupancy.ts";
import { ProcessQuota } from "../sessions/process-quota.ts";
import { resolveRunAs, type RunAs } from "../access/run-as.ts";
import { UserServers } from "../run-as/user-servers.ts";
import { operatorPolicy, refuseExposed } from "../sandbox/operator-policy.ts";
import { Sandboxes } from "../sandbox/sandboxes.ts";
import type { ServerOptions } from "../settings/server-options.ts";
import type { ServerState } from "../settings/server-state.ts";
import { Session } from "../sessions/session.ts";
import { SessionRegistry } from "../sessions/session-registry.ts";

/** What another program has decided for a server. */
export interface ServerParts {
  /** Records what clients do, instead of a file. */
  readonly audit?: Audit | undefined;
  /** Where relative paths of a policy start. */
  readonly cwd?: string;
  /** The server's own files, besides those that its options name. */
  readonly files?: Partial<ServerFiles>;
  /** Makes links to the web console for clients. */
  readonly console?: ConsoleLinks | undefined;
}

/** All parts of a server but its connections. */
export interface ServerCore {
  readonly limits: ServerLimits;
  readonly logger: Logger;
  /** As whom everything happens, unless the rights of a client say otherwise. */
  readonly runAs: RunAs | undefined;
  /** Of clients that bring none. */
  readonly localCredential: Credential;
  readonly audit: Audit | undefined;
  /** The audit log, and those of the options. */
  readonly observers: readonly ServerObserver[];
  readonly cordon: Cordon;
  readonly occupancy: Occupancy;
  readonly starter: ProcessStarter;
  readonly sandbox: Sandbox;
  readonly sessions: SessionRegistry;
  readonly kept: KeptProcesses;
  readonly users: UserServers;
  /** What every connection is given. */
  readonly shared: Pick<
    ClientConnectionOptions,
    "router" | "sessions" | "logger" | "limits" | "budget" | "concurrency"
  >;
}

/** Puts the parts of a server together. */
export function createServerCore(
  options: ServerOptions,
  listeners: OwnListeners,
  { parts, connections, state }: { parts: ServerParts; connections: () => number; state: () => ServerState },
): ServerCore {
  const limits = resolveLimits(options.limits);
  const logger = options.logger ?? silentLogger;
  const runAs = options.runAs === undefined ? undefined : resolveRunAs(options.runAs);
  const audit =
    parts.audit ?? (options.audit && Audit.open(options.audit, { logger, version: options.version }));
  const files = serverFiles(options, parts.files);
  // Clients name variables, which must not resolve to inherited members such as `constructor`. Besides, each access
  // to `process.env` itself is a C library call.
  const environment: Environment = Object.assign(Object.create(null), options.environment);
  const sandbox = new Sandbox(environment["PATH"]);
  const starter = new ProcessStarter(
    { maxRetainedBytes: limits.maxRetainedBytesPerProcess, maxRetainedChunks: MAX_RETAINED_CHUNKS },
    { logger, sandbox },
  );
  const occupancy = new Occupancy(options.idle);
  const quota = new ProcessQuota(limits);
  const sessions = createSessions(limits, { starter, occupancy, quota });
  const kept = new KeptProcesses({
    starter,
    limits,
    share: (principal) => quota.shareOfKept(principal),
    check: (principal, rights) => quota.checkOwn(principal, rights),
    enter: () => occupancy.enter(),
  });
  const local =
    options.local === undefined
      ? FULL_RIGHTS
      : createRights(options.local, rightsContext(options, parts.files));
  const cordon = new Cordon();
  const users = new UserServers({
    shared: { ...options, limits },
    files,
    audit,
    onFailure: options.audit?.onFailure,
    observers: options.observers ?? [],
    logger,
    controlGroups: starter.createControlGroups(),
    ports: () => listeners.ports,
    enter: () => occupancy.enter(),
    cordon,
  });
  const router = createRouter({
    environment,
    limits,
    sessions,
    kept,
    keepsProcesses: (options.keepProcesses ?? true) && limits.maxKeptProcesses > 0,
    starter,
    sandboxes: createSandboxes(options, { ...files, environment, logger, cwd: parts.cwd }),
    networks: new ProcessNetworks(listeners),
    hasSandbox: sandbox.isInstalled,
    version: options.version,
    connections,
    console: parts.console,
    state,
    audit,
    cordon,
  });
  const budget = new ByteBudget(limits);
  return {
    limits,
    logger,
    runAs,
    localCredential: localCredential(local),
    audit,
    observers: [...(audit === undefined ? [] : [audit]), ...(options.observers ?? [])],
    cordon,
    occupancy,
    starter,
    sandbox,
    sessions,
    kept,
    users,
    shared: { router, sessions, logger, limits, budget, concurrency: options.concurrentRequests ?? 1 },
  };
}

function createSandboxes(
  { sandbox, requireSandbox }: ServerOptions,
  {
    environment,
    logger,
    cwd,
    ...files
  }: ServerFiles & { environment: Environment; logger: Logger; cwd: string | undefined },
): Sandboxes {
  const temporaryDirectory = environment["TMPDIR"];
  const name = "the sandbox of the server";
  const operator =
    sandbox === undefined ? undefined : operatorPolicy(sandbox, { temporaryDirectory, logger, cwd }, name);
  if (operator !== undefined) refuseExposed(operator, files, { name });
  return new Sandboxes({ files, operator, isRequired: requireSandbox, logger });
}

function createSessions(
  limits: ServerLimits,
  { starter, occupancy, quota }: { starter: ProcessStarter; occupancy: Occupancy; quota: ProcessQuota },
): SessionRegistry {
  const retentionMs = limits.exitedProcessRetentionMs;
  const maxUnheard = limits.maxProcessesPerSession;
  return new SessionRegistry({
    create: (id, owner) =>
      new Session(id, { starter, retentionMs, maxUnheard, takeSlot: quota.share(owner) }),
    detachedTtlMs: limits.detachedSessionTtlMs,
    maxSessions: limits.maxSessions,
    enter: () => occupancy.enter(),
  });
}

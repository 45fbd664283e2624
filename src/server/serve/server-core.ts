import { UsageError } from "../../base/errors.ts";
import { type Logger, silentLogger } from "../../base/logger.ts";
import type { OwnListeners } from "../../capabilities/network-proxy/own-listeners.ts";
import type { Environment } from "../../capabilities/process/env-policy.ts";
import type { Spool } from "../../capabilities/process/output/spool/spool.ts";
import { ProcessStarter } from "../../capabilities/process/process-starter.ts";
import { Sandbox } from "../../capabilities/sandbox/sandbox.ts";
import type { ServerFiles } from "../../capabilities/sandbox/view/server-files.ts";
import { MAX_RETAINED_CHUNKS } from "../../protocol/wire-limits.ts";
import type { Handlers } from "../../rpc/router.ts";
import { localCredential } from "../access/credential.ts";
import { createRights, FULL_RIGHTS } from "../access/rights.ts";
import { rightsContext, serverFiles } from "../access/rights-context.ts";
import type { ClientConnection } from "../clients/client-connection.ts";
import { Audit } from "../audit/audit.ts";
import type { DurableDirectory } from "../durable/durable-directory.ts";
import { ByteBudget } from "../wire/byte-budget.ts";
import { Cordon } from "../settings/cordon.ts";
import { createRouter, type RouterParts } from "./create-router.ts";
import type { ConsoleLinks } from "../console/console-handlers.ts";
import { KeptProcesses } from "../sessions/kept-processes.ts";
import { resolveLimits } from "../settings/limits.ts";
import { ProcessNetworks } from "../sandbox/process-network.ts";
import { Occupancy } from "./occupancy.ts";
import { ProcessQuota } from "../sessions/process-quota.ts";
import { resolveRunAs } from "../access/run-as.ts";
import { UserServers } from "../run-as/user-servers.ts";
import { operatorPolicy, refuseExposed } from "../sandbox/operator-policy.ts";
import { Sandboxes } from "../sandbox/sandboxes.ts";
import { auditTail } from "./server-handlers.ts";
import type { ServerOptions } from "../settings/server-options.ts";
import { forbidInspection } from "../../native/privileges.ts";
import { inheritable } from "../secrets/inheritable.ts";
import { Secrets } from "../secrets/secrets.ts";
import { Session } from "../sessions/session.ts";
import { SessionRegistry } from "../sessions/session-registry.ts";

/** Parts that another program has chosen for a server. */
export interface ServerParts {
  /** Records what clients do, instead of a file. */
  readonly audit?: Audit | undefined;
  /** Base of relative paths in a policy. */
  readonly cwd?: string;
  /** The server's own files, besides those that its options name. */
  readonly files?: Partial<ServerFiles>;
  /** Where the keeper is that does everything for clients. */
  readonly durable?: DurableDirectory | undefined;
  /** Keeps output of processes on disk. */
  readonly spool?: Spool | undefined;
  /** Handlers of what only the server in front of this one can answer. */
  readonly front?: Handlers<ClientConnection> | undefined;
  /** Makes links to the web console for clients. */
  readonly console?: ConsoleLinks | undefined;
}

/** All parts of a server but its connections. */
export type ServerCore = ReturnType<typeof createServerCore>;

/** Puts the parts of a server together. */
export function createServerCore(
  options: ServerOptions,
  listeners: OwnListeners,
  {
    parts,
    connections,
    state,
    metrics,
  }: { parts: ServerParts } & Pick<RouterParts, "connections" | "state" | "metrics">,
) {
  const limits = resolveLimits(options.limits);
  const logger = options.logger ?? silentLogger;
  /** The user that runs everything, unless a client's rights say otherwise. */
  const runAs = options.runAs === undefined ? undefined : resolveRunAs(options.runAs);
  const audit =
    parts.audit ?? (options.audit && Audit.open(options.audit, { logger, version: options.version }));
  const files = serverFiles(options, parts.files);
  // Clients name variables, which must not resolve to inherited members such as `constructor`. Also, each access to
  // `process.env` itself is a C library call.
  const whole: Environment = Object.assign(Object.create(null), options.environment);
  const { secrets = [] } = options;
  if (secrets.length > 0 && runAs !== undefined && !runAs.isOwn)
    throw new UsageError("secrets are for processes of the server's own user: leave out runAs");
  // Its memory and environment hold what its own processes must not read.
  if (secrets.length > 0) forbidInspection();
  const environment = inheritable(whole, secrets);
  const sandbox = new Sandbox(environment["PATH"]);
  const starter = new ProcessStarter(
    { maxRetainedBytes: limits.maxRetainedBytesPerProcess, maxRetainedChunks: MAX_RETAINED_CHUNKS },
    { logger, sandbox },
  );
  const occupancy = new Occupancy(options.idle);
  const quota = new ProcessQuota(limits);
  const enter = (): (() => void) => occupancy.enter();
  const sessions = new SessionRegistry({
    create: (id, owner) =>
      new Session(id, {
        starter,
        retentionMs: limits.exitedProcessRetentionMs,
        maxUnheard: limits.maxProcessesPerSession,
        takeSlot: quota.share(owner),
      }),
    detachedTtlMs: limits.detachedSessionTtlMs,
    maxSessions: limits.maxSessions,
    enter,
  });
  const kept = new KeptProcesses({ starter, limits, quota, logger, enter });
  /** The sandbox of clients that bring none. */
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
    front: {
      "server/audit": (_, params) => auditTail(audit, (params as { maxLines?: number | null }).maxLines),
      "console/link": parts.console && ((credential) => parts.console?.createLink(credential)),
    },
    durable: parts.durable && { directory: parts.durable, environment: whole },
    enter,
    cordon,
  });
  const router = createRouter({
    environment,
    limits,
    sessions,
    kept,
    spool: parts.spool,
    keepsProcesses: (options.keepProcesses ?? true) && limits.maxKeptProcesses > 0,
    starter,
    sandboxes: createSandboxes(options, { ...files, environment, logger, cwd: parts.cwd }),
    networks: new ProcessNetworks(listeners, environment),
    secrets: new Secrets(secrets, { environment: whole, logger }),
    hasSandbox: sandbox.isInstalled,
    version: options.version,
    connections,
    console: parts.console,
    front: parts.front,
    state,
    metrics,
    audit,
    cordon,
    program: options.program,
  });
  /** Shared by all connections. */
  const shared = {
    router,
    sessions,
    logger,
    limits,
    budget: new ByteBudget(limits),
    concurrency: options.concurrentRequests ?? 1,
  };
  /** The audit log's observer, and those of the options. */
  const observers = [...(audit === undefined ? [] : [audit]), ...(options.observers ?? [])];
  return {
    limits,
    logger,
    runAs,
    isDurable: parts.durable !== undefined,
    localCredential: localCredential(local),
    audit,
    observers,
    cordon,
    occupancy,
    starter,
    sandbox,
    sessions,
    kept,
    users,
    shared,
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

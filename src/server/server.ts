import { resolve } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import type { ConnectionEnds } from "../base/connection-ends.ts";
import { type Logger, silentLogger } from "../base/logger.ts";
import { isHeldOutside } from "../capabilities/host/connection-owner.ts";
import { ConnectionAdmission } from "../native/descriptor-reserve.ts";
import { assertCanServe } from "../native/platform.ts";
import type { Environment } from "../capabilities/process/env-policy.ts";
import { OwnListeners } from "../capabilities/network-proxy/own-listeners.ts";
import { ProcessStarter } from "../capabilities/process/process-starter.ts";
import { Sandbox } from "../capabilities/sandbox/sandbox.ts";
import { MAX_RETAINED_CHUNKS } from "../protocol/wire-limits.ts";
import type { Link, LinkEvents } from "../rpc/link.ts";
import type { Transport } from "../transport/transport.ts";
import { ByteBudget } from "./connection/byte-budget.ts";
import { ClientConnection, type ClientConnectionOptions } from "./connection/client-connection.ts";
import { KeptProcesses } from "./kept/kept-processes.ts";
import { type Credential, localCredential } from "./access/credential.ts";
import { LoginLog } from "./access/refused-logins.ts";
import { createRights, FULL_RIGHTS, type RightsContext } from "./access/rights.ts";
import { Cordon } from "./cordon.ts";
import { createRouter } from "./create-router.ts";
import { limitError } from "./limit-error.ts";
import { resolveLimits, type ServerLimits } from "./limits.ts";
import { LocalLink } from "./connection/local-link.ts";
import type { Peer, PeerHooks } from "./connection/peer.ts";
import { ProcessNetworks } from "./network/process-network.ts";
import { Occupancy } from "./occupancy.ts";
import { ProcessQuota } from "./processes/process-quota.ts";
import { resolveRunAs, type RunAs } from "./run-as/run-as.ts";
import { UserServers } from "./run-as/user-servers.ts";
import { operatorPolicy } from "./sandbox/operator-policy.ts";
import { Sandboxes } from "./sandbox/sandboxes.ts";
import { Session } from "./sessions/session.ts";
import type { ServerOptions } from "./server-options.ts";
import { numbersOf, type ServerState } from "./server-state.ts";
import { SessionRegistry } from "./sessions/session-registry.ts";
import { ConnectionObservation } from "./connection/observation.ts";
import { RequestObservers } from "./connection/request-observers.ts";
import type { ConsoleLinks } from "./handlers/console.ts";
import { Audit } from "./audit/audit.ts";
import { combineObservers, type ServerObserver } from "./observer.ts";
import { TransportPeer } from "./connection/transport-peer.ts";

/** How often a server that ends looks whether anything still runs. */
const DRAIN_CHECK_MS = 100;
/** Deadline for reporting exits after the kill. */
const SHUTDOWN_DEADLINE_MS = 2_000;

export interface AcceptOptions {
  readonly resumable?: boolean;
  /**
   * Whom the client acts for: it sees the kept processes of this principal and no others, and a session with a silent
   * client is handed over only to the same principal. Default: the user that runs this program.
   */
  readonly principal?: string;
  /** The same, and what the client may do, as `createAuthenticator` finds out. Default: everything. */
  readonly credential?: Credential;
  /** Address of the client, for observers. Default: that of the transport. */
  readonly from?: string;
  readonly ended?: () => void;
}

/** Serves any number of clients, over transports or in its own program. */
export interface Server {
  /** Why no further connection is accepted, or none with this credential; undefined if one is. */
  refusal(credential?: Credential): string | undefined;
  /**
   * Resolves with the reason if a connection comes from inside one of this server's sandboxes, from where it could ask
   * for a process outside. Undefined if there is none that could connect.
   */
  exclude(ends: ConnectionEnds): Promise<string | undefined> | undefined;
  /** `resumable: false` ends the session with its connection. A connection that is not accepted is closed. */
  accept(transport: Transport, options?: AcceptOptions): void;
  /** Serves a client in the same program, without a transport or JSON text. Its session ends with the link. */
  link(events: LinkEvents): Link;
  /** What it does at this moment, for probes and figures. */
  state(): ServerState;
  /**
   * Admits no further connections. Resolves when no process runs, or after `drainTimeoutMs`; what is connected goes on
   * until the server is closed.
   */
  drain(): Promise<void>;
  /** Kills all processes, reports their exits, and closes every connection. */
  close(): Promise<void>;
}

/** Throws a UsageError for an invalid limit, and a CapabilityError on a machine that cannot serve. */
export function createServer(options: ServerOptions = {}): Server {
  return createServerFor(new OwnListeners(), options);
}

/** The same for a server whose listeners are known, so that they can be kept from its processes. */
export function createServerFor(
  listeners: OwnListeners,
  options: ServerOptions,
  parts: ServerParts = {},
): ObservedServer {
  assertCanServe();
  return new ExecServer(options, listeners, parts);
}

/** What another program has decided for a server. */
export interface ServerParts {
  /** Records what clients do, instead of a file. */
  readonly audit?: Audit | undefined;
  /** Where relative paths of a policy start. */
  readonly cwd?: string;
  /** Like `hiddenPaths`, but may be below the roots of a client, who gains nothing from them. */
  readonly maskedPaths?: readonly string[];
  /** Makes links to the web console for clients. */
  readonly console?: ConsoleLinks | undefined;
}

/** A server, and who is told what happens on it. */
export interface ObservedServer extends Server {
  readonly observer: ServerObserver | undefined;
  readonly audit: Audit | undefined;
  readonly cordon: Cordon;
  /** `number` is that of the connection, if another program has given it one. */
  accept(transport: Transport, options?: AcceptOptions & { readonly number?: number }): void;
  /** Rejects if nothing can be done for clients as the user that the options name. */
  prepare(): Promise<void>;
}

class ExecServer implements ObservedServer {
  readonly #limits: ServerLimits;
  readonly #requestObservers: RequestObservers;
  readonly #logger: Logger;
  readonly #refusals: LoginLog;
  readonly #starter: ProcessStarter;
  readonly #sandbox: Sandbox;
  readonly #sessions: SessionRegistry;
  readonly #kept: KeptProcesses;
  readonly #localCredential: Credential;
  /** What every connection is given. */
  readonly #shared: Pick<
    ClientConnectionOptions,
    "router" | "sessions" | "logger" | "limits" | "budget" | "concurrency"
  >;
  readonly #admission = new ConnectionAdmission();
  readonly #clients = new Set<ClientConnection>();
  readonly #occupancy: Occupancy;
  /** As whom everything happens, unless the rights of a client say otherwise. */
  readonly #runAs: RunAs | undefined;
  readonly #users: UserServers;
  readonly observer: ServerObserver | undefined;
  readonly audit: Audit | undefined;
  readonly cordon = new Cordon();
  #connections = 0;
  #isDraining = false;
  #closing: Promise<void> | undefined;

  constructor(options: ServerOptions, listeners: OwnListeners, parts: ServerParts) {
    const limits = resolveLimits(options.limits);
    const logger = options.logger ?? silentLogger;
    this.#runAs = options.runAs === undefined ? undefined : resolveRunAs(options.runAs);
    const audit =
      parts.audit ?? (options.audit && Audit.open(options.audit, { logger, version: options.version }));
    const hiddenPaths = [
      ...(options.hiddenPaths ?? []),
      ...(parts.maskedPaths ?? []),
      ...(audit?.paths ?? []),
    ];
    audit?.onRotated((path) => hiddenPaths.push(path));
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
    this.#localCredential = localCredential(
      options.local === undefined ? FULL_RIGHTS : createRights(options.local, rightsContext(options)),
    );
    this.#occupancy = occupancy;
    this.audit = audit;
    const observers = [...(audit === undefined ? [] : [audit]), ...(options.observers ?? [])];
    this.observer = combineObservers(observers);
    this.#requestObservers = new RequestObservers(observers);
    this.#users = new UserServers({
      shared: { ...options, limits, hiddenPaths },
      audit,
      onFailure: options.audit?.onFailure,
      observers: options.observers ?? [],
      logger,
      ports: () => listeners.ports,
      enter: () => occupancy.enter(),
      cordon: this.cordon,
    });
    this.#limits = limits;
    this.#logger = logger;
    this.#refusals = new LoginLog(logger);
    this.#starter = starter;
    this.#sandbox = sandbox;
    this.#sessions = sessions;
    this.#kept = kept;
    this.#shared = {
      router: createRouter({
        environment,
        limits,
        sessions,
        kept,
        keepsProcesses: (options.keepProcesses ?? true) && limits.maxKeptProcesses > 0,
        starter,
        sandboxes: createSandboxes({ ...options, hiddenPaths }, { environment, logger, cwd: parts.cwd }),
        networks: new ProcessNetworks(listeners),
        hasSandbox: sandbox.isInstalled,
        version: options.version,
        connections: () => this.#clients.size,
        console: parts.console,
        state: () => this.state(),
        audit,
        cordon: this.cordon,
      }),
      sessions,
      logger,
      limits,
      budget: new ByteBudget(limits),
      concurrency: options.concurrentRequests ?? 1,
    };
  }

  refusal(credential: Credential = this.#localCredential): string | undefined {
    const own = credential.rights.limits.maxConnections;
    if (own !== undefined && this.#connectionsOf(credential.principal) >= own)
      return limitError("maxConnections", own, "this token has too many connections").message;
    const { maxConnections } = this.#limits;
    if (this.#isDraining || this.#closing !== undefined) return "the server is closing";
    if (this.#clients.size + this.#users.connections >= maxConnections)
      return limitError("maxConnections", maxConnections, "the server has too many connections").message;
    return this.#admission.admits() ? undefined : "the server has no file descriptors left";
  }

  exclude(ends: ConnectionEnds): Promise<string | undefined> | undefined {
    // What the servers of users run is not known here, only whether there are any.
    if (!this.#sandbox.usesNetwork && !this.#users.isRunning) return undefined;
    return isHeldOutside(ends).then((outside) => {
      if (outside) return undefined;
      this.#refusals.warn("a connection from inside a sandbox was refused", { ...ends });
      return "a process in a sandbox cannot connect to the server that runs it";
    });
  }

  #connectionsOf(principal: string): number {
    let count = this.#users.connectionsOf(principal);
    for (const client of this.#clients) if (client.principal === principal) count += 1;
    return count;
  }

  accept(
    transport: Transport,
    {
      resumable = true,
      principal,
      credential: given,
      from,
      number,
      ended,
    }: AcceptOptions & { readonly number?: number } = {},
  ): void {
    const local = this.#localCredential;
    const credential = given ?? (principal === undefined ? local : { ...local, principal });
    const refused = this.refusal(credential);
    const address = (): string => from ?? transport.from ?? "unknown";
    if (refused === undefined) {
      const options = { resumable, credential, address, number: number ?? this.#nextNumber(), ended };
      const runAs = this.#otherUser(credential);
      if (runAs === undefined) this.#serve((hooks) => new TransportPeer(transport, hooks), options);
      else this.#users.accept(transport, runAs, options);
      return;
    }
    this.observer?.refused?.({ cause: "limit", reason: refused, from: address() });
    this.#logger.warn("a connection was refused", { reason: refused });
    transport.destroy(refused);
    ended?.();
  }

  link(events: LinkEvents): Link {
    const link = new LocalLink(events);
    const refused =
      this.#otherUser(this.#localCredential) === undefined
        ? this.refusal()
        : "nothing can be run as another user for a client in the server's own program";
    if (refused === undefined)
      this.#serve((hooks) => link.serve(hooks), {
        resumable: false,
        credential: this.#localCredential,
        address: () => "local",
        number: this.#nextNumber(),
        ended: undefined,
      });
    else {
      this.observer?.refused?.({ cause: "limit", reason: refused, from: "local" });
      link.destroy(refused);
    }
    return link;
  }

  state(): ServerState {
    const users = this.#users.state();
    return {
      connections: this.#clients.size + this.#users.connections,
      sessions: this.#sessions.size + users.sessions,
      runningProcesses: this.#starter.running + users.runningProcesses,
      bufferedBytes: this.#shared.budget.used + users.bufferedBytes,
      isDraining: this.#isDraining || this.#closing !== undefined,
      isCordoned: this.cordon.isCordoned,
      limits: numbersOf(this.#limits),
    };
  }

  async drain(): Promise<void> {
    this.#isDraining = true;
    const deadline = performance.now() + this.#limits.drainTimeoutMs;
    const users = this.#users.drain(this.#limits.drainTimeoutMs);
    while (this.#starter.running > 0 && performance.now() < deadline && this.#closing === undefined)
      await delay(DRAIN_CHECK_MS);
    await users;
  }

  async prepare(): Promise<void> {
    const runAs = this.#otherUser(this.#localCredential);
    if (this.#runAs !== undefined && !this.#runAs.isOwn) await this.#users.prepare(this.#runAs.account);
    if (runAs !== undefined) await this.#users.prepare(runAs.account);
  }

  /** Undefined if everything for a client happens as the user of this program. */
  #otherUser({ rights }: Credential): RunAs | undefined {
    const runAs = rights.runAs ?? this.#runAs;
    return runAs === undefined || runAs.isOwn ? undefined : runAs;
  }

  #nextNumber(): number {
    this.#connections += 1;
    return this.#connections;
  }

  close(): Promise<void> {
    this.#closing ??= this.#end();
    return this.#closing;
  }

  #serve(
    connect: (hooks: PeerHooks) => Peer,
    options: {
      resumable: boolean;
      credential: Credential;
      address: () => string;
      number: number;
      ended: (() => void) | undefined;
    },
  ): void {
    const leave = this.#occupancy.enter();
    const client = new ClientConnection(connect, {
      ...this.#shared,
      resumable: options.resumable,
      credential: options.credential,
      observed: this.#observe(options),
      ended: () => {
        this.#clients.delete(client);
        leave();
        options.ended?.();
      },
    });
    this.#clients.add(client);
    client.open();
  }

  #observe({
    credential,
    address,
    number,
  }: {
    credential: Credential;
    address: () => string;
    number: number;
  }): ConnectionObservation | undefined {
    if (this.observer === undefined) return undefined;
    return new ConnectionObservation(this.observer, this.#requestObservers, {
      number,
      from: address(),
      principal: credential.principal,
      tokenName: credential.name,
    });
  }

  async #end(): Promise<void> {
    const users = this.#users.close(this.#limits.shutdownGraceMs);
    if (this.#limits.shutdownGraceMs > 0) await this.#starter.terminateAll(this.#limits.shutdownGraceMs);
    await withDeadline(this.#sessions.endAll(this.#kept.end()), SHUTDOWN_DEADLINE_MS);
    this.#starter.killAll();
    await withDeadline(this.#starter.swept(), SHUTDOWN_DEADLINE_MS);
    for (const client of this.#clients) client.close();
    await users;
    await this.audit?.close();
  }
}

/** What the rights of tokens depend on. */
export function rightsContext({
  environment,
  logger = silentLogger,
  hiddenPaths = [],
  audit,
  limits,
}: ServerOptions): RightsContext {
  return {
    temporaryDirectory: environment?.["TMPDIR"],
    logger,
    hiddenPaths: [...hiddenPaths, ...(audit === undefined ? [] : [resolve(audit.file)])],
    fsRoots: limits?.fsRoots ?? [],
  };
}

function createSandboxes(
  { hiddenPaths = [], sandbox, requireSandbox }: ServerOptions,
  { environment, logger, cwd }: { environment: Environment; logger: Logger; cwd: string | undefined },
): Sandboxes {
  const temporaryDirectory = environment["TMPDIR"];
  const operator =
    sandbox === undefined ? undefined : operatorPolicy(sandbox, { temporaryDirectory, logger, cwd });
  return new Sandboxes({ hiddenPaths, operator, isRequired: requireSandbox });
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
